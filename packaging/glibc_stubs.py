"""Make stub libraries of an older glibc, to link a wheel against.

A program asks for the newest version of each glibc function that the linker saw. Linked against stubs of glibc 2.28,
it runs on every Linux with glibc 2.28 or newer, whichever glibc the machine has that built it. The stubs come with
the compiler `zig` (package `ziglang`), which makes them when it links; code is compiled by the usual compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def make_stubs(version: str, folder: Path) -> Path:
    """Write libc, libm and their companions of glibc `version` into `folder`, unless they are there; return it."""
    if (folder / "libc.so").exists():
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "empty.c"
        source.write_text("int empty(void) { return 0; }\n")
        command = [sys.executable, "-m", "ziglang", "cc", "-target", f"x86_64-linux-gnu.{version}", "-shared"]
        cache = {"ZIG_GLOBAL_CACHE_DIR": scratch, "ZIG_LOCAL_CACHE_DIR": scratch}
        subprocess.run(
            [*command, "-o", f"{scratch}/empty.so", str(source), "-lm", "-lpthread"],
            check=True,
            env={**os.environ, **cache},
        )
        (made,) = Path(scratch).glob("o/*/libc.so.6")
        folder.mkdir(parents=True, exist_ok=True)
        for library in made.parent.glob("lib*.so.*"):
            shutil.copy(library, folder / library.name)
        for name in ("libm", "libpthread", "libdl", "librt", "libc"):  # libc last: it says that all are there
            (target,) = folder.glob(f"{name}.so.*")
            (folder / f"{name}.so").symlink_to(target.name)
    return folder
