"""Install what building and testing need into the free-threaded Python that runs this: a step of `make free-threaded`.

What tests need is installed where there is a wheel: few packages compile without further tools.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def main() -> None:
    """Install everything."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit(f"{sys.executable} is not a free-threaded Python: pass PYTHON_FT=python3.14t or the like")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    needed = [*settings["build-system"]["requires"], *project["dependencies"], "cmake>=3.25", "ninja"]
    subprocess.run([*PIP, *needed], check=True)
    extras = project["optional-dependencies"]
    for requirement in extras["plot"] + extras["test"]:
        if not requirement.startswith("boscage"):
            done = subprocess.run([*PIP, "--only-binary", ":all:", requirement], capture_output=True, text=True)
            if done.returncode:
                print(f"no wheel: {requirement}; tests that need it are skipped")


if __name__ == "__main__":
    main()
