"""Decision regions and trajectories as pictures."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from boscage import TopDownTreeClassifier
from boscage.base.colors import class_colors
from boscage.plot import plot_regions, plot_trajectory
from strategies import random_tree

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return TopDownTreeClassifier(max_leaf_nodes=4).fit(X, y), X, y.to_numpy()


def test_the_picture_shows_what_is_predicted(iris):
    model, X, y = iris
    at = X.median().to_numpy()
    ax = plot_regions(model, X, y, [2, 3], resolution=40, at=at)
    (image,) = ax.get_images()
    picture, (low, high, bottom, top) = image.get_array(), image.get_extent()
    across, up = (np.arange(40) + 0.5) / 40 * (high - low) + low, (np.arange(40) + 0.5) / 40 * (top - bottom) + bottom
    rows = np.tile(at, (1600, 1))
    rows[:, 2], rows[:, 3] = np.tile(across, 40), np.repeat(up, 40)
    predicted = model.predict(pd.DataFrame(rows, columns=X.columns)).reshape(40, 40)
    # A mixture of white and a class colour is nearest in hue to that colour.
    hues = 1 - np.array(class_colors(3))
    shade = 1 - np.asarray(picture)
    likeness = (shade @ hues.T) / np.linalg.norm(hues, axis=1) / np.linalg.norm(shade, axis=2)[:, :, None]
    np.testing.assert_array_equal(likeness.argmax(axis=2), predicted)


def test_points_have_the_colours_of_their_labels(iris):
    model, X, y = iris
    ax = plot_regions(model, X, y, class_names=["a", "b", "c"])
    (points,) = ax.collections[-1:]
    np.testing.assert_allclose(points.get_facecolors()[:, :3], np.array(class_colors(3))[y])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    few = plot_regions(model, X, y, max_rows=10).collections[-1]
    assert len(few.get_offsets()) == 10


def test_columns_by_importance_number_or_name(iris):
    model, X, _ = iris
    best = X.columns[np.argsort(-model.feature_importances_, kind="stable")[:2]]
    ax = plot_regions(model, X)
    assert [ax.get_xlabel(), ax.get_ylabel()] == list(best)
    ax = plot_regions(model, features=["sepal width (cm)", 0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sepal width (cm)", "sepal length (cm)")


@pytest.mark.parametrize("kind", ["axis", "category", "mixed", "soft linear", "soft logistic"])
@pytest.mark.parametrize("leaf", ["value", "models"])
def test_every_tree_has_regions(kind, leaf):
    ax = plot_regions(random_tree(3, kind, leaf=leaf, named=True), resolution=20)
    ax.figure.canvas.draw()
    assert ax.images or ax.collections


def test_a_trajectory_falls_to_where_the_tree_is(iris):
    model, _, _ = iris
    ax = plot_trajectory(model, label="gini")
    potential, error = ax.get_lines()
    np.testing.assert_array_equal(potential.get_ydata(), model.trajectory_["potential"])
    np.testing.assert_array_equal(error.get_ydata(), model.trajectory_["error"])
    plot_trajectory(model.tree_, ax, error=False)
    assert len(ax.get_lines()) == 3
    scale = ax.get_lines()[2].get_ydata()[0] / model.trajectory_["potential"][0]
    np.testing.assert_allclose(ax.get_lines()[2].get_ydata(), scale * model.trajectory_["potential"], atol=1e-12)


def test_wrong_arguments_are_named(iris):
    model, X, y = iris
    for features in ([0], [0, 0], ["nonsense", 1], [0, 9]):
        with pytest.raises(ValueError, match="features must be two different columns"):
            plot_regions(model, features=features)
    with pytest.raises(ValueError, match="resolution must be an integer >= 2, got 1"):
        plot_regions(model, resolution=1)
    with pytest.raises(ValueError, match="at must hold 4 values"):
        plot_regions(model, at=[1, 2])
    with pytest.raises(ValueError, match="y must have one label for each of the 150 rows"):
        plot_regions(model, X, y[:3])
    with pytest.raises(ValueError, match="Regions need two columns"):
        plot_regions(random_tree(0, d=1))
    with pytest.raises(TypeError, match="model must be a fitted estimator with a tree_, or a Tree, got str"):
        plot_trajectory("tree")
    with pytest.raises(ValueError, match="must have the fields potential and error"):
        plot_trajectory(np.zeros(3))
