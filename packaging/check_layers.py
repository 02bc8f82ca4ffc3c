"""Check which package imports which: the layers in pyproject.toml, [tool.boscage.layers], from the lowest up.

A module may import what is below its layer and what is in its own package; C++ files include likewise. Imports inside
a function count too, except those of the modules that `deferred` names: their methods hand over to higher packages.
Imports for type checkers do not count. The modules themselves must not import each other in a circle, imports stand
at the top of a file, and no folder has more than so many modules (a header and its source count once).
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "boscage"
MOST_MODULES = 15


def layer_of(unit: str, layers: list[list[str]]) -> tuple[int, str]:
    """Return the layer and the entry of the table with the longest name that fits."""
    fits = [
        (len(entry), number, entry)
        for number, layer in enumerate(layers)
        for entry in layer
        if unit == entry or unit.startswith((entry + ".", entry + "/"))
    ]
    if not fits:
        raise LookupError(f"{unit} is in no layer: add it to [tool.boscage.layers] of pyproject.toml")
    return max(fits)[1:]


def imports(tree: ast.AST, where: str = "top") -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Yield the imports of a file with where they stand: top, function or types."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, where
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(child, "function" if where == "top" else where)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            yield from imports(child, "types")
        else:
            yield from imports(child, where)


def python_modules(source: Path) -> dict[str, Path]:
    """Return the files of the package by module, without the package's own name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def python_imports(modules: dict[str, Path], homes: dict[str, str]) -> Iterator[tuple[str, str, str, int]]:
    """Yield (module, imported module, where, line) inside the package."""
    for module, path in modules.items():
        for node, where in imports(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            else:
                targets = [f"{node.module}.{alias.name}" for alias in node.names]
            for target in targets:
                if target != NAME and not target.startswith(NAME + "."):
                    continue
                inside = target.removeprefix(NAME).removeprefix(".")
                inside = homes.get(inside, inside)
                while inside not in modules and inside != "_core":
                    inside = inside.rpartition(".")[0]
                # The package itself imports nothing.
                yield module, inside or "_core", where, node.lineno


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """Return the modules of one circle of imports, if there is one."""
    done: set[str] = set()
    for start in edges:
        path, walks = [start], [iter(edges.get(start, ()))]
        while walks:
            step = next(walks[-1], None)
            if step is None:
                done.add(path.pop())
                walks.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            elif step not in done:
                path.append(step)
                walks.append(iter(edges.get(step, ())))
    return []


def check_python(source: Path, table: dict[str, list[list[str]]], deferred: set[str]) -> list[str]:
    """Return what is wrong with the imports of the package."""
    modules = python_modules(source)
    root = ast.parse(modules[""].read_text())
    assigned = {node.targets[0].id: node.value for node in root.body if isinstance(node, ast.Assign)}  # type: ignore[attr-defined]
    homes = {name: home or name for name, home in ast.literal_eval(assigned["_HOME"]).items()}
    homes |= {"__version__": "_core", "__all__": "_core"}
    wrong, edges = [], {module: set() for module in modules}
    for module, target, where, line in python_imports(modules, homes):
        if where == "types" or not module:
            continue
        number, unit = layer_of(module, table["python"])
        below, other = layer_of(target, table["python"])
        if unit != other and below >= number and not (where == "function" and module in deferred):
            wrong.append(f"{modules[module].relative_to(ROOT)}:{line}: {unit} must not import {other}")
        if where == "top" and module != target:
            edges[module].add(target)
    if circle := cycle(edges):
        wrong.append("circle of imports: " + " -> ".join(circle))
    for path in modules.values():
        wrong += [f"{path.relative_to(ROOT)}:{line}: import below other code" for line in late_imports(path)]
    return wrong


def late_imports(path: Path) -> list[int]:
    """Lines of imports that follow a definition."""
    late, seen = [], False
    for node in ast.parse(path.read_text()).body:
        seen |= isinstance(node, ast.FunctionDef | ast.ClassDef)
        if seen and isinstance(node, ast.Import | ast.ImportFrom):
            late.append(node.lineno)
    return late


def check_cpp(source: Path, table: dict[str, list[list[str]]]) -> list[str]:
    """Return what is wrong with the includes of the core."""
    wrong = []
    for path in sorted(source.rglob("*.?pp")):
        unit = path.relative_to(source).as_posix()
        number, mine = layer_of(unit, table["cpp"])
        for line, text in enumerate(path.read_text().splitlines(), 1):
            if (found := re.match(r'#include "([^"]+)"', text)) is None:
                continue
            if not (source / found[1]).exists():
                wrong.append(f"{path.relative_to(ROOT)}:{line}: include from the folder cpp: {found[1]}")
                continue
            below, other = layer_of(found[1], table["cpp"])
            if mine != other and below >= number:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {mine} must not include {other}")
    return wrong


def check_folders(*sources: Path) -> list[str]:
    """Return the folders with too many modules."""
    wrong = []
    for source in sources:
        for folder in [source, *(path for path in source.rglob("*") if path.is_dir())]:
            names = {path.stem for path in folder.iterdir() if path.suffix in (".py", ".cpp", ".hpp")}
            if len(names) > MOST_MODULES:
                wrong.append(f"{folder.relative_to(ROOT)}: {len(names)} modules; at most {MOST_MODULES}")
    return wrong


def main() -> None:
    """Print what is wrong and exit with 1, or say nothing."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["boscage"]["layers"]
    source, core = ROOT / "src" / NAME, ROOT / "cpp"
    wrong = [
        *check_python(source, table, set(table["deferred"])),
        *check_cpp(core, table),
        *check_folders(source, core),
    ]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
