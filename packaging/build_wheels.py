"""Build the source distribution and the wheels for Linux into dist/ and check them: `make wheel`.

Python 3.11 gets a wheel of its own; one wheel with the stable ABI serves 3.12 and newer, except free-threaded Pythons:
those that are found get wheels of their own. On x86-64 the wheels are linked for glibc 2.28 (see glibc_stubs.py). The
core is the one that `make setup` compiled and `make test-cpp` tests.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from glibc_stubs import make_stubs
from interpreters import find_interpreters

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = ROOT / "build"
GLIBC = "2.28"


def prebuilt_core() -> Path:
    """Return the core of the development build, compiled with the project's flags and no others."""
    cache = (BUILD / "dev/CMakeCache.txt").read_text()
    extra = re.findall(r"^CMAKE_CXX_FLAGS:\w+=(.+)$", cache, re.MULTILINE)
    if extra:
        sys.exit(f"build/dev was compiled with CXXFLAGS={extra[0]!r}; run `make clean setup` without them")
    return BUILD / "dev/libboscage_core.a"


def build_sdist() -> None:
    """Write the source distribution."""
    from scikit_build_core.build import build_sdist

    print("built", build_sdist(str(DIST)))


def build_wheel(python: Path, version: str, defines: dict[str, object], platform_tag: str | None) -> Path:
    """Build one wheel with `python`, give it its platform tag, put it into dist/ and return its path."""
    environment = {name: value for name, value in os.environ.items() if name not in {"CFLAGS", "CXXFLAGS", "LDFLAGS"}}
    with tempfile.TemporaryDirectory() as scratch:
        command = [str(python), "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += [f"--config-settings=build-dir={BUILD}/wheel-{version}", "--wheel-dir", scratch]
        command += [f"--config-settings=cmake.define.{name}={value}" for name, value in defines.items()]
        subprocess.run([*command, str(ROOT)], check=True, env=environment)
        (wheel,) = Path(scratch).glob("*.whl")
        if platform_tag:
            repair = [sys.executable, "-m", "auditwheel", "repair", "--only-plat", "--plat", platform_tag]
            subprocess.run([*repair, "--wheel-dir", f"{scratch}/tagged", str(wheel)], check=True)
            (wheel,) = Path(scratch).glob("tagged/*.whl")
        check_symbols(wheel)
        print("built", wheel.name)
        return Path(shutil.copy(wheel, DIST))


def check_symbols(wheel: Path) -> None:
    """Stop at a symbol that no library provides: the module would not load on the Linux that it was linked for."""
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        (module,) = (name for name in archive.namelist() if name.endswith(".so"))
        listing = subprocess.run(
            ["nm", "--dynamic", "--undefined-only", archive.extract(module, scratch)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    # What a library provides carries a version (sqrt@GLIBC_2.2.5); names of Python and of the loader do not.
    names = [name for kind, name in (line.split()[-2:] for line in listing.splitlines()) if kind == "U"]
    unknown = [name for name in names if "@" not in name and not name.startswith(("Py", "_Py", "__tls_get_addr"))]
    if unknown:
        sys.exit(f"{wheel.name} needs symbols that glibc {GLIBC} does not have: {', '.join(unknown)}")


def main() -> None:
    """Build everything that the interpreters of this machine allow."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    build_sdist()
    defines: dict[str, object] = {"BOSCAGE_CORE": prebuilt_core()}
    platform_tag = None
    if platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc":
        defines["BOSCAGE_GLIBC"] = make_stubs(GLIBC, BUILD / f"glibc-{GLIBC}")
        platform_tag = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
    interpreters = find_interpreters()
    stable = min((v for v in interpreters if not v.endswith("t") and int(v[2:]) >= 12), default=None)
    for version, python in interpreters.items():
        if version in {"3.11", stable} or version.endswith("t"):
            build_wheel(python, version, defines, platform_tag)
    for missing in {"3.11", stable or "3.12"} - set(interpreters):
        print(f"no Python {missing} with headers on this machine: its wheel was not built")


if __name__ == "__main__":
    main()
