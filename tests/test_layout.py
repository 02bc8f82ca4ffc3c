"""The shape of the source: layers, and the types of the compiled module."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"


@pytest.fixture
def layers(monkeypatch):
    monkeypatch.syspath_prepend(PACKAGING)
    import check_layers

    yield check_layers
    del sys.modules["check_layers"]


def plant(root, files):
    for path, text in {"__init__.py": "_HOME = {}\n", **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


TABLE = {"python": [["_core"], ["low"], ["high"]], "cpp": [["low"], ["high"]]}


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({"low.py": "", "high.py": "from boscage import low\n"}, ""),
        ({"low.py": "from boscage.high import x\n", "high.py": ""}, "low must not import high"),
        ({"low.py": "def f():\n    import boscage.high\n", "high.py": ""}, "low must not import high"),
        ({"low.py": "if TYPE_CHECKING:\n    import boscage.high\n", "high.py": ""}, ""),
        (
            {"low/__init__.py": "", "low/a.py": "import boscage.low.b\n", "low/b.py": "import boscage.low.a\n"},
            "circle of imports: low.a -> low.b -> low.a",
        ),
        ({"low.py": "def f(): ...\nimport os\n"}, "import below other code"),
    ],
)
def test_imports_go_down(layers, tmp_path, monkeypatch, files, wrong):
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    plant(tmp_path, files)
    found = layers.check_python(tmp_path, TABLE, set())
    assert len(found) == bool(wrong)
    assert not wrong or wrong in found[0]


def test_deferred_imports_may_go_up(layers, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    plant(tmp_path, {"low.py": "def f():\n    import boscage.high\n", "high.py": ""})
    assert not layers.check_python(tmp_path, TABLE, {"low"})


def test_includes_go_down(layers, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    plant(tmp_path, {"low/a.hpp": '#include "high/b.hpp"\n', "high/b.hpp": '#include "c.hpp"\n'})
    assert [text.split(": ")[1] for text in layers.check_cpp(tmp_path, TABLE)] == [
        "include from the folder cpp",
        "low must not include high",
    ]


def test_a_crowded_folder_is_named(layers, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    plant(tmp_path, {f"low/a{i}.hpp": "" for i in range(16)} | {"low/a1.cpp": ""})
    assert layers.check_folders(tmp_path) == ["low: 16 modules; at most 15"]


def test_the_source_keeps_to_its_layers(layers):
    layers.main()


def test_the_stub_is_that_of_the_module(monkeypatch):
    pytest.importorskip("nanobind")
    monkeypatch.syspath_prepend(PACKAGING)
    import core_stub

    message = "run python packaging/core_stub.py after a change of cpp/bind"
    assert core_stub.core_stub() == core_stub.STUB.read_text(), message


def test_no_call_across_the_boundary_is_wide():
    def calls(node, prefix=""):
        for child in node.body:
            if isinstance(child, ast.ClassDef):
                yield from calls(child, f"{child.name}.")
            elif isinstance(child, ast.FunctionDef):
                yield prefix + child.name, sum(argument.arg != "self" for argument in child.args.args)

    stub = ast.parse((ROOT / "src" / "boscage" / "_core.pyi").read_text())
    assert not [name for name, count in calls(stub) if count > 6]
