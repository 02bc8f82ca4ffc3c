"""Plant a bug of each class and see that the sanitizers find it: ``make planted``.

One source file with a bug in it is compiled with the flags of an existing sanitizer build and linked in place of the
sound one; tests or the fuzz corpus must then end with the report that names the bug. The working tree is never changed.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Plant(NamedTuple):
    """A bug: the build that must find it, where it goes, what it is, and what the report says."""

    build: str
    source: str
    anchor: str
    code: str
    report: str


FLATTEN = ("grow/grown.cpp", "Grown flatten(const Grower& grower, const AnyCriterion& criterion) {\n")
PLANTS = {
    "read past the end of an array": Plant(
        "fuzz",
        *FLATTEN,
        "const std::vector<double> few(3); const volatile double* all = few.data(); "
        "if (all[2 + grower.size()] == 0.5) return {};",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    "index past the end of a vector": Plant(
        "fuzz",
        *FLATTEN,
        "std::vector<double> few(1); few.reserve(1 << 20); if (few[grower.size()] == 0.5) return {};",
        "Assertion '__n < this->size()' failed",
    ),
    "use of freed memory": Plant(
        "fuzz",
        *FLATTEN,
        "const volatile double* gone; { const std::vector<double> few(3); gone = few.data(); } "
        "if (gone[grower.size() % 3] == 0.5) return {};",
        "AddressSanitizer: heap-use-after-free",
    ),
    "overflow of an integer": Plant(
        "fuzz",
        *FLATTEN,
        "volatile int32_t most = INT32_MAX; most = most + static_cast<int>(grower.size()); if (most == 7) return {};",
        "runtime error: signed integer overflow",
    ),
    "data race": Plant(
        "sanitize-threads",
        "base/parallel.cpp",
        "void Pool::take_chunks(int thread) {\n",
        "static int calls = 0; ++calls;",
        "ThreadSanitizer: data race",
    ),
    "uninitialised memory": Plant(
        "sanitize-memory",
        *FLATTEN,
        "double drawn[4]; drawn[1] = 0; volatile size_t at = grower.size() % 2 * 2; if (drawn[at] > 1) return {};",
        "MemorySanitizer: use-of-uninitialized-value",
    ),
}


def commands(build: Path, target: str) -> list[list[str]]:
    """Return the commands that ninja would run for a target."""
    out = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, capture_output=True, text=True)
    return [shlex.split(line) for line in out.stdout.splitlines()]


def build_with(plant: Plant, target: str, name: str) -> Path:
    """Link the target with the bug in it."""
    build = ROOT / "build" / plant.build
    source = ROOT / "cpp" / plant.source
    text = source.read_text()
    if text.count(plant.anchor) != 1:
        raise SystemExit(f"{plant.source}: the place for the bug is gone, expected once: {plant.anchor!r}")
    planted, made, program = (build / f"planted-{name}{suffix}" for suffix in (".cpp", ".o", ""))
    planted.write_text(text.replace(plant.anchor, plant.anchor + "  " + plant.code + "\n"))
    *_, link = (line for line in commands(build, target) if target in line)
    (compile_,) = (line for line in commands(build, target) if str(source) in line)
    compile_ = [str(planted) if word == str(source) else word for word in compile_]
    compile_[compile_.index("-o") + 1] = str(made)
    subprocess.run([*compile_, "-Wno-error"], cwd=build, check=True)
    # Before the library, so that the linker takes the object and leaves the library's own.
    first = next(i for i, word in enumerate(link) if word.endswith(".o"))
    link = [*link[:first], str(made), *link[first:]]
    link[link.index("-o") + 1] = str(program)
    begin, end = (2, link.index("&&", 2)) if link[:2] == [":", "&&"] else (0, len(link))
    subprocess.run(link[begin:end], cwd=build, check=True)
    return program


def main() -> int:
    """Plant all bugs; return how many were missed."""
    missed = 0
    for title, plant in PLANTS.items():
        name = title.replace(" ", "-")
        if plant.build == "sanitize-threads":
            run = [build_with(plant, "core_test", name)]
        else:
            corpus = sorted((ROOT / "cpp" / "fuzz" / "corpus" / "axis").iterdir())
            run = [build_with(plant, "fuzz_axis", name), *corpus]
        done = subprocess.run(run, cwd=run[0].parent, capture_output=True, text=True, errors="replace")
        is_found = done.returncode != 0 and plant.report in done.stderr
        missed += not is_found
        print(f"{title:34}{'found' if is_found else 'MISSED'}: {plant.report}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
