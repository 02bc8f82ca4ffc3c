"""Install the wheels of dist/ as users do and use them: `make test-wheel`.

Each wheel goes into an empty environment of every interpreter it is for. No compiler can be found there, and the
dependencies come from the package index as wheels too. The README's Python code must run, the first page of the
documentation can be followed from its ``pip install`` on, and every family must give the same model files as the
development build.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from interpreters import find_interpreters

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from pages import install_command  # noqa: E402

EMULATED_CPU = "Nehalem"  # 2008: no AVX; the oldest that NumPy's wheels support


def wheel_for(version: str) -> Path | None:
    """Return the wheel that pip would choose for a version of Python."""
    tag = version.replace(".", "")
    own = list(ROOT.glob(f"dist/boscage-*-cp{tag.rstrip('t')}-cp{tag}-*.whl"))
    stable = list(ROOT.glob("dist/boscage-*-cp312-abi3-*.whl")) if re.fullmatch(r"3\.(1[2-9]|[2-9]\d)", version) else []
    return next(iter(own + stable), None)


def environment(path: str) -> dict[str, str]:
    """Return the environment variables of a user without a compiler."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PYENV"))
    }
    return {**kept, "PATH": path, "CC": "/bin/false", "CXX": "/bin/false"}


def digests(command: list[str], cwd: Path, variables: dict[str, str]) -> dict[str, object]:
    """Run digests.py and return what it found."""
    program = str(ROOT / "packaging/digests.py")
    answer = subprocess.run([*command, program], check=True, cwd=cwd, env=variables, capture_output=True, text=True)
    return json.loads(answer.stdout)  # type: ignore[no-any-return]


def try_wheel(python: Path, wheel: Path, scratch: Path, expected: object) -> None:
    """Install one wheel with one interpreter and use it."""
    names = zipfile.ZipFile(wheel).namelist()
    for licence in ("licenses/LICENSE", "licenses/src/boscage/datasets/embedded/README.md"):
        assert any(name.endswith(f".dist-info/{licence}") for name in names), f"{wheel.name} lacks {licence}"
    subprocess.run([python, "-m", "venv", scratch / "venv"], check=True)
    installed = scratch / "venv/bin/python"
    variables = environment(str(scratch / "venv/bin"))
    pip = [installed, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    wanted = [wheel if name == "WHEEL" else name for name in install_command()]
    subprocess.run([*pip, *wanted], check=True, cwd=scratch, env=variables, stderr=subprocess.DEVNULL)
    for code in re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL):
        subprocess.run([installed, "-c", code], check=True, cwd=scratch, env=variables, stdout=subprocess.DEVNULL)
    (scratch / "walk").mkdir()
    subprocess.run([installed, ROOT / "tests/pages.py"], check=True, cwd=scratch / "walk", env=variables)
    command = scratch / "venv/bin/boscage"
    subprocess.run([command, "fit", "wine", "-o", "wine.boscage"], check=True, cwd=scratch, env=variables)
    found = digests([str(installed)], scratch, variables)
    assert str(found["file"]).startswith(str(scratch)), f"not the wheel's package: {found['file']}"
    assert found["digests"] == expected, f"other trees than the development build's: {found['digests']} != {expected}"
    emulator = shutil.which("qemu-x86_64")
    if emulator and "x86_64" in wheel.name:
        # NumPy's OpenBLAS does not recognise the emulated processor by itself.
        named = {**variables, "OPENBLAS_CORETYPE": EMULATED_CPU}
        old = digests([emulator, "-cpu", EMULATED_CPU, str(installed)], scratch, named)
        assert old["digests"] == expected, f"other trees on an old processor: {old['digests']} != {expected}"
        print(f"same trees on an emulated {EMULATED_CPU}")


def main() -> None:
    """Try every wheel with every interpreter."""
    expected = digests([sys.executable], ROOT, dict(os.environ))["digests"]
    tried = set()
    for version, python in find_interpreters().items():
        wheel = wheel_for(version)
        if wheel:
            with tempfile.TemporaryDirectory() as scratch:
                try_wheel(python, wheel, Path(scratch), expected)
            tried.add(wheel)
            print(f"{wheel.name} works with Python {version}", flush=True)
    untried = set(ROOT.glob("dist/*.whl")) - tried
    if untried or not tried:
        sys.exit(f"not tried: {', '.join(sorted(wheel.name for wheel in untried)) or 'any wheel, as dist/ has none'}")


if __name__ == "__main__":
    main()
