"""What is refused, in one table: every message names the argument, what was passed and what to do."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from checked_input import Checker

pl = pytest.importorskip("polars")

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])
FRAME = pd.DataFrame({"a": X[:, 0], "name": list("pqrstu")})


def with_value(array, value):
    array = np.array(array, dtype=float)
    array[1] = value
    return array


NONE = {"categorical_features": None}
FIT = [
    # (X, y, sample_weight, parameters, error, what the message says)
    (X, None, None, {}, ValueError, "This Checker estimator requires y to be passed, but the target y is None."),
    (X, np.stack([Y, Y], axis=1), None, {}, ValueError, "y has shape (6, 2): several outputs are not supported."),
    (X, [[0, 1], [1, 0]] * 3, None, {}, ValueError, "y has shape (6, 2): several outputs"),
    (X, 3, None, {}, ValueError, "y=3 is not a list of labels."),
    (X, Y + 0.5, None, {}, ValueError, "Unknown label type: continuous. y holds 0.5"),
    (X, with_value(Y, np.nan), None, {}, ValueError, "Input y contains NaN."),
    (X, with_value(Y, np.inf), None, {}, ValueError, "Input y contains infinity."),
    (X, ["a", None, "b", "a", "b", "a"], None, {}, ValueError, "Input y contains NaN or None: row 1 has no label."),
    (X, pd.Series([0, None, 1, 0, 1, 0], dtype="Int64"), None, {}, ValueError, "NaN"),
    (X, [0, "a", 1, "b", 0, 1], None, {}, ValueError, "y holds objects of type int, str. Pass labels of one type"),
    (X, [(0,), {}, 1, 2, 0, 1], None, {}, ValueError, "Unknown label type"),
    (X, Y.astype(bytes), None, {}, TypeError, "y holds bytes. Pass strings or integers"),
    (X, Y + 1j, None, {}, ValueError, "Complex data not supported"),
    (X, Y[:5], None, {}, ValueError, "inconsistent numbers of samples: [6, 5]"),
    (X, pl.LazyFrame({"y": Y}), None, {}, TypeError, "y is a LazyFrame: call .collect() first."),
    (X[:, 0], Y, None, {}, ValueError, "Expected 2D array, got 1D array instead"),
    (pd.Series(X[:, 0]), Y, None, {}, ValueError, "Expected a 2-dimensional container"),
    (X[:, :, None], Y, None, {}, ValueError, "Found array with dim 3"),
    (X[:0], Y[:0], None, {}, ValueError, "0 sample(s)"),
    (X[:, :0], Y, None, {}, ValueError, "0 feature(s) (shape=(6, 0)) while a minimum of 1 is required"),
    (FRAME[[]], Y, None, {}, ValueError, "0 feature(s) (shape=(6, 0)) while a minimum of 1 is required"),
    (
        FRAME.iloc[0],
        Y,
        None,
        {},
        ValueError,
        "X has shape (2,). Pass a table of rows, such as X.iloc[[0]]",
    ),
    (X + 1j, Y, None, {}, ValueError, "Complex data not supported"),
    (with_value(X, np.inf), Y, None, {}, ValueError, "Input X contains infinity or a value too large"),
    (with_value(X, -np.inf).astype(np.float32), Y, None, {}, ValueError, "Input X contains infinity"),
    (with_value(X, np.nan), Y, None, {"allow_nan": False}, ValueError, "Input X contains NaN. Checker"),
    (FRAME, Y, None, {"allow_nan": False, "categorical_features": [5]}, ValueError, "indices go from 0 to 1"),
    (X.astype(str), Y, None, {}, ValueError, "X is an array of text, and column 0 holds numbers as text, such as '"),
    (X.astype("S"), Y, None, {}, ValueError, "X holds text where numbers are expected"),
    ([["a", 1.0]] * 6, Y, None, NONE, ValueError, "X has columns that are not numeric: 0 (text). Name them in"),
    (FRAME, Y, None, NONE, ValueError, "X has columns that are not numeric: 'name' (str). Name them in"),
    (
        FRAME,
        Y,
        None,
        {"allow_categories": False},
        ValueError,
        "'name' (str). Checker accepts only numbers: encode them",
    ),
    (FRAME.astype({"name": "category"}), Y, None, NONE, ValueError, "'name' (category). Name them in categorical_f"),
    (FRAME.astype({"name": object}), Y, None, NONE, ValueError, "X has columns that are not numeric: 'name' (object)"),
    (pl.from_pandas(FRAME), Y, None, NONE, ValueError, "X has columns that are not numeric: 'name' (String)"),
    (pa.Table.from_pandas(FRAME), Y, None, NONE, ValueError, "X has columns that are not numeric: 'name' ("),
    (FRAME, Y, None, {"categorical_features": ["a"]}, ValueError, "X has columns that are not numeric: 'name' (str)"),
    (FRAME.assign(t=pd.Timestamp(0)), Y, None, {"categorical_features": ["name"]}, ValueError, "'t' (datetime"),
    (
        pl.from_pandas(FRAME).lazy(),
        Y,
        None,
        {},
        TypeError,
        "X is a polars LazyFrame, which holds no data yet. Call X",
    ),
    (np.ma.masked_equal(X, 3), Y, None, {}, TypeError, "X is a masked array. Pass X.filled(np.nan)"),
    (np.asmatrix(X), Y, None, {}, TypeError, "np.matrix is not supported"),
    (sparse.csr_array(X), Y, None, {}, TypeError, "needs dense data. Pass X.toarray()."),
    (
        sparse.csr_array(X),
        Y,
        None,
        {"accept_sparse": True, "categorical_features": [0]},
        TypeError,
        "categorical_features cannot be combined with sparse X. Pass X.toarray().",
    ),
    (
        sparse.csr_array(with_value(X, np.inf)),
        Y,
        None,
        {"accept_sparse": True},
        ValueError,
        "Input X contains infinity",
    ),
    (pd.DataFrame({"a": Y, 1: Y}), Y, None, {}, TypeError, "Feature names are only supported if all"),
    (
        np.broadcast_to(np.float32(0), (2**31, 1)),
        Y,
        None,
        {},
        ValueError,
        "X has 2147483648 rows. At most 2**31 - 1 are supported",
    ),
    (X, Y, with_value(Y, np.nan), {}, ValueError, "sample_weight[1]=nan is not allowed."),
    (X, Y, with_value(Y, np.inf), {}, ValueError, "sample_weight[1]=inf is not allowed."),
    (X, Y, with_value(Y, -0.5), {}, ValueError, "sample_weight[1]=-0.5 is negative. Pass weights >= 0"),
    (X, Y, np.zeros(6), {}, ValueError, "sample_weight is zero for every row."),
    (X, Y, np.ones(5), {}, ValueError, "sample_weight has shape (5,). Pass one weight per row, shape (6,)."),
    (X, Y, np.ones((6, 2)), {}, ValueError, "sample_weight has shape (6, 2)."),
    (X, Y, ["a"] * 6, {}, ValueError, "is not numeric. Pass one number per row."),
    (X, Y, np.ones(6) * 1j, {}, ValueError, "is not numeric. Pass one number per row."),
    (X, Y, -1.0, {}, ValueError, "sample_weight[0]=-1.0 is negative."),
    (X, Y, None, {"class_weight": "even"}, ValueError, "class_weight='even' is not known. Pass a dict, 'balanced' or"),
    (X, Y, None, {"class_weight": {0: -1}}, ValueError, "class_weight[0]=-1 is not allowed."),
    (X, Y, None, {"class_weight": {0: "x"}}, ValueError, "class_weight[0]='x' is not allowed."),
    (X, Y, None, {"class_weight": {0: 1, 7: 2}}, ValueError, "class_weight has no entry for the classes [1], but ent"),
    (X, Y, None, {"class_weight": {0: 0, 1: 0}}, ValueError, "leave weight zero for every row"),
    (X, Y, np.full(6, 1e308), {"class_weight": {0: 1e9}}, ValueError, "too large for a float"),
    (X, Y, None, {"categorical_features": "all"}, ValueError, "categorical_features='all' is not known. Pass None, "),
    (X, Y, None, {"categorical_features": ["a"]}, ValueError, "categorical_features holds names, but X has no feature"),
    (FRAME, Y, None, {"categorical_features": ["b"]}, ValueError, "categorical_features holds 'b', which is not a col"),
    (X, Y, None, {"categorical_features": [2]}, ValueError, "categorical_features holds 2, but X has 2 columns: indi"),
    (X, Y, None, {"categorical_features": [-1]}, ValueError, "categorical_features holds -1, but X has 2 columns"),
    (X, Y, None, {"categorical_features": [True]}, ValueError, "is a mask of 1 entries, but X has 2 columns."),
    (X, Y, None, {"categorical_features": [0.5]}, ValueError, "categorical_features=[0.5] is not allowed."),
    (X, Y, None, {"categorical_features": 1}, ValueError, "categorical_features=1 is not a list."),
    (
        FRAME.assign(name=[1, "a", 2, "b", 3, "c"]),
        Y,
        None,
        {"categorical_features": ["name"]},
        ValueError,
        "X mixes text and numbers in the categorical column 'name'.",
    ),
    (
        FRAME.assign(name=pd.Timestamp(0)),
        Y,
        None,
        {"categorical_features": ["name"]},
        ValueError,
        "X has columns that are not numeric: 'name' (datetime64",
    ),
    (
        FRAME.assign(name=pd.Categorical([pd.Timestamp(0)] * 6)),
        Y,
        None,
        {},
        ValueError,
        "in the categorical column 'name'. Categories are text, numbers or booleans",
    ),
    (pd.concat([FRAME, FRAME], axis=1), Y, None, {}, ValueError, "more than one column named 'a'"),
]


@pytest.mark.parametrize(
    ("X", "y", "weight", "parameters", "error", "says"), FIT, ids=[str(row[-1])[:60] for row in FIT]
)
def test_fit_refuses(X, y, weight, parameters, error, says):
    checker = Checker(**parameters)
    with pytest.raises(error) as caught:
        checker.fit(X, y, weight)
    assert says in str(caught.value)
    assert not [name for name in vars(checker) if name.endswith("_")]


COLOURED = pd.DataFrame({"a": X[:, 0], "c": list("xyxyzz")})
PREDICT = [
    # (fitted on, parameters, X, error, what the message says)
    (X, {}, X[:, :1], ValueError, "X has 1 features, but Checker is expecting 2 features as input."),
    (X, {}, X[:, :1].tolist(), ValueError, "X has 1 features, but Checker is expecting 2 features as input."),
    (X, {}, X[0], ValueError, "Expected 2D array, got 1D array instead"),
    (X, {}, X[:0], ValueError, "0 sample(s)"),
    (X, {}, with_value(X, np.inf), ValueError, "Input X contains infinity"),
    (X, {}, with_value(X, np.inf).tolist(), ValueError, "Input X contains infinity"),
    (X, {"allow_nan": False}, with_value(X, np.nan), ValueError, "Input X contains NaN"),
    (X, {"allow_nan": False}, with_value(X, np.nan).tolist(), ValueError, "Input X contains NaN"),
    (X, {}, X.astype(str), ValueError, "X has columns that are not numeric: 0 (text), 1 (text). They held numbers"),
    (X, {}, sparse.csr_array(X), TypeError, "Pass X.toarray()."),
    (X, {}, pl.LazyFrame(X), TypeError, "Call X.collect() first."),
    (X, {}, X + 1j, ValueError, "Complex data not supported"),
    (X, {"categorical_features": [0]}, X[:, :1], ValueError, "X has 1 features, but Checker is expecting 2"),
    (COLOURED, {"categorical_features": ["c"]}, COLOURED[["a"]], ValueError, "seen at fit time, yet now missing:\n- c"),
    (
        COLOURED,
        {"categorical_features": ["c"]},
        COLOURED.assign(c=np.arange(6)),
        ValueError,
        "X holds numbers in the categorical column 'c', which was fitted with text.",
    ),
    (
        COLOURED.assign(c=np.arange(6)),
        {"categorical_features": ["c"]},
        COLOURED,
        ValueError,
        "X holds text in the categorical column 'c', which was fitted with numbers.",
    ),
    (
        COLOURED,
        {"categorical_features": ["c"], "allow_nan": False},
        COLOURED.assign(c="new"),
        ValueError,
        "Input X contains NaN",
    ),
]


@pytest.mark.parametrize(
    ("fitted", "parameters", "X", "error", "says"),
    PREDICT,
    ids=[f"{row[-1][:50]} {i}" for i, row in enumerate(PREDICT)],
)
def test_predict_refuses(fitted, parameters, X, error, says):
    checker = Checker(**parameters).fit(fitted, Y)
    before = dict(vars(checker))
    with pytest.raises(error) as caught:
        checker.rows(X)
    assert says in str(caught.value)
    assert vars(checker) == before


def test_predict_before_fit():
    with pytest.raises(NotFittedError, match="This Checker instance is not fitted yet"):
        Checker().rows(X)
