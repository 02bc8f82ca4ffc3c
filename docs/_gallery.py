"""Order of the gallery: from the first tree to special subjects; new examples come last."""

ORDER = [
    "first_tree",
    "table",
    "boundaries",
    "explain",
    "edit",
    "few_terms",
    "compare",
    "tuning",
    "pruning",
    "importances",
    "missing",
    "weights",
    "imbalance",
    "regression",
    "forest",
    "ensembles",
    "linear_leaves",
    "polish",
    "lookahead",
    "optimal",
    "optimal_sizes",
    "stream",
    "batches",
    "database",
    "own_parts",
    "theory",
]


class Order:
    """Sort key of sphinx-gallery for the files of a folder."""

    def __init__(self, source: str) -> None:
        """Take the folder, which does not matter."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of an example."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)

    def __repr__(self) -> str:
        """Sphinx compares settings by their text."""
        return "<the order of the gallery>"
