"""Run the benchmarks: `python benchmarks/run.py [NAME ...]`, for example `axis`.

Every figure is a ratio taken in one run, on CPU time, against a peer or a physical limit. Data sets are read from
the folder named by BOSCAGE_DATA; those that are not there are left out, and said to be. The results are kept as JSON
beside this file and as a page of the documentation.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main(chosen: list[str]) -> None:
    folder = Path(__file__).parent
    sys.path.insert(0, str(folder))
    known = sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))
    unknown = set(chosen) - set(known)
    if unknown:
        sys.exit(f"not known: {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    for name in chosen or known:
        importlib.import_module(f"bench_{name}").main()
    importlib.import_module("_page").write(folder / "results")


if __name__ == "__main__":
    main(sys.argv[1:])
