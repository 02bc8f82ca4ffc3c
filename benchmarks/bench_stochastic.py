"""What stochastic trees cost, as ratios measured in one run on one thread, in CPU time.

A split over reading X once; 200 splits over one alone; a level searched together over its splits alone; growth in
memory over growth in batches, also in elapsed time of two threads; the exact search over the published grid; prediction
over one product X @ W.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from _measure import in_turns, report, seconds, wall_seconds
from boscage import StochasticLinear, TopDownTreeClassifier


def problem(n, d, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=dtype)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(np.int64)
    return X, y


def fit(X, y, leaves=None, depth=None, **family):
    model = TopDownTreeClassifier(StochasticLinear(**family), max_leaf_nodes=leaves, max_depth=depth, verbose=False)
    return model.fit(X, y)


def lowest(rounds=5, **calls):
    """Lowest seconds of each call, taken in turn."""
    return {name: min(times) for name, times in in_turns(rounds, **calls).items()}


def one_split(X, y, rounds=21):
    """Seconds of reading X, of a stump, and of one split that has a pass of its own.

    The last is half of what four leaves take more than two, the median of pairs of fits: larger trees divide several
    leaves in one pass. A stump takes many times that, so it is known to a quarter or so.
    """
    reading, stump, more = [], [], []
    for _ in range(rounds):
        reading.append(seconds(lambda: np.add.reduce(X, axis=None), repeats=1))
        stump.append(seconds(lambda: fit(X, y, 2), repeats=1))
        more.append(seconds(lambda: fit(X, y, 4), repeats=1) - stump[-1])
    return min(reading), min(stump), float(np.median(more)) / 2


def split_over_reading(n, d, dtype, splits=20):
    """Return one of some best-first splits and a stump over one reading of X, and the seconds of that."""
    X, y = problem(n, d, dtype)
    took = lowest(
        reading=lambda: np.add.reduce(X, axis=None), few=lambda: fit(X, y, 2), many=lambda: fit(X, y, 2 + splits)
    )
    return (took["many"] - took["few"]) / splits / took["reading"], took["few"] / took["reading"], took["reading"]


def many_splits(n, d, splits=200):
    """Return one of many best-first splits over reading X, and all of them over one split alone."""
    X, y = problem(n, d)
    reading, stump, split = one_split(X, y)
    many = min(seconds(lambda: fit(X, y, 2 + splits), repeats=1) for _ in range(5)) - stump
    return many / splits / reading, many / split


def level_over_leaves(n, d, depth=6):
    """Return the passes of a tree grown level by level over as many splits alone, one for each node divided."""
    X, y = problem(n, d)
    _, stump, split = one_split(X, y)
    together = seconds(lambda: fit(X, y, depth=depth), repeats=5) - stump
    return together / (split * (2 ** (depth - 1) - 1))  # the last level has no children to be summed


def memory_over_batches(threads, n=1_000_000, d=6, rounds=7):
    """Return growth in memory over growth in ten batches, which are in memory too, and the seconds of the former."""
    X, y = problem(n, d)
    tree = TopDownTreeClassifier("stochastic", max_leaf_nodes=64, n_jobs=threads, verbose=False)
    cuts = [slice(start, start + n // 10) for start in range(0, n, n // 10)]
    measure = seconds if threads == 1 else wall_seconds
    memory, batches = [], []
    for _ in range(rounds):
        memory.append(measure(lambda: tree.fit(X, y), repeats=1))
        batches.append(measure(lambda: tree.fit_batches(lambda: ((X[i], y[i]) for i in cuts)), repeats=1))
    return min(memory) / min(batches), min(memory)


def exact_over_grid(leaves=16):
    X, y = problem(10_000, 30)
    exact = seconds(lambda: fit(X, y, leaves), repeats=5)
    grid = seconds(lambda: fit(X, y, leaves, search="fixed_pq", epsilon=0.1), repeats=2)
    indices = [fit(X, y, 2, search=s).trajectory_["potential"][1] for s in ("exact", "fixed_pq")]
    return grid / exact, indices[0] <= indices[1] + 1e-15


def prediction_over_product(n=100_000, d=50, leaves=200):
    X, y = problem(n, d)
    model = fit(X[:20_000], y[:20_000], leaves)
    W = np.ascontiguousarray(model.tree_.weights[:, :d].T)
    with threadpool_limits(1):
        product = seconds(lambda: X @ W, repeats=5)
        return seconds(lambda: model.predict_proba(X), repeats=5) / product, product


def main() -> None:
    rows = []
    for d, dtype, limit in ((20, np.float64, 2.5), (50, np.float64, 1.5), (200, np.float64, 1.5), (20, np.float32, 2.5),
                            (50, np.float32, 1.5), (200, np.float32, 1.5)):  # fmt: skip
        n = 20_000_000 // d
        ratio, whole, reading = split_over_reading(n, d, dtype)
        rows.append({"what": f"one of 20 splits over reading X, {n} x {d} {np.dtype(dtype).name}", "ratio": ratio,
                     "wanted": f"<= {limit}", "note": f"read {1e3 * reading:.0f} ms; stump {whole:.0f}x"})  # fmt: skip
    each, together = many_splits(200_000, 50)
    rows.append({"what": "each of 200 best-first splits over reading X, 200,000 x 50", "ratio": each,
                 "wanted": "<= 1.5"})  # fmt: skip
    rows.append({"what": "200 best-first splits over one split alone, 200,000 x 50", "ratio": together,
                 "wanted": "<= 200"})  # fmt: skip
    rows.append({"what": "depth 6 level by level over its splits alone, 200,000 x 50",
                 "ratio": level_over_leaves(200_000, 50), "wanted": "< 1"})  # fmt: skip
    for threads in (1, 2):
        ratio, memory = memory_over_batches(threads)
        rows.append({"what": f"growth in memory over batches, 1,000,000 x 6, 64 leaves, threads: {threads}",
                     "ratio": ratio, "wanted": "<= 1", "note": f"memory {memory:.2f} s"})  # fmt: skip
    ratio, never_larger = exact_over_grid()
    rows.append({"what": "fixed_pq (epsilon 0.1) over exact, 10,000 x 30, 16 leaves", "ratio": ratio, "wanted": ">= 20",
                 "note": f"Gini index of exact never larger: {never_larger}"})  # fmt: skip
    ratio, product = prediction_over_product()
    rows.append({"what": "predict_proba of 200 leaves over X @ W, 100,000 x 50", "ratio": ratio, "wanted": "<= 3",
                 "note": f"product {1e3 * product:.0f} ms"})  # fmt: skip
    report("stochastic", "Stochastic linear trees, one thread", rows)


if __name__ == "__main__":
    main()
