"""What was built under a module's name: tells on a miss which fields of the key differ."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .files import make_folder, read_sealed, write_sealed
from .key import Key

# How many builds of one name are remembered, in each cache folder.
_MOST = 8
# How many fields, and how many characters of each, one sentence shows.
_MOST_SHOWN, _MOST_TEXT = 3, 80
_NONE = ("", "")


class Built(NamedTuple):
    """The fields of a key that something was built with: each one's digest and a text for people.

    `purpose` is the digest of those fields that say what is built, and not by which tools.
    """

    base_key: str
    purpose: str
    fields: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, key: Key, tools: Collection[str]) -> Built:
        """Return those of a key; `tools` are the labels that say by which tools."""
        texts = key.texts()
        fields = {label: (digest, texts[label]) for label, digest in key.digests.items()}
        return cls(key.hexdigest(), key.hexdigest(without=tools), fields)

    def explain(self, others: Iterable[Built], *, without: Collection[str] = ()) -> str:
        """Return how this differs from the nearest of others, for people."""
        rows = [(self._differing(other, without), other) for other in others]
        if not rows:
            return "nothing was built under this name"
        labels, nearest = min(rows, key=lambda row: len(row[0]))
        if not labels:
            return "what was built from the same is not there any more"
        shown = [self._compared(x, nearest) for x in labels[:_MOST_SHOWN]]
        more = ", ".join(labels[_MOST_SHOWN:])
        shown += [f"{more} differ, too"] if more else []
        return f"compared with the nearest entry, {'; '.join(shown)}"

    def _differing(self, other: Built, without: Collection[str]) -> list[str]:
        labels = dict.fromkeys((*self.fields, *other.fields))
        pairs = ((x, self.fields.get(x, _NONE), other.fields.get(x, _NONE)) for x in labels)
        return [x for x, one, two in pairs if one[0] != two[0] and x not in without]

    def _compared(self, label: str, other: Built) -> str:
        new, old = (_short(x.fields.get(label, _NONE)[1]) for x in (self, other))
        return f"{label} is {new}, was {old}" if new != old else f"{label} differs after {new}"


def _short(text: str) -> str:
    short = text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
    return repr(short) if short else "not given"


def note(root: str, name: str, built: Sequence[Any]) -> None:
    """Remember that something was built under a name; a disk that takes no more is fine."""
    built = Built(*built)
    rows = [built, *(x for x in known([root], name) if x.base_key != built.base_key)]
    with contextlib.suppress(OSError):
        path = _path(root, name)
        make_folder(os.path.dirname(path), root)
        write_sealed(path, {"name": name, "built": rows[:_MOST]})


def known(roots: Iterable[str], name: str) -> list[Built]:
    """Return what was built under a name in some cache folders, the newest first."""
    found = []
    for root in roots:
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
            found += [Built(*row) for row in read_sealed(_path(root, name))["built"]]
    return found


def _path(root: str, name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{root}/history/{digest}.json"
