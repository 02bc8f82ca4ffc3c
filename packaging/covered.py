"""Lines and branches of C++ that tests have run: ``covered.py BUILD [--missing]`` reads what a coverage build counted.

A line or branch of a template counts once, as run if any of its instances ran it; branches that only an exception takes
are left out. ``--missing`` lists lines that never ran. The exit code says whether ``--least`` percent of lines ran.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read_counts(build: Path) -> tuple[dict[Path, dict[int, int]], dict[Path, dict[tuple[int, int], int]]]:
    """Return by file the count of each line, and of each branch by line and number."""
    lines: dict[Path, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    branches: dict[Path, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    notes = sorted(build.resolve().rglob("*.gcno"))
    with tempfile.TemporaryDirectory() as folder:
        for note in notes:
            subprocess.run(["gcov", "-b", "--json-format", str(note)], cwd=folder, check=True, capture_output=True)
            for report in Path(folder).glob("*.gcov.json.gz"):
                add(json.loads(gzip.decompress(report.read_bytes())), lines, branches)
                report.unlink()
    return lines, branches


def add(report: dict, lines: dict, branches: dict) -> None:
    """Add the counts of one compiled file, its headers included."""
    for entry in report["files"]:
        path = Path(report["current_working_directory"], entry["file"]).resolve()
        if not path.is_relative_to(ROOT / "cpp"):
            continue
        name = path.relative_to(ROOT)
        if name.parts[1] in ("tests", "fuzz"):
            continue
        for line in entry["lines"]:
            lines[name][line["line_number"]] += line["count"]
            for number, branch in enumerate(line["branches"]):
                if not branch["throw"]:
                    branches[name][line["line_number"], number] += branch["count"]


def share(counts: list[int]) -> str:
    """Return how many are not 0, of all."""
    ran = sum(count > 0 for count in counts)
    return f"{ran:6d} of {len(counts):6d} {100 * ran / max(1, len(counts)):6.1f} %"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--least", type=float, default=95)
    options = parser.parse_args()
    lines, branches = read_counts(options.build)
    folders = defaultdict(list)
    for name in lines:
        folders[str(name.parent)].append(name)
    print(f"{'folder':24}{'lines':^26}{'branches':^26}")
    for folder, names in [*sorted(folders.items()), ("all", list(lines))]:
        of_lines = [count for name in names for count in lines[name].values()]
        of_branches = [count for name in names for count in branches[name].values()]
        print(f"{folder:24}{share(of_lines)}  {share(of_branches)}")
    if options.missing:
        for name in sorted(lines):
            never = sorted(number for number, count in lines[name].items() if count == 0)
            if never:
                print(f"{name}: {', '.join(map(str, never))}")
    ran = [count > 0 for counts in lines.values() for count in counts.values()]
    return 0 if 100 * sum(ran) >= options.least * len(ran) else 1


if __name__ == "__main__":
    sys.exit(main())
