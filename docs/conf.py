"""Sphinx settings. The build needs no network: there is no intersphinx."""

import inspect
import re
import sys
from pathlib import Path

import matplotlib
from sklearn.base import ClassifierMixin

import boscage
from boscage.base.component import Component

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
default_role = "py:obj"  # `Gini` in a docstring is a link
smartquotes = False  # "auto" is code as often as not
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "_gallery.Order",
    "show_signature": False,
    "capture_repr": (),  # only what is printed: no text of matplotlib objects
    "download_all_examples": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "min_reported_time": 3600,  # seconds of one run on one machine say nothing
}

toc_object_entries_show_parents = "hide"  # `fit()` and not the whole name: the column is narrow

html_theme = "pydata_sphinx_theme"
html_title = "Boscage"
html_show_sourcelink = False
html_domain_indices = False
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
        if not (in_example or in_formula):
            pieces = re.split(r"(``.*?``|:math:`[^`]*`)", line)
            pieces[::2] = [text.replace("|", r"\|") for text in pieces[::2]]
            lines[i] = "".join(pieces)


# What the engine asks of the parts of a tree: no page of a part shows it.
HOOKS = {
    *("check", "check_in_passes", "check_least", "check_parts", "check_target", "native", "needs", "provides"),
    *("allows_sparse", "forest_max_features", "grow", "grow_in_passes", "limits", "limits_from", "takes_zero_weights"),
    *("native_frame", "native_options", "native_settings", "candidates", "finish", "fit", "grow_tree", "grows"),
    *("growth", "leaf_values", "refine", "refit", "unit"),
}
ACCURACY = """Return the accuracy of the predictions.

Parameters
----------
X : array-like, DataFrame or sparse matrix of shape (n, d)
    Rows.
y : array-like of shape (n,)
    Class labels.
sample_weight : array-like of shape (n,), optional
    Weights.

Returns
-------
float
"""


def _public_class(env):
    """The class whose page is written, if it is the page of a class."""
    module, _, name = env.current_document.docname.removeprefix("api/generated/").rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    return found if inspect.isclass(found) else None


def _without_hooks(app, what, name, obj, skip, options):
    """Leave out what only the engine calls, and methods of tuples."""
    owner = _public_class(app.env)
    if owner is None:
        return None
    is_hook = issubclass(owner, Component) and name in HOOKS
    is_of_tuple = issubclass(owner, tuple) and (name in ("count", "index") or "Alias for field" in (obj.__doc__ or ""))
    return True if is_hook or is_of_tuple else None


def _score_of_classifiers(app, what, name, obj, options, lines):
    """The text of scikit-learn links into its guide."""
    if obj is ClassifierMixin.score:
        lines[:] = ACCURACY.splitlines()


def _signature_of_init(app, what, name, obj, options, signature, returns):
    """Classes that wrap ``__new__`` still show the parameters of ``__init__``; private parameters are not shown."""
    if what == "class" and signature and signature.startswith("(_"):
        return "", returns
    if what == "class" and signature and signature.startswith("(*args, **"):
        found = inspect.signature(obj.__init__)
        bare = [p.replace(annotation=p.empty) for p in list(found.parameters.values())[1:]]
        return str(found.replace(parameters=bare, return_annotation=found.empty)), returns
    return None


def setup(app):
    app.connect("autodoc-process-signature", _signature_of_init)
    app.connect("autodoc-skip-member", _without_hooks)
    app.connect("autodoc-process-docstring", _score_of_classifiers, priority=300)
    app.connect("autodoc-process-docstring", _bars_are_absolute_values, priority=400)  # before numpydoc
