"""Lay another build of the extension over the environment: ``overlay.py BUILD`` makes BUILD/env/bin/python.

BUILD holds ``_core*.so``, built with other options (sanitizers, coverage). The new interpreter sees the packages of the
environment this script runs in and the Python sources of this folder, but imports that extension. Nothing is installed.
"""

import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def overlay(build: Path) -> Path:
    """Make the environment and return its interpreter."""
    env, package = build / "env", build / "site" / "boscage"
    venv.EnvBuilder(symlinks=True).create(env)
    package.mkdir(parents=True, exist_ok=True)
    for old in package.iterdir():
        old.unlink()
    for source in [*(ROOT / "src" / "boscage").iterdir(), *build.glob("_core*.so")]:
        if source.name != "__pycache__":
            (package / source.name).symlink_to(source)
    # Folders named in a .pth file bring their packages but not their own .pth files: no editable install.
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    (site,) = env.glob("lib/python*/site-packages")
    (site / "overlay.pth").write_text(f"{package.parent}\n{packages}\n")
    return env / "bin" / "python"


if __name__ == "__main__":
    print(overlay(Path(sys.argv[1]).resolve()))
