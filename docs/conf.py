"""Sphinx settings. Builds offline: no intersphinx, no remote fonts or scripts."""

import boscage

project = "Boscage"
author = "The Boscage developers"
copyright = "The Boscage developers"
version = release = boscage.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
autosummary_generate = True
autodoc_typehints = "none"
# scikit-learn writes these methods itself; their text links into its own guide.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, set_predict_request, set_score_request"
}
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "Boscage"
html_show_sourcelink = False
html_theme_options = {"navbar_end": ["theme-switcher"], "secondary_sidebar_items": ["page-toc"]}
