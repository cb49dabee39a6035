"""What was built under a module's name: tells on a miss which fields of the key differ."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .files import put_row, read_rows
from .key import Key, digest_of

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
        return cls(key.hexdigest(), key.hexdigest(without=tools), key.fields())

    def explain(self, others: Iterable[Built], *, without: Collection[str] = ()) -> str:
        """Return how this differs from the nearest of others, for people."""
        differences = [self._differences(other, without) for other in others]
        if not differences:
            return "nothing was built under this name"
        nearest = min(differences, key=len)
        if not nearest:
            return "what was built from the same is not there any more"
        shown = [_compared(label, *nearest[label]) for label in list(nearest)[:_MOST_SHOWN]]
        if len(nearest) > _MOST_SHOWN:
            shown.append(f"{', '.join(list(nearest)[_MOST_SHOWN:])} differ, too")
        return f"compared with the nearest entry, {'; '.join(shown)}"

    def _differences(self, other: Built, without: Collection[str]) -> dict[str, tuple[str, str]]:
        """Return the texts here and there of the fields that differ."""
        labels = [x for x in {**self.fields, **other.fields} if x not in without]
        pairs = {x: (self.fields.get(x, _NONE), other.fields.get(x, _NONE)) for x in labels}
        return {x: (one[1], two[1]) for x, (one, two) in pairs.items() if one[0] != two[0]}


def _compared(label: str, new: str, old: str) -> str:
    new, old = (repr(x[:_MOST_TEXT]) if x else "not given" for x in (new, old))
    return f"{label} is {new}, was {old}" if new != old else f"{label} differs after {new}"


def note(root: str, name: str, built: Sequence[Any]) -> None:
    """Remember that something was built under a name; a disk that takes no more is fine."""
    with contextlib.suppress(OSError):
        put_row(_path(root, name), built, most=_MOST)


def known(roots: Iterable[str], name: str) -> list[Built]:
    """Return what was built under a name in some cache folders, the newest first."""
    return [Built(*row) for root in roots for row in read_rows(_path(root, name))]


def _path(root: str, name: str) -> str:
    return f"{root}/history/{digest_of(name)}.json"
