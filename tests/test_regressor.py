"""TopDownTreeRegressor: checks of scikit-learn, invariances, and everything downstream of a tree of numbers."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import boscage
from boscage import ForestRegressor, IncompatibleParts, RidgeLeaf, TopDownTreeClassifier, TopDownTreeRegressor
from boscage.engine.estimator import TreeRegressor
from boscage.export import dict_schema, export_text, to_sklearn
from boscage.files import inspect
from json_schema import faults
from number_trees import grown


@parametrize_with_checks(
    [
        TopDownTreeRegressor(),
        TopDownTreeRegressor(leaf="median", growth="depth_first"),
        TopDownTreeRegressor(criterion="poisson"),
        TopDownTreeRegressor(leaf="linear"),
        TopDownTreeRegressor(leaf=RidgeLeaf(refine=False)),
        TopDownTreeRegressor(boscage.Axis(max_bins=16), boscage.Quantile(0.8)),
        TopDownTreeRegressor("stochastic"),
        TopDownTreeRegressor("stochastic", leaf=boscage.Constant(joint=True)),
        TopDownTreeRegressor("oblique", polish="soft", leaf="linear", max_leaf_nodes=4),
        TopDownTreeRegressor("hhcart", boscage.Gamma(), max_leaf_nodes=4),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def fitted(data, **settings):
    return TopDownTreeRegressor(**{"max_leaf_nodes": 6} | settings).fit(*data)


MODELS = {
    "constant": {},
    "shrunken": {"leaf": boscage.Mean(shrinkage=5.0)},
    "linear": {"leaf": RidgeLeaf(blend=0)},
    "auto": {"leaf": "linear"},
    "refined": {"leaf": RidgeLeaf(blend=0.2, refine=True)},
    "soft": {"leaf": RidgeLeaf(blend=0.1)},
}


@pytest.fixture(scope="module")
def bent(data):
    """The same rows with a target that no single linear model fits."""
    X, y = data
    return X, y + 8 * (X["bmi"] - 26) * np.where(X["s5"] > 4.6, 1, -1)


@pytest.fixture(scope="module", params=list(MODELS))
def model(request, bent):
    found = fitted(bent, **MODELS[request.param])
    assert found.get_n_leaves() > 1
    return found


def test_a_tree_is_that_of_scikit_learn(data):
    X, y = data
    X = X.to_numpy(np.float32)
    ours = TopDownTreeRegressor(max_leaf_nodes=8).fit(X, y)
    theirs = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    assert ours.get_depth() == theirs.get_depth()
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)


def test_a_regressor_in_the_eyes_of_scikit_learn(data):
    model = TopDownTreeRegressor(max_depth=3)
    assert is_regressor(model)
    assert cross_val_score(model, *data, cv=3).mean() > 0.2
    assert clone(model).get_params() == model.get_params()
    BaggingRegressor(model, n_estimators=2).fit(*data)
    assert not hasattr(fitted(data), "classes_")


def test_a_regressor_without_parts_has_tags():
    tags = TreeRegressor().__sklearn_tags__()
    assert tags.target_tags.multi_output
    assert not tags.target_tags.positive_only
    assert not tags.regressor_tags.poor_score


def test_several_outputs_are_vector_leaves(data):
    X, y = data
    Y = np.column_stack([y, -2 * y, np.sqrt(y)])
    tree = TopDownTreeRegressor(max_leaf_nodes=5).fit(X, Y)
    theirs = DecisionTreeRegressor(max_leaf_nodes=5, random_state=0).fit(X.to_numpy(), Y)
    assert tree.n_outputs_ == 3
    np.testing.assert_allclose(tree.predict(X), theirs.predict(X.to_numpy()))
    assert "value: [" in tree.export_text()
    assert tree.explain(X.iloc[0]).table(2)
    assert tree.score(X, Y) > 0.3
    with pytest.raises(ValueError, match="one output"):
        TopDownTreeRegressor(criterion="poisson").fit(X, np.abs(Y))


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_weights_are_repetitions(settings, rng):
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    weight = rng.integers(0, 4, 80)
    again = np.repeat(np.arange(80), weight)
    tree = TopDownTreeRegressor(**settings, max_leaf_nodes=6)
    weighted, repeated = clone(tree).fit(X, y, sample_weight=weight), clone(tree).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_the_fit_does_not_depend_on_threads(settings, rng, tmp_path):
    X = rng.normal(size=(9000, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.1 * rng.normal(size=9000)
    files = [
        TopDownTreeRegressor(**settings, max_leaf_nodes=12, n_jobs=n).fit(X, y).save(tmp_path / f"{n}").read_bytes()
        for n in (1, 3)
    ]
    assert files[0] == files[1]


@given(
    shift=st.sampled_from([0.0, 1e3, -7.5]),
    scale=st.sampled_from([1.0, 2.0**-40, 1024.0]),
    kind=st.sampled_from(list(MODELS)),
)
def test_predictions_follow_shift_and_scale_of_y(shift, scale, kind):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    y = np.round(8 * rng.normal(size=60)) / 8
    tree = TopDownTreeRegressor(**MODELS[kind], max_leaf_nodes=4)
    plain, moved = clone(tree).fit(X, y).predict(X), clone(tree).fit(X, scale * y + scale * shift).predict(X)
    np.testing.assert_allclose(moved / scale, plain + shift, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("leaf", ["constant", "mean", "median", "linear", RidgeLeaf(refine=False)])
@pytest.mark.parametrize("y", [[3.0], [2.0, 2.0, 2.0], [1e300, -1e300, 1e300], [1e-300, 2e-300, 0.0]])
def test_constant_single_huge_and_tiny_targets(leaf, y):
    X = np.arange(float(len(y)))[:, None]
    tree = TopDownTreeRegressor(leaf=leaf).fit(X, y)
    tree.tree_.check()
    found = tree.predict(X)
    assert np.isfinite(found).all()
    if leaf in ("constant", "mean", "median") or len(set(y)) == 1:
        np.testing.assert_allclose(found, y)


def test_parts_for_classes_are_refused_by_name():
    with pytest.raises(IncompatibleParts, match=r"criterion=Gini\(\) is for classification.*'squared_error'"):
        TopDownTreeRegressor(criterion="gini").fit([[0.0]], [1.0])
    with pytest.raises(IncompatibleParts, match=r"leaf=Majority.*'constant', 'mean', 'median', 'linear'\."):
        TopDownTreeRegressor(leaf="majority").fit([[0.0]], [1.0])
    with pytest.raises(IncompatibleParts, match=r"leaf=Median\(\) is for regression"):
        TopDownTreeClassifier(leaf="median").fit([[0.0]], [1])


def test_the_trajectory_ends_at_the_training_error(data):
    X, y = data
    tree = fitted(data)
    steps = tree.trajectory_
    assert steps["potential"][0] == 1.0
    np.testing.assert_allclose(steps["error"][-1], np.mean((tree.predict(X) - y) ** 2))
    np.testing.assert_allclose(1 - steps["potential"][-1], tree.score(X, y))


def test_pruning_follows_the_path_of_scikit_learn(data):
    X, y = data
    X = X.to_numpy(np.float32)
    path = TopDownTreeRegressor().cost_complexity_pruning_path(X, y)
    theirs = DecisionTreeRegressor(random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas[-5:], theirs.ccp_alphas[-5:])
    alpha = float(path.ccp_alphas[-3])
    ours = TopDownTreeRegressor(ccp_alpha=alpha * 1.0001).fit(X, y)
    pruned = DecisionTreeRegressor(ccp_alpha=alpha * 1.0001, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == pruned.get_n_leaves()


# --- after the fit --------------------------------------------------------------------------------------------------


def test_files_come_back_whole(model, data, tmp_path):
    X, _ = data
    path = model.save(tmp_path / "m.boscage")
    again = boscage.load(path)
    assert type(again) is TopDownTreeRegressor
    assert again.get_params() == model.get_params()
    assert again.tree_ == model.tree_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.save(tmp_path / "n.boscage").read_bytes() == path.read_bytes()
    assert inspect(path)["outputs"] == 1
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    with pytest.raises(AttributeError, match="trajectory_"):
        again.trajectory_  # noqa: B018


def test_a_file_of_one_kind_is_not_read_as_the_other(data, tmp_path):
    path = fitted(data).save(tmp_path / "m.boscage")
    raw = path.read_bytes()
    bad = raw.replace(b"TopDownTreeRegressor\\", b"TopDownTreeClassifie\\")
    assert bad != raw
    path.write_bytes(bad)
    with pytest.raises(boscage.ModelFileError):
        boscage.load(path)


def test_dictionaries_obey_their_schema(model):
    found = model.to_dict()
    json.dumps(found, allow_nan=False)
    assert list(faults(found, dict_schema(), dict_schema())) == []
    assert found["outputs"] == ["0"]
    assert "classes" not in found
    assert "class" not in found["nodes"][-1]


def test_text_graph_picture_page_and_notebook(model, data, tmp_path):
    X, y = data
    text = model.export_text()
    assert text.count("value: ") == model.get_n_leaves()
    assert "class" not in text
    assert "class" not in model.export_graphviz()
    assert model.plot() is not None
    assert "value: " in model._repr_html_()
    page = model.to_html(X=X, y=y)
    assert '"numbers":true' in page
    assert model.to_html(tmp_path / "p.html").exists()


def test_text_shows_numbers_and_models(data):
    assert fitted(data, max_leaf_nodes=2).export_text(show_weights=True) == (
        "|--- s5 <= 4.60015\n|   |--- weight: 218.00 value: 109.99\n"
        "|--- s5 >  4.60015\n|   |--- weight: 224.00 value: 193.15"
    )
    line = export_text(fitted(data, leaf="linear", max_leaf_nodes=1).tree_, max_terms=2)
    assert line.startswith("|--- value: ")
    assert "(8 more)" in line


def test_explanations_sum_to_the_prediction(model, data):
    X, _ = data
    for row in (0, 50, 400):
        found = model.explain(X.iloc[row])
        np.testing.assert_allclose(found.base + found.contributions.sum(axis=0), model.predict(X.iloc[[row]]))
        assert "prediction" in str(found)
        assert "probability of" not in str(found)
        assert found._repr_html_()


def test_edits_count_numbers_again(data):
    X, y = data
    model = fitted(data)
    leaf = int(model.tree_.leaves[-1])
    assert model.edit(X, y).set_leaf(leaf, 7.0).tree.leaf_value[-1] == 7.0
    edited = model.edit(X, y).set_threshold(0, 4.8)
    expected = [y[X["s5"] <= 4.8].mean(), y[X["s5"] > 4.8].mean()]
    np.testing.assert_allclose(edited.tree.value[1:3, 0], expected)
    np.testing.assert_allclose(edited.tree.impurity[1], np.var(y[X["s5"] <= 4.8]))
    assert str(edited.report).startswith("RMSE ")
    np.testing.assert_allclose(edited.report.accuracy_before, np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    pruned = model.edit(X, y).prune(0).estimator
    np.testing.assert_allclose(pruned.predict(X), y.mean())
    with pytest.raises(ValueError, match="value must be a number"):
        model.edit().set_leaf(leaf, "high")
    with pytest.raises(ValueError, match="outputs"):
        model.edit(X, np.column_stack([y, y]))


def test_leaves_refitted_to_the_same_rows_change_no_row(data):
    X, y = data[0], np.exp(data[1] / 100)
    tree = fitted((X, y), max_leaf_nodes=20)
    assert len(tree.edit(X, y).refit_leaves().report.changed) == 0
    assert len(tree.edit(X, y).set_leaf(int(tree.tree_.leaves[0]), 1.0).report.changed) > 0


@pytest.mark.parametrize("model", [TopDownTreeRegressor(max_depth=2), ForestRegressor(2, max_depth=2)], ids=repr)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan], "row 1 has no number"),
        ([1.0, np.inf], "contains infinity"),
        (["a", "b"], "For classes use TopDownTreeClassifier"),
        ([[1.0, 2.0]] * 2, "y must have 1 outputs, got 2"),
        ([1.0], "y must have one label for each of the 2 rows of X, got 1"),
    ],
)
def test_a_page_says_what_is_wrong_with_y(model, y, message, data):
    X, numbers = data
    clone(model).fit(X, numbers).to_html(X=X[:2], y=[3, 4])
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, numbers).to_html(X=X[:2], y=y)


def test_edits_of_linear_leaves_refit_them(bent):
    X, y = bent
    model = fitted(bent, leaf=RidgeLeaf(blend=0), max_leaf_nodes=4)
    inner = int(np.flatnonzero(~model.tree_.is_leaf)[-1])
    pruned = model.edit(X, y).prune(inner)
    pruned.tree.check()
    assert pruned.refit_leaves().report.accuracy_after <= pruned.report.accuracy_after + 1e-9
    same = model.edit(X, y).refit_leaves().estimator
    np.testing.assert_allclose(same.predict(X), model.predict(X), rtol=1e-6)


def test_scikit_learn_twin(data):
    X, _ = data
    model = fitted(data)
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X))
    two = grown(X.to_numpy(np.float32), np.column_stack([data[1], -data[1]]), max_leaf_nodes=4)
    np.testing.assert_allclose(
        to_sklearn(two).predict(X.to_numpy(np.float32))[:, 1], -to_sklearn(two).predict(X.to_numpy(np.float32))[:, 0]
    )
    with pytest.raises(ValueError, match="DecisionTreeRegressor cannot hold"):
        fitted(data, leaf="linear").to_sklearn()


def test_categories_and_missing_values(rng):
    frame = pd.DataFrame({"kind": pd.Categorical(rng.choice(list("abcd"), 300)), "x": rng.normal(size=300)})
    frame.loc[::7, "x"] = np.nan
    y = frame["kind"].map({"a": 0.0, "b": 5.0, "c": 0.5, "d": 5.5}).astype(float) + frame["x"].fillna(2.0)
    for leaf in ("constant", "linear", RidgeLeaf(blend=0), RidgeLeaf(blend=0.1)):
        tree = TopDownTreeRegressor(leaf=leaf, max_leaf_nodes=16).fit(frame, y)
        tree.tree_.check()
        assert tree.score(frame, y) > 0.9
        unknown = pd.DataFrame({"kind": pd.Categorical(["z"]), "x": [np.nan]})
        assert np.isfinite(tree.predict(unknown)).all()
