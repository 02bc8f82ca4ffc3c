"""Files that are written whole or not at all: the one way in which this library writes a file."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_LONGEST_SUFFIX = 20  # of a draft; a user's file name may be as long as names can be


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a draft beside ``path``; when the block ends well, the draft takes the place of the file.

    If anything goes wrong, the file stays as it was and the draft is removed. An OSError then names ``path``. A link is
    followed; what is no regular file, such as /dev/stdout or a named pipe, is written to in place.

    Parameters
    ----------
    path : str or path-like
        The file to write or to replace.

    Yields
    ------
    Path
        An empty file in the same folder, with the same suffix.
    """
    target = Path(path)
    place = Path(os.path.realpath(target))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if place.exists() and not place.is_file():
        yield place
        return
    suffix = place.suffix if len(place.suffix) <= _LONGEST_SUFFIX else ""
    draft = place.with_name(f".boscage-{secrets.token_hex(6)}{suffix}")
    try:
        with open(draft, "xb"):
            if place.exists():
                shutil.copymode(place, draft)
        yield draft
        _flush_to_disk(draft)
        os.replace(draft, place)
    except OSError as error:
        raise _named(error, draft, target) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write bytes, or text as UTF-8, to a file: all of it or nothing; return its path."""
    data = content.encode() if isinstance(content, str) else content
    with whole_file(path) as draft:
        draft.write_bytes(data)
    return Path(path)


def save_figure(figure: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write a matplotlib figure to a file, all of it or nothing; return its path."""
    with whole_file(path) as draft:
        figure.savefig(draft, **options)
    return Path(path)


def _flush_to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _named(error: OSError, draft: Path, target: Path) -> OSError:
    """Return the error with the user's path in place of the draft, of which the user knows nothing."""
    if error.errno is None or error.filename not in (None, str(draft), draft):
        return error
    return OSError(error.errno, os.strerror(error.errno), str(target))
