"""Table 1 of the WODT paper: the size of its data sets as printed and as at hand, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping

from boscage.datasets import load_dataset
from boscage.datasets._fetch import catalogue
from boscage.experiments._runner import markdown_table

# Rows and columns as printed.
PRINTED = {"iris": (150, 4), "wine": (178, 13), "glass": (214, 9), "heart": (270, 13), "breast": (683, 10),
           "diabetes": (768, 8), "vehicle": (846, 18), "fourclass": (862, 2), "segment": (2310, 19), "dna": (3186, 180),
           "satimage": (6435, 36), "usps": (9298, 256), "pendigits": (10992, 16), "letter": (20000, 16),
           "protein": (24387, 357), "shuttle": (58000, 9), "connect4": (67557, 126), "mnist": (70000, 780),
           "ijcnn1": (141691, 22), "cod-rna": (331152, 8)}  # fmt: skip
TEXT = (
    "Rows and columns as printed and as used here. Sets that are not embedded have fingerprints: `boscage data fetch` "
    "says whether the arrays it got are those behind this page."
)


def page(files: Mapping[str, str]) -> str:
    """Return the page; ``files`` maps names of the paper to names in this library where they differ."""
    rows = []
    for name, (n, columns) in PRINTED.items():
        stored = files.get(name, name)
        source = catalogue().get(stored)
        if source is None:
            data = load_dataset(stored)
            size, origin = (*data.X.shape, len(data.target_names)), "embedded"
        else:
            size = (source.rows, source.features, source.classes)
            origin = f"OpenML, `{source.openml}`" if source.openml else "by hand, `boscage data list` says how"
        rows.append([name, f"{n:,}", f"{size[0]:,}", str(columns), str(size[1]), str(size[2]), origin])
    header = ["data", "rows, paper", "rows here", "columns, paper", "columns here", "classes", "where from"]
    differ = [row[0] for row in rows if row[1] != row[2] or row[3] != row[4]]
    remark = (
        f"Other sizes than in print: {', '.join(differ)}. Only a part of the rows of protein was available. mnist has "
        "all 784 pixels; constant columns, of which it has many, change no tree."
    )
    return f"# Table 1: data sets\n\n{TEXT}\n\n{markdown_table(header, rows)}\n\n{remark}\n"
