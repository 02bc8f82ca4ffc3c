"""Accuracy of ensembles and single trees against peers, set by set: every cell is run once and kept.

    python benchmarks/accuracy.py classification --methods RandomForest-500 ForestClassifier
    python benchmarks/accuracy.py regression --report

Data are found in the folder BOSCAGE_DATA (regression sets in its folder `regression`). A cell is one method on one
split of one set; finished cells are kept in results/accuracy/TASK/SET.json and are not run again, so a run can be
stopped at any time. `--again METHOD` forgets the cells of a method, of the chosen sets.

Splits: the published cut with three seeds, the published ten folds (three of them from 5,000 rows on), else five
stratified or shuffled folds; of regression sets with 100 columns and more three of the ten. Classification sets of
more than 20,000 training rows are left out; of larger regression sets every method gets the same 10,000 rows to learn
from. Of twin sets one is taken. The task `published` has those larger sets whose cut is in print with figures of other
forests, the task `single` those regression sets for which errors of single trees are in print: ten random splits, four
fifths to learn from. Nominal columns are one-hot coded for scikit-learn, categories for the others. No method is
tuned, but for the one that says so.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from boscage.datasets import Dataset, read_npz

RESULTS = Path(__file__).parent / "results" / "accuracy"
MOST_TRAINING_ROWS = {"classification": 20_000, "regression": 50_000}
PUBLISHED = ["ijcnn1", "mnist"]
LARGE, TAKEN = 20_000, 10_000  # training rows of regression sets: of more than the first number the second is taken
SINGLE = ["abalone", "cpu-act", "ailerons"]
OF_NUMBERS = ("regression", "single")
MANY_COLUMNS = 100
SMOOTHING = 0.001  # added to every class before the log-loss is taken
TWINS = {
    "classification": {
        "monk1-train", "monk2-train", "monk3-train", "compas-binned", "fico-binary", "segment-contree", "sector-scale",
    },
    # `bike` holds its target among its columns; the others exist twice, and the raw file is kept.
    "regression": {"bike", "osrt-airfoil", "quant-concrete", "osrt-enb-heat", "osrt-yacht"},
}  # fmt: skip
# Files do not always say which columns are nominal: every column of these is.
NOMINAL = {"monk1", "monk2", "monk3", "promoters"}


@dataclass(frozen=True)
class Split:
    """Training and test rows of one set, and the seed of whatever is fitted on them."""

    name: str
    train: np.ndarray
    test: np.ndarray
    seed: int


def folder(task: str) -> Path:
    data = Path(os.environ["BOSCAGE_DATA"])
    return data / "regression" if task in OF_NUMBERS else data


def read(task: str, name: str) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """X, y and what else the file says: n_train, fold and the nominal columns."""
    path = folder(task) / f"{name}.npz"
    arrays = np.load(path, allow_pickle=False)
    if task not in OF_NUMBERS:
        data: Dataset = read_npz(path)
        nominal = range(data.X.shape[1]) if name in NOMINAL else data.categorical_features
        return data.X, data.y, {"n_train": data.n_train, "nominal": list(nominal)}
    X = arrays["X"].astype(np.float64)
    names = [str(text) for text in arrays["feature_names"]] if "feature_names" in arrays else []
    levels = json.loads(str(arrays["categories"])) if "categories" in arrays else {}
    facts = {
        "columns": X.shape[1],
        "n_train": int(arrays["n_train"]) if "n_train" in arrays else None,
        "fold": arrays.get("fold"),
        "nominal": [names.index(column) for column in levels],
    }
    return X, arrays["y"].astype(np.float64), facts


def splits(task: str, y: np.ndarray, facts: dict[str, Any]) -> Iterator[Split]:
    n, n_train = len(y), facts.get("n_train")
    rows = np.arange(n)
    if task == "single":
        for seed, (train, test) in enumerate(ShuffleSplit(10, test_size=0.2, random_state=0).split(rows)):
            yield Split(f"draw {seed}", train, test, seed)
        return
    if n_train is not None:
        for seed in range(3):
            yield Split(f"cut, seed {seed}", rows[:n_train], rows[n_train:], seed)
        return
    fold = facts.get("fold")
    if fold is not None:
        for f in range(10 if n < 5000 and facts["columns"] < MANY_COLUMNS else 3):
            yield Split(f"fold {f}", taken(rows[fold != f], f), rows[fold == f], f)
        return
    kind = KFold if task == "regression" else StratifiedKFold
    count = 5 if n < 5000 else 3
    for f, (train, test) in enumerate(kind(5, shuffle=True, random_state=0).split(np.zeros(n), y)):
        if f < count:
            yield Split(f"fold {f}", taken(train, f) if task == "regression" else train, test, f)


def taken(train: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows to learn from: of very many some, the same for every method."""
    if len(train) <= LARGE:
        return train
    return np.sort(np.random.default_rng(seed).choice(train, TAKEN, replace=False))


def names_of(task: str) -> list[str]:
    """Return the sets that are small enough, in order of size."""
    if task in ("published", "single"):
        return PUBLISHED if task == "published" else SINGLE
    found = []
    for path in folder(task).glob("*.npz"):
        if path.stem in TWINS[task]:
            continue
        with np.load(path, allow_pickle=False) as arrays:
            n = len(arrays["y"])
            n_train = (
                int(arrays["n_train"]) if "n_train" in arrays else (9 * n // 10 if "fold" in arrays else 4 * n // 5)
            )
            if n_train <= MOST_TRAINING_ROWS[task]:
                found.append((arrays["X"].size if "X" in arrays else arrays["data"].size, path.stem))
    return [name for _, name in sorted(found)]


def one_hot(nominal: list[int], model: Any) -> Any:
    if not nominal:
        return model
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(ColumnTransformer([("nominal", coder, nominal)], remainder="passthrough"), model)


class Yggdrasil:
    """YDF's sparse-oblique random forest at the settings of its benchmark template."""

    def __init__(self, task: str, nominal: list[int], seed: int) -> None:
        self.task, self.nominal, self.seed = task, nominal, seed

    def _table(self, X: Any, y: np.ndarray | None = None) -> dict[str, Any]:
        X = X.toarray() if hasattr(X, "toarray") else X
        table = {f"x{j}": X[:, j].astype(str) if j in self.nominal else X[:, j] for j in range(X.shape[1])}
        return table if y is None else {**table, "y": y}

    def fit(self, X: Any, y: np.ndarray) -> Yggdrasil:
        """Train on one thread."""
        import ydf

        ydf.verbose(0)
        self.classes_ = np.unique(y)
        label = y.astype(np.int64) if self.task != "regression" else y
        template = ydf.RandomForestLearner.hyperparameter_templates()["benchmark_rank1v2"]
        learner = ydf.RandomForestLearner(
            label="y",
            task=ydf.Task.REGRESSION if self.task == "regression" else ydf.Task.CLASSIFICATION,
            random_seed=self.seed,
            num_threads=1,
            **template,
        )
        self.model = learner.train(self._table(X, label))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return what YDF predicts: numbers, or probabilities in its own order of classes."""
        return np.asarray(self.model.predict(self._table(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities in the order of ``classes_``."""
        p = self.predict(X)
        p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
        order = [int(name) for name in self.model.label_classes()]
        full = np.zeros((len(p), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, order)] = p
        return full

    def __len__(self) -> int:
        import tempfile

        with tempfile.TemporaryDirectory() as where:
            self.model.save(f"{where}/model")
            return sum(path.stat().st_size for path in Path(where).rglob("*") if path.is_file())


def scikit(name: str, **settings: Any) -> Callable[..., Any]:
    def make(task: str, nominal: list[int], seed: int) -> Any:
        from sklearn import ensemble

        kind = getattr(ensemble, name + ("Regressor" if task in OF_NUMBERS else "Classifier"))
        return one_hot(nominal, kind(random_state=seed, **settings))

    return make


class PrunedTree(BaseEstimator):
    """scikit-learn's tree, pruned by five-fold cross-validation."""

    def __init__(self, task: str, seed: int) -> None:
        self.task, self.seed = task, seed

    def fit(self, X: Any, y: np.ndarray) -> PrunedTree:
        """Grow, and prune by the best of 25 strengths."""
        from sklearn import tree
        from sklearn.model_selection import GridSearchCV

        is_classes = self.task not in OF_NUMBERS
        kind = tree.DecisionTreeClassifier if is_classes else tree.DecisionTreeRegressor
        path = kind(random_state=self.seed).cost_complexity_pruning_path(X, y).ccp_alphas
        grid = np.unique(np.clip(np.quantile(path, np.linspace(0, 1, 25)), 0, None))
        scoring = None if is_classes else "neg_mean_squared_error"
        folds = (StratifiedKFold if is_classes else KFold)(5, shuffle=True, random_state=self.seed)
        search = GridSearchCV(kind(random_state=self.seed), {"ccp_alpha": grid}, cv=folds, scoring=scoring)
        self.tree = search.fit(X, y).best_estimator_
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "tree" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        if name == "tree" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tree, name)


def pruned_tree(task: str, nominal: list[int], seed: int) -> Any:
    return one_hot(nominal, PrunedTree(task, seed))


def ours(name: str, **settings: Any) -> Callable[..., Any]:
    def make(task: str, nominal: list[int], seed: int) -> Any:
        import boscage

        kind = getattr(boscage, name + ("Regressor" if task in OF_NUMBERS else "Classifier"))
        return kind(random_state=seed, categorical_features=nominal or None, **settings)

    return make


def hard_linear(task: str, nominal: list[int], seed: int) -> Any:
    """Return one tree of at most 64 linear leaves whose tests stay hard."""
    from boscage.leaves import RidgeLeaf

    if task not in OF_NUMBERS:
        raise ValueError("ridge leaves predict numbers")
    return ours("TopDownTree", leaf=RidgeLeaf(blend=0), max_leaf_nodes=64)(task, nominal, seed)


def tuned_linear(task: str, nominal: list[int], seed: int) -> Any:
    """Return one tree of linear leaves, its blend and number of leaves chosen by cross-validation on training rows."""
    from sklearn.model_selection import GridSearchCV

    from boscage.leaves import RidgeLeaf

    blends = [RidgeLeaf(blend=0), *(RidgeLeaf(blend=blend, refine=True) for blend in (0.1, 0.2, 0.4, 0.8, 1.6))]
    grid = {"leaf": blends, "max_leaf_nodes": [8, 64]}
    folds = KFold(5, shuffle=True, random_state=seed)
    tree = ours("TopDownTree")(task, nominal, seed)
    return GridSearchCV(tree, grid, cv=folds, scoring="neg_mean_squared_error")


def linear_forest(leaves: int) -> Callable[..., Any]:
    """Return a forest of axis-parallel trees that have few leaves and a logistic model in each."""

    def make(task: str, nominal: list[int], seed: int) -> Any:
        from boscage.leaves import Linear

        if task in OF_NUMBERS:
            raise ValueError("logistic leaves predict classes")
        rows = {"bootstrap": False, "max_samples": 0.8}
        forest = ours("Forest", splits="axis", leaf=Linear(l2=0.1), max_leaf_nodes=leaves, **rows)
        return forest(task, nominal, seed)

    return make


METHODS: dict[str, Callable[..., Any]] = {
    "RandomForest-500": scikit("RandomForest", n_estimators=500),
    "ExtraTrees-500": scikit("ExtraTrees", n_estimators=500),
    "YDF-oblique": Yggdrasil,
    "pruned CART": pruned_tree,
    "Forest": ours("Forest"),
    "Forest, 64 linear leaves": linear_forest(64),
    "Forest, 256 linear leaves": linear_forest(256),
    "tree, linear leaves": ours("TopDownTree", splits="axis", leaf="linear", max_leaf_nodes=64),
    "tree, hard linear leaves": hard_linear,
    "tree, tuned linear leaves": tuned_linear,
}


def size_of(model: Any) -> int:
    """Bytes of the model on disk, in the library's own format where it has one."""
    if isinstance(model, Yggdrasil):
        return len(model)
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "save"):
        import tempfile

        with tempfile.TemporaryDirectory() as where:
            return Path(model.save(Path(where) / "model.boscage") or Path(where) / "model.boscage").stat().st_size
    buffer = io.BytesIO()
    pickle.dump(model, buffer, protocol=5)
    return buffer.tell()


def leaves_of(model: Any) -> int | None:
    model = model[-1] if hasattr(model, "steps") else getattr(model, "best_estimator_", model)
    trees = getattr(model, "estimators_", None)
    try:
        if trees is None:
            return int(model.get_n_leaves())
        return int(sum(tree.get_n_leaves() for tree in np.ravel(trees)))
    except AttributeError:
        return None


def cell(task: str, method: str, X: Any, y: np.ndarray, nominal: list[int], split: Split) -> dict[str, Any]:
    """Fit on the training part, score on the test part."""
    model = METHODS[method](task, nominal, split.seed)
    start = time.process_time()
    model.fit(X[split.train], y[split.train])
    fitted = time.process_time()
    truth = y[split.test]
    if task not in OF_NUMBERS:
        p = np.asarray(model.predict_proba(X[split.test]))
        took = time.process_time() - fitted
        classes = np.asarray(model.classes_)
        smooth = (p + SMOOTHING) / (1 + SMOOTHING * p.shape[1])
        place = np.clip(np.searchsorted(classes, truth), 0, len(classes) - 1)
        hit = np.where(classes[place] == truth, smooth[np.arange(len(truth)), place], SMOOTHING)
        scores = {
            "accuracy": float((classes[p.argmax(axis=1)] == truth).mean()),
            "log_loss": float(-np.log(hit).mean()),
        }
    else:
        error = np.asarray(model.predict(X[split.test])) - truth
        took = time.process_time() - fitted
        scores = {"rmse": float(np.sqrt((error**2).mean())), "mae": float(np.abs(error).mean())}
    return {**scores, "fit": fitted - start, "predict": took, "bytes": size_of(model), "leaves": leaves_of(model)}


def run(task: str, methods: list[str], sets: list[str]) -> None:
    target = RESULTS / task
    target.mkdir(parents=True, exist_ok=True)
    for name in sets:
        path = target / f"{name}.json"
        X, y, facts = read(task, name)
        for split in splits(task, y, facts):
            for method in methods:
                done = json.loads(path.read_text()) if path.exists() else {}
                if split.name in done.get(method, {}):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        result = cell(task, method, X, y, facts["nominal"], split)
                    except (
                        ValueError,
                        TypeError,
                    ) as error:  # a method that cannot take the set is listed with its reason
                        result = {"error": f"{type(error).__name__}: {error}"[:200]}
                done = json.loads(path.read_text()) if path.exists() else {}  # another process may have written
                done.setdefault(method, {})[split.name] = result
                part = path.with_suffix(f".{os.getpid()}.part")
                part.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n")
                part.replace(path)
                print(
                    task,
                    name,
                    split.name,
                    method,
                    {k: v if isinstance(v, str) else round(v, 4) for k, v in result.items() if v},
                    flush=True,
                )


def forget(task: str, method: str, sets: Sequence[str]) -> None:
    for path in (RESULTS / task / f"{name}.json" for name in sets):
        done = json.loads(path.read_text()) if path.exists() else {}
        if method not in done:
            continue
        del done[method]
        path.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["classification", "published", "regression", "single"])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--again", nargs="*", default=[], choices=list(METHODS))
    parser.add_argument("--report", action="store_true", help="print the tables of finished cells and stop")
    parser.add_argument("--page", action="store_true", help="write the page of finished cells and stop")
    wanted = parser.parse_args()
    sets = wanted.sets or names_of(wanted.task)
    for method in wanted.again:
        forget(wanted.task, method, sets)
    if wanted.page:
        from accuracy_report import PAGE, page

        PAGE.write_text(page(RESULTS), encoding="utf-8")
    elif wanted.report:
        from accuracy_report import report

        print(report(RESULTS / wanted.task, wanted.task))
    else:
        run(wanted.task, wanted.methods, sets)


if __name__ == "__main__":
    main()
