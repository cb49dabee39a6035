"""`Inputs`: the files that a build read, which no argument has the content of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from ..cache.entry import Entry, Files
from ..cache.files import ABSENT


class Inputs(NamedTuple):
    """Files that a build read, or may have read, and those that it would have read instead.

    Attributes
    ----------
    read, absent : tuple of str
        Paths; a missing folder stands for all that could be in it.
    unknown : tuple of str
        Macros with arguments that name headers: which, only the preprocessor knows.
    """

    read: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Entry, roots: Mapping[str, str]) -> Inputs:
        """Return those that an entry of the cache was built from."""
        files, manifest = Files(lambda: roots), entry.manifest
        paths: dict[bool, list[str]] = {True: [], False: []}
        for name, digest in manifest["read"].items():
            paths[digest == ABSENT].append(files.path(name))
        unknown = manifest["facts"].get("unknown", ())
        return cls(tuple(paths[False]), tuple(paths[True]), tuple(unknown))


def joined(several: Iterable[Inputs]) -> Inputs:
    """Return several as one, each path once."""
    return Inputs(
        *(tuple(dict.fromkeys(chain(*parts))) for parts in zip(Inputs(), *several, strict=True))
    )


def parse_depfile(content: str) -> list[str]:
    """Return the files that a compiler has read, by the make rules that it wrote, each once."""
    found: dict[str, None] = {}
    for rule in content.replace("\\\n", " ").splitlines():
        words = re.findall(r"(?:\\[ #]|\S)+", rule)
        # Before the colon is what was made; a path may have a colon, too.
        start = next((i for i, word in enumerate(words, 1) if word.endswith(":")), len(words))
        for word in words[start:]:
            found[re.sub(r"\\([ #])", r"\1", word).replace("$$", "$")] = None
    return list(found)
