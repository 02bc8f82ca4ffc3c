"""Every recipe of CONTRIBUTING.md, followed in a copy of this repository with toy parts, built once."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ("cpp", "src", "tests", "packaging", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]


class Recipes:
    """Edits of a copy."""

    def __init__(self, root):
        self.root = root

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def insert(self, path, anchor, text):
        """Put text before the only occurrence of an anchor."""
        old = (self.root / path).read_text()
        assert old.count(anchor) == 1, (path, anchor, old.count(anchor))
        self.write(path, old.replace(anchor, text + anchor))

    def publish(self, name, home):
        """Add a public name to the three lists."""
        path = "src/boscage/__init__.py"
        self.insert(path, '\n__version__ = "', f"    from boscage.{home} import {name}\n")
        self.insert(path, "}\n\n__all__", f'    "{name}": "{home}",\n')
        self.insert(path, "]\n\n\n_MODULES", f'    "{name}",\n')

    def criterion(self):
        header = "cpp/criteria/class_criteria.hpp"
        self.insert(
            header,
            "// -sum pi log2 pi\nstruct Entropy {",
            "// Gini by another name.\nstruct ToyIndex : Gini {\n"
            '  static constexpr std::string_view name = "toy_index";\n};\n\n',
        )
        self.insert("cpp/criteria/criteria.hpp", "SquaredError, Deviance, Quantile>;", "ToyIndex, ")
        self.insert(
            "cpp/criteria/criteria.hpp",
            "  if (name == Entropy::name)",
            "  if (name == ToyIndex::name) return ToyIndex{};\n",
        )
        self.insert(
            "cpp/criteria/slopes.hpp",
            "inline void slope(const Entropy&",
            "inline void slope(const ToyIndex&, const double* w, int k, double* out) { slope(Gini{}, w, k, out); }\n\n",
        )
        self.insert(
            "src/boscage/criteria/__init__.py",
            '@register("criterion", "entropy")',
            '@register("criterion", "toy_index")\nclass ToyIndex(Gini):\n    """Gini by another name."""\n\n'
            "    def native(self) -> tuple[str, float, Floats]:\n"
            '        """Return what crosses into the compiled core."""\n'
            '        return "toy_index", 0.0, _NO_TABLE\n\n\n',
        )
        self.insert("cpp/tests/test_criteria.cpp", "          Entropy{},\n", "          ToyIndex{},\n")
        self.insert("tests/test_criteria.py", "Entropy(), Sqrt(), ModifiedGini(C=1.0)", "criteria.ToyIndex(), ")
        self.insert("tests/reference.py", '"entropy": entropy', '"toy_index": gini, ')
        self.publish("ToyIndex", "criteria")

    def register_family(self, module, name):
        self.insert("src/boscage/splits/__init__.py", "\n__all__", f"from boscage.splits.{module} import {name}\n")
        self.insert("src/boscage/splits/__init__.py", '    "WeightedOblique",\n', f'    "{name}",\n')
        self.publish(name, "splits")

    def python_family(self):
        self.write(
            "src/boscage/splits/toy_means.py",
            '"""The direction between two classes."""\n\n'
            "import numpy as np\n\n"
            "from boscage.base.component import register\n"
            "from boscage.splits._family import LinearTest, ProposingFamily\n\n\n"
            '@register("splits", "toy_means")\n'
            "class ToyMeans(ProposingFamily):\n"
            '    """The direction from the mean of the first class to that of the last."""\n\n'
            "    def propose(self, node):\n"
            '        """Yield one direction."""\n'
            "        means = [node.X[node.y == k].mean(axis=0) for k in np.unique(node.y)]\n"
            "        yield [LinearTest(means[-1] - means[0])]\n",
        )
        self.register_family("toy_means", "ToyMeans")

    def compiled_family(self):
        self.write(
            "cpp/families/toy/diagonal.hpp",
            "// The sum of all scaled columns, cut where it gains most.\n#pragma once\n\n"
            '#include "families/oblique/family.hpp"\n\nnamespace boscage {\n\n'
            "class ToyDiagonal : public ObliqueFamily {\n public:\n"
            "  void search(const ObliqueData& data, NodeOffers& offers, Pool*, const Control&) const override {\n"
            "    offers.offer(std::vector<double>(static_cast<size_t>(data.columns()), 1.0), kFindThreshold);\n"
            "  }\n};\n\n}  // namespace boscage\n",
        )
        binding = "cpp/bind/grow/oblique.cpp"
        self.insert(binding, '#include "numeric/lbfgs.hpp"', '#include "families/toy/diagonal.hpp"\n')
        self.insert(
            binding,
            "PlaneStart make_start(",
            "nb::dict grow_toy(const Table& X, const Problem& problem) {\n"
            "  return grow(X, problem, ToyDiagonal(), nullptr);\n}\n\n",
        )
        self.insert(
            binding,
            '  module.def("grow_wodt"',
            '  module.def("grow_toy", &grow_toy, nb::arg("X"), nb::arg("problem"));\n',
        )
        self.insert("pyproject.toml", '  ["families/mixed"],\n', '  ["families/toy"],\n')
        self.write(
            "src/boscage/splits/toy_diagonal.py",
            '"""The sum of all columns."""\n\n'
            "from boscage import _core\n"
            "from boscage.base.component import register\n"
            "from boscage.splits._oblique import ObliqueFamily\n\n\n"
            '@register("splits", "toy_diagonal")\n'
            "class ToyDiagonal(ObliqueFamily):\n"
            '    """The sum of all scaled columns."""\n\n'
            "    is_random = False\n"
            "    lookahead = False\n\n"
            "    def _grow_native(self, X, problem, seed):\n"
            "        return _core.grow_toy(X, problem)\n",
        )
        self.register_family("toy_diagonal", "ToyDiagonal")

    def growth_order(self):
        self.insert("cpp/grow/growth.hpp", "depth_first };", "lightest_first, ")
        self.insert(
            "cpp/grow/growth.cpp",
            '  if (name == "depth_first")',
            '  if (name == "lightest_first") return Order::lightest_first;\n',
        )
        self.insert(
            "cpp/grow/growth.cpp",
            "    case Order::depth_first:",
            "    case Order::lightest_first:\n      return -leaf.weight;\n",
        )
        path = "src/boscage/growth.py"
        old = (self.root / path).read_text()
        self.write(
            path,
            old + '\n\n@register("growth", "lightest_first")\nclass LightestFirst(Growth):\n'
            '    """Split the leaf of least weight first."""\n\n'
            '    name = "lightest_first"\n    provides = frozenset({"leaf budget"})\n',
        )
        self.publish("LightestFirst", "growth")

    def leaf(self):
        self.write(
            "src/boscage/leaves/_toy.py",
            '"""Smoothed fractions."""\n\n'
            "from boscage.base.component import register\n"
            "from boscage.leaves._leaf import Leaf\n\n\n"
            '@register("leaf", "toy_smoothed")\n'
            "class ToySmoothed(Leaf):\n"
            '    """Class fractions with one row more of each class."""\n\n'
            "    def leaf_values(self, tree):\n"
            '        """Return an array (leaves, K)."""\n'
            "        leaf = tree.children_left < 0\n"
            "        weight, value = tree.weighted_n_node_samples[leaf, None], tree.value[leaf]\n"
            "        return (weight * value + 1) / (weight + value.shape[1])\n",
        )
        self.insert("src/boscage/leaves/__init__.py", "\n__all__", "from boscage.leaves._toy import ToySmoothed\n")
        self.insert("src/boscage/leaves/__init__.py", '    "refit_part",\n', '    "ToySmoothed",\n')
        self.publish("ToySmoothed", "leaves")

    def executor(self):
        self.write("tests/test_toy_parts.py", TOY_TESTS)


TOY_TESTS = '''"""The toy parts do what they say."""

from functools import reduce

import numpy as np
import pytest

from boscage import LightestFirst, TopDownTreeClassifier, ToyDiagonal, ToyIndex, ToyMeans, ToySmoothed
from boscage.batches.kernels import merge_kernel, sum_kernel
from boscage.batches.reading import Reading
from boscage.batches.reduction import join, total
from boscage.batches.rows import RawBatch, in_blocks
from boscage.batches.survey import Survey, preparation

X = np.random.default_rng(0).normal(size=(9000, 4))
Y = (X.sum(axis=1) > 0).astype(int)


class ListExecutor:
    """Chunks of rows in a list."""

    max_message_mb = 64.0
    is_weighted = False

    def __init__(self, chunks):
        batches = [RawBatch(X, y, None) for X, y in chunks]
        survey = reduce(Survey.merge, (Survey.of(batch, "toy", allow_nan=False) for batch in batches))
        prepare, self.survey, self.n_rows, self.weight, self.weight_exponent = preparation(survey, "toy", None, None)
        self.rows = [prepare(batch) for batch in batches]
        self.reading = Reading(1, len(X), X.nbytes)

    def sums(self, question):
        kernel = sum_kernel(question)
        return total(join(kernel.sums(rows, block, 1) for block, rows in in_blocks(self.rows)))

    def collect(self, question):
        kernel = merge_kernel(question)
        return reduce(kernel.merge, (kernel.answer(rows, 1) for rows in self.rows))


def tree(**parts):
    return TopDownTreeClassifier(random_state=0, **parts)


def test_criterion():
    np.testing.assert_array_equal(
        tree(criterion="toy_index", max_leaf_nodes=9).fit(X, Y).predict(X),
        tree(criterion="gini", max_leaf_nodes=9).fit(X, Y).predict(X),
    )
    assert ToyIndex().total([1.0, 1.0]) == 1.0


@pytest.mark.parametrize("splits", ["toy_means", "toy_diagonal", ToyMeans(), ToyDiagonal()])
def test_families(splits):
    assert tree(splits=splits, max_leaf_nodes=4).fit(X, Y).score(X, Y) > 0.97


def test_growth_order():
    grown = tree(growth=LightestFirst(), max_leaf_nodes=12).fit(X, Y)
    weight, split = grown.tree_.weighted_n_node_samples, grown.trajectory_["node"]
    assert grown.get_n_leaves() == 12
    assert weight[split[2]] < weight[split[1]]


def test_leaf():
    assert tree(leaf=ToySmoothed()).fit(X, Y).score(X, Y) > 0.9
    values = tree(leaf="toy_smoothed", max_leaf_nodes=3).fit(X, Y).predict_proba(X)
    assert 0 < values.min() < values.max() < 1


@pytest.mark.parametrize("splits", ["stochastic", "axis"])
def test_executor(splits):
    from boscage.splits import Axis

    splits = Axis(max_bins=16) if splits == "axis" else splits
    chunks = [(X[:2000], Y[:2000]), (X[2000:2001], Y[2000:2001]), (X[2001:], Y[2001:])]
    wanted = tree(splits=splits, max_leaf_nodes=6).fit_batches(lambda: iter(chunks))
    found = tree(splits=splits, max_leaf_nodes=6)
    found._fit_passes(found._parts("fit_batches"), ListExecutor(chunks))
    assert found.tree_ == wanted.tree_
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The copy with all recipes applied, and an interpreter that sees it."""
    root = tmp_path_factory.mktemp("recipes")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so", "corpus")
            shutil.copytree(source, root / name, ignore=ignored)
        else:
            shutil.copy(source, root / name)
    recipes = Recipes(root)
    for recipe in ("criterion", "python_family", "compiled_family", "growth_order", "leaf", "executor"):
        getattr(recipes, recipe)()
    build = root / "build"
    run = [shutil.which("cmake", path=str(Path(sys.executable).parent)) or "cmake"]
    options = [f"-DPython_EXECUTABLE={sys.executable}", "-G", "Ninja"]
    subprocess.run([*run, "-S", root, "-B", build, *options], check=True)
    subprocess.run([*run, "--build", build], check=True)
    subprocess.run([sys.executable, root / "packaging" / "overlay.py", build], check=True)
    return root, build / "env" / "bin" / "python"


def run_tests(copy, *arguments):
    root, python = copy
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_toy_parts_work(copy):
    run_tests(copy, "tests/test_toy_parts.py")


def test_the_walk_over_all_parts_takes_them(copy):
    run_tests(copy, "tests/test_common.py::test_every_combination_fits_or_says_why", "tests/test_component.py")


def test_the_laws_of_criteria_hold(copy):
    run_tests(copy, "tests/test_criteria.py", "-k", "ToyIndex")


def test_the_copy_keeps_to_the_layers_and_its_stub_is_made(copy):
    root, python = copy
    subprocess.run([python, "packaging/check_layers.py"], cwd=root, check=True)
    subprocess.run([python, "packaging/core_stub.py"], cwd=root, check=True)
    assert "def grow_toy(X: Table, problem: ObliqueProblem)" in (root / "src/boscage/_core.pyi").read_text()
