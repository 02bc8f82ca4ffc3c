"""The package as a whole: what an import costs, what it promises, and that every example in a docstring is true."""

import ast
import doctest
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import boscage

EXTRAS = ("typer", "rich", "matplotlib", "dask", "pyarrow", "onnx", "pandas", "polars")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(boscage.__path__, "boscage.")
    if not module.name.endswith(("._core", ".__main__"))
)


def loaded_after(statement):
    """Top-level packages in sys.modules of a fresh interpreter after a statement."""
    code = f"{statement}\nimport json, sys; print(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(out.stdout))


def test_import_loads_no_extra():
    assert not loaded_after("import boscage") & set(EXTRAS)


def test_using_an_estimator_loads_no_extra_of_ours():
    # scikit-learn looks for pandas by itself when it is installed, and its callbacks for rich; the rest would be ours.
    statement = (
        "import boscage; tree = boscage.TopDownTreeClassifier().fit([[0.0], [1.0]], [0, 1]); tree.predict([[1.0]])"
    )
    ours = {"typer", "rich", "matplotlib", "dask", "onnx"} - loaded_after("import sklearn.pipeline")
    assert not loaded_after(statement) & ours


def test_help_does_not_wait_for_numbers():
    assert not loaded_after("import boscage.cli") & {"numpy", "scipy", "sklearn", "matplotlib"}


def test_version_is_that_of_the_installed_package():
    assert boscage.__version__ == version("boscage")


def test_public_names_exist_and_are_listed_once():
    assert len(boscage.__all__) == len(set(boscage.__all__))  # their order is the linter's
    assert set(boscage.__all__) == set(boscage._HOME)
    assert set(boscage.__all__) <= set(dir(boscage))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        boscage.nonsense  # noqa: B018


def test_the_listing_holds_public_names_and_modules_only():
    names = {name for name in dir(boscage) if not name.startswith("_")}
    assert names == set(boscage.__all__) | set(boscage._MODULES)
    found = {module.name for module in pkgutil.iter_modules(boscage.__path__) if not module.name.startswith("_")}
    assert found == set(boscage._MODULES) | {"base", "data", "engine", "model", "show"}  # packages of the library's own


def test_modules_are_attributes_without_an_import_of_their_own():
    code = "import boscage; boscage.splits.Axis, boscage.plot.plot_tree, boscage.html.to_html, boscage.theory"
    assert "sklearn" in loaded_after(code)
    assert "sklearn" not in loaded_after("import boscage; dir(boscage)")


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(boscage.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {}
    for statement in block.body:
        for alias in statement.names:
            seen[alias.name] = statement.module.removeprefix("boscage").removeprefix(".")
    assert seen == boscage._HOME


@pytest.mark.parametrize("name", boscage.__all__)
def test_public_names_and_their_methods_are_documented(name):
    thing = getattr(boscage, name)
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing) and thing.__module__.startswith("boscage"):
        for method, member in vars(thing).items():
            if not method.startswith("_") and callable(member):
                assert inspect.getdoc(member), f"{name}.{method}"


@pytest.mark.parametrize("name", [name for name in boscage.__all__ if callable(getattr(boscage, name))])
def test_docstrings_have_an_example(name):
    thing = getattr(boscage, name)
    if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        assert "Examples\n--------\n>>> " in (inspect.getdoc(thing) or "")


@pytest.mark.parametrize("name", [name for name in boscage.__all__ if inspect.isclass(getattr(boscage, name))])
def test_docstrings_describe_every_parameter(name):
    thing = getattr(boscage, name)
    if issubclass(thing, BaseException):
        return
    text = inspect.getdoc(thing) or ""
    for parameter in inspect.signature(thing).parameters:
        assert parameter in text, f"{name}: {parameter}"


ESTIMATORS = [
    *(value for value in (getattr(boscage, name) for name in boscage.__all__) if hasattr(value, "predict")),
    boscage.Tree,
]
METHODS = {
    f"{estimator.__name__}.{name}": member
    for estimator in ESTIMATORS
    for name, member in inspect.getmembers(estimator, inspect.isroutine)
    if name[0] != "_" and getattr(member, "__module__", "").startswith("boscage") and name != "get_metadata_routing"
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_describe_parameters_and_results(name):
    text = inspect.getdoc(METHODS[name]) or ""
    signature = inspect.signature(METHODS[name])
    listed = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    for parameter in list(signature.parameters)[1:]:
        assert re.search(rf"^[*]*(\w+, )*{parameter}\b", listed, re.MULTILINE), parameter
    if signature.return_annotation not in (None, "None"):
        assert "Returns\n-------\n" in text


# Their keywords are the fit parameters of the estimator inside, and the parameters of an estimator.
OPEN_SIGNATURES = {"DuplicateWeights.fit"}
OPEN_METHODS = {"set_params"}


@pytest.mark.parametrize("name", boscage.__all__)
def test_signatures_name_every_parameter(name):
    thing = getattr(boscage, name)
    members = [thing] if not inspect.isclass(thing) else [m for n, m in inspect.getmembers(thing) if n[0] != "_"]
    for member in members:
        ours = getattr(member, "__module__", "").startswith("boscage")
        if callable(member) and ours and not isinstance(member, type):
            kinds = {parameter.kind for parameter in inspect.signature(member).parameters.values()}
            shown = f"{name}.{member.__name__}"
            may_be_open = shown in OPEN_SIGNATURES or member.__name__ in OPEN_METHODS
            assert inspect.Parameter.VAR_KEYWORD not in kinds or may_be_open, shown


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    options = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, _ = doctest.testmod(module, optionflags=options)
    assert failed == 0


README = Path(boscage.__file__).parents[2] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="installed without the repository")
class TestReadme:
    def blocks(self, language):
        text = README.read_text(encoding="utf-8")
        found = re.findall(r"^```(.*)\n((?:(?!```).*\n)*)```$", text, re.MULTILINE)
        return [block for word, block in found if word == language]

    def test_the_example_prints_what_it_says(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        (code,) = self.blocks("python")
        exec(compile(code, str(README), "exec"), {})
        assert capsys.readouterr().out in self.blocks("")

    def test_the_citation_names_this_version(self):
        citation = (README.parent / "CITATION.cff").read_text(encoding="utf-8")
        assert f"\nversion: {boscage.__version__}\n" in citation

    def test_the_commands_print_what_it_says(self, tmp_path, monkeypatch):
        from typer.testing import CliRunner

        from boscage.cli import app

        monkeypatch.chdir(tmp_path)
        (session,) = self.blocks("console")
        for line, told in re.findall(r"^\$ boscage (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
            result = CliRunner().invoke(app, line.split())
            assert result.exit_code == 0
            # Times differ from run to run, so of a comparison only the first line is compared.
            shown, printed = (
                (told.splitlines()[:1], result.stderr.splitlines()) if "compare" in line else (told, result.output)
            )
            assert shown == printed
