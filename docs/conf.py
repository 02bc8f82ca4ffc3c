"""Sphinx settings. The build needs no network: there is no intersphinx."""

import inspect
import sys
from pathlib import Path

import matplotlib

import boscage

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).parent))  # for _results

project = "Boscage"
author = "The Boscage developers"
copyright = "The Boscage developers"
version = release = boscage.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "_math",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "_results",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
autosummary_generate = True
autodoc_typehints = "none"
html_math_renderer = "mathml"
# scikit-learn's own methods, whose texts link into its guide.
autodoc_default_options = {
    "exclude-members": "get_metadata_routing, set_fit_request, set_partial_fit_request, set_predict_request, "
    "set_score_request"
}
numpydoc_show_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "_gallery.Order",
    "show_signature": False,
    "capture_repr": (),  # only what is printed: no text of matplotlib objects
    "download_all_examples": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
}

toc_object_entries_show_parents = "hide"  # `fit()` and not the whole name: the column is narrow

html_theme = "pydata_sphinx_theme"
html_title = "Boscage"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["boscage.css"]
html_sidebars = {"index": [], "performance": []}  # sections without further pages
html_theme_options = {"navbar_end": ["theme-switcher"], "secondary_sidebar_items": ["page-toc"]}


def _bars_are_absolute_values(app, what, name, obj, options, lines):
    """In our docstrings ``|x|`` is mathematics, never a substitution of reStructuredText."""
    in_example = in_formula = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        in_formula = line.lstrip().startswith(".. math::") or (in_formula and bool(line.strip()))
        if not (in_example or in_formula or "``" in line):
            lines[i] = line.replace("|", r"\|")


def _signature_of_init(app, what, name, obj, options, signature, returns):
    """Classes that wrap ``__new__`` still show the parameters of ``__init__``."""
    if what == "class" and signature and signature.startswith("(*args, **"):
        found = inspect.signature(obj.__init__)
        bare = [p.replace(annotation=p.empty) for p in list(found.parameters.values())[1:]]
        return str(found.replace(parameters=bare, return_annotation=found.empty)), returns
    return None


def setup(app):
    app.connect("autodoc-process-signature", _signature_of_init)
    app.connect("autodoc-process-docstring", _bars_are_absolute_values, priority=400)  # before numpydoc
