"""The page of a forest in a real browser."""

from sklearn.datasets import load_diabetes, load_wine

from boscage import ForestClassifier, ForestRegressor
from browser import Tab, browser  # noqa: F401


def test_one_tree_at_a_time(browser, tmp_path):  # noqa: F811
    X, y = load_wine(return_X_y=True, as_frame=True)
    forest = ForestClassifier(30, random_state=0, max_depth=3).fit(X, y)
    with Tab(browser, forest.to_html(tmp_path / "forest.html", X, y, max_trees=3)) as page:
        visible = "[...document.querySelectorAll('.bosc-forest-tree')].map((tree) => !tree.hidden)"
        assert page.evaluate(visible) == [True, False, False]
        page.locator(".bosc-forest-choice select").select_option("2")
        assert page.evaluate(visible) == [False, False, True]
        assert page.get_by_role("heading", name="Tree 2").is_visible()
        assert page.locator(".bosc-forest-views rect").count() == 13
        assert page.locator(".bosc-forest polyline").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_trees_of_numbers(browser, tmp_path):  # noqa: F811
    X, y = load_diabetes(return_X_y=True)
    forest = ForestRegressor(4, random_state=0, max_depth=3).fit(X, y)
    with Tab(browser, forest.to_html(tmp_path / "forest.html")) as page:
        assert page.get_by_role("heading", name="Tree 0").is_visible()
        assert not page.get_by_role("heading", name="Tree 1").is_visible()
