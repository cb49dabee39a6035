"""The package's own files as this process found them: one digest, part of every key."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from functools import cache

from ..cache import memo
from ..cache.files import ABSENT, file_digest, stamp_of
from ..cache.key import Key
from ..errors import ToolchainError
from ..host.toolchain import include_dir

_SUFFIXES = (".py", ".in", ".h", ".cc")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _folders() -> list[str]:
    folders = [_ROOT]
    with contextlib.suppress(ToolchainError):  # who needs the headers says what is missing
        headers = os.fspath(include_dir())
        folders += [] if headers.startswith(f"{_ROOT}/") else [headers]
    return folders


def _look() -> dict[str, str]:
    """Return the stamps of all files that text is generated from or compiled, by path."""
    found = {}
    folders = _folders()
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIXES):
                    found[entry.path] = _stamp(entry.path)
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return dict(sorted(found.items()))


def _stamp(path: str) -> str:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ABSENT


# When it is imported: the code in memory is what generates.
_imported = _look()


def _digest() -> str:
    names = [path.removeprefix(os.path.dirname(_ROOT)) for path in _imported]
    try:
        digests = list(map(file_digest, _imported))
    except OSError as error:
        raise ToolchainError(
            f"{error.filename}, a part of tvmffi_cubin, cannot be read ({error.strerror}); "
            "run: pip install --force-reinstall tvmffi-cubin"
        ) from error
    return Key("package").add("names", names).add("files", digests).hexdigest()


@cache
def package_identity() -> str:
    """Return the digest of the package's files; raises ToolchainError where one cannot be read."""
    stamps = "\n".join(_imported.values())
    return memo.remember(list(_imported), _digest, what="package", stamps=stamps)


def change() -> str:
    """Return what says that a file which builds read is not what it was; else nothing."""
    if all(path.endswith(".py") or _stamp(path) == x for path, x in _imported.items()):
        return ""
    return "tvmffi_cubin itself changed while it was in use: start the process again"


def others(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of some paths that are no files of the package."""
    return tuple(path for path in paths if path not in _imported)
