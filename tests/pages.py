"""Code blocks of the pages of the documentation, and the walk along the first of them.

``python tests/pages.py`` walks it in the current folder with whatever package is installed, without the test tools.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
FIRST = DOCS / "get-started" / "first-table.rst"
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page):
    """(first line, language, code, whether it follows another at once) of the code blocks of a page."""
    end = -1
    lines = page.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if found := re.match(r"( *)\.\. code-block:: (\w+)", line):
            margin = len(found[1]) + 3
            body, follows = [], end >= 0 and not any(map(str.strip, lines[end:number]))
            for following in lines[number + 1 :]:
                if following.strip() and not following.startswith(" " * margin):
                    break
                body.append(following[margin:])
            end = number + 1 + len(body)
            yield number + 1, found[2], "\n".join(body).strip("\n") + "\n", follows


def run(code, where, names):
    """Run a block, as a session if it has prompts; return what it prints."""
    if ">>>" in code:
        test = doctest.DocTestParser().get_doctest(code, names, where, where, 0)
        complaints = io.StringIO()
        result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=complaints.write, clear_globs=False)
        assert result.failed == 0, complaints.getvalue()
        names.update(test.globs)
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, where, "exec"), names)
    return printed.getvalue()


def commands(code):
    """(command, expected output) of a console block."""
    for part in ("\n" + code).split("\n$ ")[1:]:
        command, _, printed = part.partition("\n")
        yield shlex.split(command), printed.strip()


def install_command():
    """Return the arguments of ``pip install`` on the first page."""
    found = [
        command for _, language, code, _ in blocks(FIRST) if language == "console" for command, _ in commands(code)
    ]
    assert found[0][:2] == ["pip", "install"], found[0]
    return found[0][2:]


def in_shell(command):
    """Return what a command prints, to stdout and stderr."""
    assert command[0] == "boscage", command
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


def walk():
    """Do everything that the first page says after the installation; return its names."""
    names, printed, seen = {}, "", []
    for line, language, code, follows in blocks(FIRST):
        where = f"{FIRST.name}:{line}"
        seen.append(language)
        if language == "python":
            printed = run(code, where, names)
        elif language == "text":
            assert follows, where
            assert [row.rstrip() for row in printed.strip().splitlines()] == code.strip().splitlines(), where
        elif len(seen) > 1:
            for command, expected in commands(code):
                found = in_shell(command)
                assert doctest.OutputChecker().check_output(expected, found, OPTIONS), (where, command, found)
    assert seen[0] == "console"
    assert set(seen) == {"python", "text", "console"}
    names["server"].shutdown()
    names["server"].server_close()
    return names


if __name__ == "__main__":
    walk()
