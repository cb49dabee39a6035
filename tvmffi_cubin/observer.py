"""`Observer`: what the file system says about files now; each file is asked about once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from types import TracebackType

from . import identity
from .key import file_digest
from .stamp import ABSENT, UNSETTLED, stamp_of, trusted

__all__ = ["Observer"]

_NOT_A_FILE = "not a file"

# For so many files it takes longer to open their folders.
_FEW = 16

# To hash a library of a GiB takes a second: from this many bytes on, digests are remembered.
_LARGE = 64 << 20

# The digests of files by path, with the stamps that they had: what a build publishes has mostly
# been read for the last one. Forgotten when there are so many.
_known: dict[str, tuple[str, str]] = {}
_MOST_KNOWN = 20_000


class Observer:
    """Stamps and digests of files under portable names; a context manager.

    A portable name is an absolute path, or ``$TOKEN/rest`` for a file under a root that may lie
    elsewhere on another machine or in another environment.

    Parameters
    ----------
    roots : mapping of str to str
        Token, such as ``"$CUDA"``, to absolute folder.
    """

    def __init__(self, roots: Mapping[str, str]) -> None:
        self._roots = dict(roots)
        self._known_prefixes: list[tuple[str, str]] | None = None
        self._descriptors: dict[str, int] = {}
        self._stamps: dict[str, str] = {}
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Observer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for descriptor in self._descriptors.values():
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptors.clear()

    def portable(self, path: str) -> str:
        """Return the portable name of an absolute path."""
        if "/.." in path:
            # Only the file system knows what ".." after a symbolic link is.
            path = os.path.realpath(path)
        for prefix, token in self._prefixes():
            if path.startswith(prefix):
                return f"{token}/{path[len(prefix) :]}"
        return path

    def _prefixes(self) -> list[tuple[str, str]]:
        if self._known_prefixes is None:
            # gcc names a system header by its real path where that is shorter, as it is in an
            # environment whose lib64 is a link to lib.
            pairs = {
                (folder.rstrip("/") + "/", token)
                for token, root in self._roots.items()
                for folder in (root, os.path.realpath(root))
            }
            # The longest folder first: of two nested roots the inner one names a file.
            self._known_prefixes = sorted(pairs, key=lambda pair: (-len(pair[0]), pair))
        return self._known_prefixes

    def path(self, name: str) -> str:
        """Return where a file of a portable name lies here."""
        if not name.startswith("$"):
            return name
        token, _, rest = name.partition("/")
        return os.path.join(self._roots.get(token, os.devnull), rest)

    def stamps(self, names: Iterable[str]) -> list[str]:
        """Return each file's size, times and inode as one text: unchanged text, unchanged file."""
        known, ask, made = self._stamps, os.stat, []
        names = list(names)
        folders = self._descriptors
        is_worth = len(names) > _FEW
        for name in names:
            stamp = known.get(name)
            if stamp is None:
                try:
                    if name[0] != "$":
                        info = ask(name)
                    elif not is_worth:
                        info = ask(self.path(name))
                    else:
                        token, _, rest = name.partition("/")
                        # From an open folder the kernel walks a shorter path: a third less time.
                        folder = folders.get(token, -1)
                        info = ask(rest, dir_fd=folder if folder >= 0 else self._descriptor(token))
                    stamp = stamp_of(info)
                except (OSError, ValueError):
                    # The latter where a record from elsewhere has a null byte in a name.
                    stamp = ABSENT
                known[name] = stamp
            made.append(stamp)
        return made

    def digest(self, name: str) -> str:
        """Return the digest of a file's content, `ABSENT` where there is nothing."""
        digest = self._digests.get(name)
        if digest is None:
            digest = self._digests[name] = self._compute_digest(name)
        return digest

    def _compute_digest(self, name: str) -> str:
        path = self.path(name)
        try:
            info = os.stat(path)
            # To open a pipe would wait for a writer.
            if not stat.S_ISREG(info.st_mode):
                return _NOT_A_FILE
            if info.st_size < _LARGE:
                return _digest_now(path, stamp_of(info))
            return identity.remember(path, lambda: file_digest(path), what="digest")
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except (OSError, ValueError):
            return _NOT_A_FILE

    def _descriptor(self, token: str) -> int:
        descriptor = self._descriptors.get(token)
        if descriptor is None:
            try:
                descriptor = os.open(self._roots[token], os.O_PATH | os.O_DIRECTORY)
            except (KeyError, OSError):
                descriptor = -1
            self._descriptors[token] = descriptor
        if descriptor < 0:
            raise FileNotFoundError(token)
        return descriptor


def _digest_now(path: str, stamp: str) -> str:
    known = _known.get(path)
    if known is not None and known[0] == stamp:
        return known[1]
    digest = file_digest(path)
    if trusted(stamp) != UNSETTLED:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[path] = stamp, digest
    return digest
