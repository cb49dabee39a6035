"""The package's own files as this process found them: one digest, part of every key."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ..cache import memo
from ..cache.files import ABSENT, file_digest, stamp_of
from ..cache.key import Key
from ..errors import ToolchainError
from ..host.toolchain import include_dir

# Every launcher is made of these headers. What a build reads of others is recorded like any file,
# and a hit looks at those alone that its entry has read.
_HEADERS = ("tvmffi_cubin", "tvmffi_cubin/core", "tvmffi_cubin/launcher")
_HEADER_SUFFIXES = (".h", ".cc")
_SUFFIXES = (".py", ".in")


class _Files(NamedTuple):
    names: tuple[str, ...]
    paths: tuple[str, ...]
    stamps: str


def _look() -> _Files:
    rows = list(_python_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ""))
    for folder in _HEADERS:
        rows += _headers_in(folder)
    names, paths = zip(*rows, strict=True)
    return _Files(names, paths, "\n".join(map(_stamp, paths)))


def _python_files(folder: str, under: str) -> Iterable[tuple[str, str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(_SUFFIXES):
                yield f"{under}{entry.name}", entry.path
            elif entry.name not in ("__pycache__", "include") and entry.is_dir():
                yield from _python_files(entry.path, f"{under}{entry.name}/")


def _headers_in(folder: str) -> list[tuple[str, str]]:
    try:
        place = f"{include_dir()}/{folder}"
        found = sorted(name for name in os.listdir(place) if name.endswith(_HEADER_SUFFIXES))
    except (OSError, ToolchainError):
        return []  # who needs them says what is missing
    return [(f"include/{folder}/{name}", f"{place}/{name}") for name in found]


def _stamp(path: str) -> str:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ABSENT


# When it is imported: the code in memory is what generates.
_imported = _look()


def _digest() -> str:
    try:
        digests = list(map(file_digest, _imported.paths))
    except OSError as error:
        raise ToolchainError(
            f"{error.filename}, a part of tvmffi_cubin, cannot be read ({error.strerror}); "
            "run: pip install --force-reinstall tvmffi-cubin"
        ) from error
    return Key("package").add("names", _imported.names).add("files", digests).hexdigest()


@cache
def package_identity() -> str:
    """Return the digest of the package's files; raises ToolchainError where one cannot be read."""
    paths, stamps = _imported.paths, _imported.stamps
    return memo.remember(paths, _digest, what="package", stamps=stamps)


def change() -> str:
    """Return what says that a file which builds read is not what it was; else nothing."""
    read = (x for x in zip(_imported.paths, _imported.stamps.split("\n"), strict=True))
    if all(path.endswith(".py") or _stamp(path) == stamp for path, stamp in read):
        return ""
    return "tvmffi_cubin itself changed while it was in use: start the process again"


def others(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of some paths that are no files of the package."""
    own = frozenset(_imported.paths)
    return tuple(path for path in paths if path not in own)
