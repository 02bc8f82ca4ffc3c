"""Find the Python interpreters of this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PROBE = """import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print("%d.%d" % sys.version_info[:2] + threads, int(os.path.exists(header)), sys.executable, sep="\\n")"""


def find_interpreters() -> dict[str, Path]:
    """Return interpreters with headers by version ("3.12", "3.14t"): those in PATH, then those of pyenv and uv."""
    home = Path.home()
    folders = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part]
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    for managed in (pyenv / "versions", home / ".local/share/uv/python"):
        folders += sorted(managed.glob("*/bin"), reverse=True)
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3.[0-9]*")):
            if path.name.removeprefix("python3.").rstrip("t").isdigit() and "shims" not in path.parts:
                answer = subprocess.run([path, "-c", PROBE], capture_output=True, text=True)
                version, header, executable = (answer.stdout.split("\n") + [""] * 3)[:3]
                if answer.returncode == 0 and header == "1":
                    found.setdefault(version, Path(executable))
    return found
