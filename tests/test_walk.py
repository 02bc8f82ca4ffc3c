"""The page "Ten minutes with a table" can be followed in an empty folder, in Python and in the shell."""

import doctest
import os
import shlex
import subprocess
import sys
from pathlib import Path

from test_docs import DOCS, OPTIONS, blocks, run

PAGE = DOCS / "get-started" / "first-table.rst"


def commands(code):
    """(command, expected output) of a console block."""
    for part in ("\n" + code).split("\n$ ")[1:]:
        command, _, printed = part.partition("\n")
        yield shlex.split(command), printed.strip()


def in_shell(command):
    """Return what a command prints, to stdout and stderr."""
    assert command[0] == "boscage"
    done = subprocess.run(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def test_ten_minutes_with_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, printed, seen = {}, "", set()
    for line, language, code, follows in blocks(PAGE):
        where = f"{PAGE.name}:{line}"
        seen.add(language)
        if language == "python":
            printed = run(code, where, names)
        elif language == "text":
            assert follows, where
            assert [row.rstrip() for row in printed.strip().splitlines()] == code.strip().splitlines(), where
        elif language == "console":
            for command, expected in commands(code):
                found = in_shell(command)
                assert doctest.OutputChecker().check_output(expected, found, OPTIONS), (where, command, found)
    assert seen == {"python", "text", "console"}
    made = {path.name for path in Path.cwd().iterdir()}
    assert made == {
        "passengers.boscage", "passengers.html", "passengers.onnx", "passengers.csv",
        "shell.boscage", "predicted.csv", "tree.html",
    }  # fmt: skip
    # The tree of the file is that of all rows of the table, whatever reads them.
    from boscage import TopDownTreeClassifier, load

    shell = load("shell.boscage")
    same = TopDownTreeClassifier(max_leaf_nodes=6).fit(names["X"], names["y"])
    assert shell.export_text() == same.export_text()
    assert (shell.predict(names["X"]) == same.predict(names["X"])).all()
