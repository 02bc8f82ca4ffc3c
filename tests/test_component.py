import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

from boscage import (
    DuplicateWeights,
    ForestClassifier,
    OnlineTreeClassifier,
    OptimalTreeClassifier,
    TopDownTreeClassifier,
    TopDownTreeRegressor,
    WeightedOblique,
)
from boscage.base import component as _component
from boscage.base.component import (
    ROLES,
    WORDS,
    Component,
    Fact,
    IncompatibleParts,
    check_compatible,
    data_fact,
    names,
    register,
    resolve,
)
from boscage.criteria import Custom, Entropy, Gini, ModifiedGini, Separation
from boscage.growth import BestFirst, DepthFirst, HeaviestFirst
from boscage.leaves import Frequency, Majority

MINE = ("criterion", "growth", "leaf")
EVERY_PART = [(role, name) for role in MINE for name in names(role)]


UNKNOWN = [
    (TopDownTreeClassifier, "alpha", "Did you mean 'ccp_alpha'? It has splits, criterion, "),
    (TopDownTreeRegressor, "max_leaves", "Did you mean 'max_leaf_nodes'? It has splits, "),
    (OptimalTreeClassifier, "ccp_alpha", "Did you mean 'alpha'? It has max_depth, alpha, "),
    (ForestClassifier, "n_estimator", "Did you mean 'n_estimators'? It has n_estimators, "),
    (OnlineTreeClassifier, "n_pass", "Did you mean 'n_passes'? It has n_passes, "),
    (DuplicateWeights, "budgets", "Did you mean 'budget'? It has estimator, method, budget, random_state."),
    (WeightedOblique, "maxterms", "Did you mean 'max_terms'? It has l2, "),
    (Gini, "anything", "It has none."),
]


@pytest.mark.parametrize(("cls", "name", "says"), UNKNOWN, ids=lambda value: getattr(value, "__name__", None))
def test_a_parameter_that_does_not_exist_is_answered_with_those_that_do(cls, name, says):
    with pytest.raises(TypeError, match=rf"{cls.__name__} has no parameter '{name}'\. {re.escape(says)}"):
        cls(**{name: 1})


def test_subclasses_may_take_other_parameters():
    class Open(TopDownTreeClassifier):
        def __init__(self, extra=1, **others):
            super().__init__(**others)
            self.extra = extra

    assert Open(extra=2, max_depth=3).max_depth == 3
    with pytest.raises(TypeError, match="positional argument"):
        Gini(5)


class Cutless(Component):
    """A split family whose thresholds the criterion does not choose."""

    role = "splits"
    provides = frozenset({"hard", "linear tests"})

    def __init__(self, start="axis", tries=3, offsets=None):
        self.start = start
        self.tries = tries
        self.offsets = offsets

    def check(self):
        self._check_choice("start", ("axis", "random", None))
        self._check_integer("tries", 1, 10)


class Cutting(Cutless):
    provides = frozenset({"hard", "linear tests", "cut"})


class PaperSearch(Cutless):
    needs = frozenset({"gini", "two classes", "complete rows"})


class Descent(Cutless):
    needs = frozenset({"slope", "rows"})


class Polish(Component):
    role = "polish"
    needs = frozenset({"linear tests", "rows"})


class Axis(Component):
    role = "splits"
    provides = frozenset({"hard", "cut"})


@pytest.mark.parametrize(("role", "name"), EVERY_PART)
def test_names_become_parts_of_their_role(role, name):
    part = resolve(role, name)
    assert part.role == role
    assert resolve(role, part) is part
    assert part.provides | part.needs <= set(WORDS)


@pytest.mark.parametrize(("role", "name"), EVERY_PART)
def test_parts_are_value_objects(role, name):
    part = resolve(role, name)
    for copy in (clone(part), pickle.loads(pickle.dumps(part)), type(part)(**part.get_params())):
        assert copy == part
        assert hash(copy) == hash(part)
        assert copy is not part
    assert eval(repr(part), {type(part).__name__: type(part)}) == part
    assert part != object()


def test_equality_looks_at_class_and_parameters():
    assert ModifiedGini(C=2.0) == ModifiedGini(2)
    assert ModifiedGini(C=2.0) != ModifiedGini(C=3.0)
    assert Gini() != Entropy()
    assert len({Gini(), Gini(), Entropy(), Frequency(), Frequency(0.0), Frequency(1.0)}) == 4
    assert ModifiedGini().set_params(C=5.0) == ModifiedGini(C=5.0)
    assert repr(ModifiedGini(C=2.0)) == "ModifiedGini(C=2.0)"
    assert Cutless(offsets=np.arange(3)) == Cutless(offsets=np.arange(3))
    assert Cutless(offsets=np.arange(3)) != Cutless(offsets=np.arange(4))
    assert hash(Cutless(offsets=[1, {"a": np.ones(2)}])) == hash(Cutless(offsets=[1, {"a": np.ones(2)}]))


@pytest.mark.parametrize(
    ("role", "value", "message"),
    [
        # Parts that are added stand among these names, or after them.
        ("criterion", "foo", "criterion='foo' is not known. Pass one of 'gini', "),
        ("criterion", "foo", "'entropy', 'sqrt', 'modified_gini', 'separation', or an object from boscage.criteria."),
        ("splits", "obliqe", ", or an object from boscage.splits. Did you mean 'oblique'?"),
        ("criterion", "Entropy", ", or an object from boscage.criteria. Did you mean 'entropy'?"),
        ("growth", 3, "growth=3 is not known. Pass one of 'best_first', 'heaviest_first', 'depth_first', "),
        ("growth", 3, ", or an object from boscage.growth."),
        ("leaf", None, "leaf=None is not known. Pass one of 'majority', 'frequency', 'linear', "),
        ("leaf", None, ", or an object from boscage.leaves."),
        ("leaf", Gini(), "leaf=Gini() is not known."),
        ("criterion", Gini, "criterion=Gini is a class. Pass an object: Gini()."),
        ("growth", len, "growth=<built-in function len> is not known."),
        ("criterion", ModifiedGini(C=0.5), "ModifiedGini.C=0.5 is not allowed. Pass a finite number >= 1."),
        ("criterion", ModifiedGini(C="3"), "ModifiedGini.C='3' is not allowed."),
        ("criterion", ModifiedGini(C=True), "ModifiedGini.C=True is not allowed."),
        ("criterion", ModifiedGini(C=np.nan), "ModifiedGini.C=nan is not allowed."),
        ("criterion", ModifiedGini(C=np.inf), "ModifiedGini.C=inf is not allowed."),
        ("leaf", Frequency(shrinkage=-1), "Frequency.shrinkage=-1 is not allowed. Pass a finite number >= 0."),
        ("splits", Cutless(start="best"), "Cutless.start='best' is not allowed. Pass one of 'axis', 'random', None."),
        ("splits", Cutless(tries=0), "Cutless.tries=0 is not allowed. Pass an integer >= 1 and <= 10."),
        ("splits", Cutless(tries=2.0), "Cutless.tries=2.0 is not allowed."),
        ("splits", Cutless(tries=True), "Cutless.tries=True is not allowed."),
    ],
)
def test_what_is_not_a_part_is_refused_by_name_value_and_remedy(role, value, message):
    with pytest.raises(ValueError) as caught:
        resolve(role, value)
    assert message in str(caught.value)


def test_a_function_is_a_criterion():
    def steep(q):
        return 1 - np.abs(1 - 2 * q) ** 1.5

    assert resolve("criterion", steep) == Custom(steep)


def test_a_part_is_added_by_one_line():
    @register("leaf", "dummy")
    class Dummy(Majority):
        pass

    try:
        assert resolve("leaf", "dummy") == Dummy()
        assert names("leaf")[-1] == "dummy"
    finally:
        del ROLES["leaf"].parts["dummy"]


TOGETHER = [
    {"growth": DepthFirst(), "max_leaf_nodes": None},
    {"growth": BestFirst(), "max_leaf_nodes": 8},
    {"growth": HeaviestFirst(), "max_leaf_nodes": 8},
    {"criterion": Separation(), "splits": Axis()},
    {"criterion": Separation(), "splits": Cutting()},
    {"criterion": Gini(), "splits": Cutless(), "polish": Polish()},
    {"criterion": Gini(), "splits": PaperSearch(), "data": data_fact(2)},
    {"criterion": Entropy(), "splits": Descent()},
    {"criterion": Entropy(), "splits": Descent(), "executor": Fact("memory", frozenset({"rows"}))},
    {"criterion": Gini(), "splits": Axis(), "leaf": Majority(), "max_depth": 3, "polish": None},
]
APART = [
    ({"growth": DepthFirst(), "max_leaf_nodes": 8}, "max_leaf_nodes=8", "growth=DepthFirst()", "best_first"),
    ({"criterion": Separation(), "splits": Cutless()}, "criterion=Separation()", "splits=Cutless()", "recut=True"),
    ({"splits": Axis(), "polish": Polish()}, "polish=Polish()", "splits=Axis()", "linear"),
    ({"criterion": Entropy(), "splits": PaperSearch()}, "splits=PaperSearch()", "criterion=Entropy()", "gini"),
    (
        {"criterion": Gini(), "splits": PaperSearch(), "data": data_fact(3)},
        "splits=PaperSearch()",
        "data of 3 classes",
        "two classes",
    ),
    (
        {"criterion": Gini(), "splits": PaperSearch(), "data": data_fact(1, has_missing=True)},
        "splits=PaperSearch()",
        "data of 1 class with missing values",
        "Impute",
    ),
    ({"criterion": Separation(), "splits": Descent()}, "criterion=Separation()", "splits=Descent()", "cut"),
    ({"splits": Descent(), "executor": Fact("batches")}, "splits=Descent()", "batches", "memory"),
]


@pytest.mark.parametrize("parts", TOGETHER)
def test_parts_that_go_together(parts):
    check_compatible(**parts)


@pytest.mark.parametrize(("parts", "first", "second", "remedy"), APART)
def test_parts_that_do_not_go_together_are_named_with_a_remedy(parts, first, second, remedy):
    with pytest.raises(IncompatibleParts) as caught:
        check_compatible(**parts)
    assert str(caught.value).startswith(f"{first} cannot be combined with {second}: it needs ")
    assert remedy in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_every_word_has_someone_to_provide_it():
    roles = {*ROLES, "polish", "data", "executor", "learner"}
    assert {word.role for word in WORDS.values()} <= roles
    assert set().union(*_component.LIMIT_NEEDS.values()) <= set(WORDS)
