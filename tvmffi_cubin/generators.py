"""The package's own files as they were when they were imported: part of every key."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from . import _BEGAN_NS, identity
from .errors import ToolchainError
from .key import Key, file_digest
from .stamp import ABSENT, FILE_CLOCK, changed_ns, stamp_of
from .toolchain import include_dir

__all__ = ["change_since", "generator_identity", "identity_for_build", "others"]

# Folders of C++ headers of which that is true, too: every generated launcher is made of them, and
# to look at each on every hit would take as long as all else. What a build reads of others is
# recorded like any file.
_HEADERS = ("tvmffi_cubin", "tvmffi_cubin/launcher")
_SUFFIXES = (".h", ".cc")
# Headers lie elsewhere in a checkout, and are taken one folder at a time.
_NOT_OURS = ("__pycache__", "include")

# Tells this process from others where the files are no longer those that it has imported.
_NONCE = os.urandom(16)


class _Look(NamedTuple):
    """Those files as they were: their names in a key, their paths, their stamps line by line."""

    began_ns: int
    names: tuple[str, ...]
    paths: tuple[str, ...]
    stamps: str

    @classmethod
    def take(cls, began_ns: int) -> _Look:
        """Look at the files; what changed since `began_ns` may have been read before it did."""
        package = os.path.dirname(os.path.abspath(__file__))
        rows = _own_files(package)
        for folder in _HEADERS:
            rows += _files_in(folder)
        names, paths = zip(*rows, strict=True)
        return cls(began_ns, names, paths, "\n".join(map(_stamp, paths)))

    def change(self) -> str:
        """Return what says that the files are not what they were when this began; else nothing."""
        now = _Look.take(0)
        changed, path = max(zip(map(changed_ns, now.stamps.split("\n")), now.paths, strict=True))
        if changed > time.time_ns():
            return f"{path} was written at a time that is yet to come: set the clock"
        if (now.paths, now.stamps) == (self.paths, self.stamps) and changed < self.began_ns:
            return ""
        if self._is_linked_elsewhere(now):
            return ""
        return "tvmffi_cubin itself changed while it was in use: start the process again"

    def _is_linked_elsewhere(self, now: _Look) -> bool:
        """Whether no more than change times are others, of files that hold what they held.

        An installer that links files into one environment more does that to all that have them.
        """
        if (now.paths, _contents(now.stamps)) != (self.paths, _contents(self.stamps)):
            return False
        was_old = max(map(changed_ns, self.stamps.split("\n"))) < self.began_ns
        return was_old and _looks.get(now.digest()) is self

    def digest(self) -> str:
        """Return the digest of what the files hold now.

        Raises
        ------
        ToolchainError
            One cannot be read.
        """
        try:
            digests = list(map(file_digest, self.paths))
        except OSError as error:
            raise ToolchainError(
                f"{error.filename}, a part of tvmffi_cubin, cannot be read ({error.strerror}): it "
                "is used as files, with its Python sources; "
                "run: pip install --force-reinstall tvmffi-cubin"
            ) from error
        return Key("generator").add("names", self.names).add("files", digests).hexdigest()


def _own_files(folder: str, under: str = "") -> list[tuple[str, str]]:
    """Return the names and paths of the package's Python files and templates."""
    rows = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith((".py", ".in")):
                rows.append((f"{under}{entry.name}", entry.path))
            elif entry.name not in _NOT_OURS and entry.is_dir():
                rows += _own_files(entry.path, f"{under}{entry.name}/")
    return rows


def _files_in(folder: str) -> list[tuple[str, str]]:
    try:
        place = f"{include_dir()}/{folder}"
        found = sorted(name for name in os.listdir(place) if name.endswith(_SUFFIXES))
    except (OSError, ToolchainError):
        return []  # who needs them says what is missing
    return [(f"include/{folder}/{name}", f"{place}/{name}") for name in found]


def _contents(stamps: str) -> list[str]:
    """Return stamps without the times at which files were also linked, renamed or given away."""
    return [stamp.rpartition(" ")[0] for stamp in stamps.split("\n")]


def _stamp(path: str) -> str:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return ABSENT


# As soon as they are imported: the code in memory is what generates.
_imported = _Look.take(_BEGAN_NS)
# By identity, what this process looks things up and builds with.
_looks: dict[str, _Look] = {}


def generator_identity() -> str:
    """Return the digest of what generates text here, as it was imported, and of its headers.

    Raises
    ------
    ToolchainError
        A file of this package cannot be read.
    """
    known = next((text for text, look in _looks.items() if look is _imported), None)
    if known is None:
        paths, stamps = _imported.paths, _imported.stamps
        known = identity.remember(paths, _imported.digest, what="generator", stamps=stamps)
        _looks[known] = _imported
    return known


def identity_for_build() -> str:
    """Return the same where the files still are what was imported; else one that no other has.

    Of code that was one thing before and headers that are another now, no other process must be
    given anything.
    """
    if not _imported.change():
        return generator_identity()
    look = _Look.take(time.clock_gettime_ns(FILE_CLOCK))
    key = Key("mixed generator").add("nonce", _NONCE).add("process", os.getpid())
    mixed = key.add("stamps", look.stamps).hexdigest()
    _looks[mixed] = look
    return mixed


def change_since(known: str) -> str:
    """Return what says that the files are not what an identity was given out for; else nothing."""
    look = _looks.get(known)
    return "" if look is None else look.change()


def others(paths: Iterable[str], known: str) -> tuple[str, ...]:
    """Return those of some paths that are no files of an identity, which says nothing of them."""
    own = frozenset(_looks[known].paths) if known in _looks else frozenset()
    return tuple(path for path in paths if path not in own)
