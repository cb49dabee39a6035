"""`FieldsRecord`: the fields of the key that something was built with, kept for later look-ups.

It lies in the entry itself, so that it goes wherever that goes, and, as the same bytes, where it is
looked for: by the module's name, to say what differs; and by all that is no tool, to find what was
built by other tools.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .entry import Entry
from .field_key import FieldKey
from .folder import make_folder
from .key import is_key
from .sealed import read_regular, seal, unseal, write_sealed
from .toolset import TOOLS

__all__ = ["FILE", "FieldsRecord", "index", "of_same_name", "of_same_purpose"]

FILE = "tvmffi_cubin.key.json"
"""The record's name in an entry; the dots keep it from being an image's or a source's."""

_SCHEMA = 1
# How many records are read at most to answer one question; the first is asked before every build.
_MOST_COMPARED = 8
_MOST_READ = 32
# How many fields, and how many characters of each, one sentence shows.
_MOST_SHOWN = 3
_MOST_TEXT = 80


class FieldsRecord(NamedTuple):
    """The fields of one key.

    Attributes
    ----------
    base_key : str
        The key.
    name : str
        The module's.
    purpose : str
        The digest of the fields that say what is built, and not by which tools.
    fields : mapping of str to (str, str)
        Each field's digest and a text for people, by label.
    """

    base_key: str
    name: str
    purpose: str
    fields: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, key: FieldKey, name: str) -> FieldsRecord:
        """Return the record of a key."""
        texts = key.texts()
        fields = {label: (digest, texts[label]) for label, digest in key.digests.items()}
        return cls(key.hexdigest(), name, key.hexdigest(without=TOOLS), fields)

    @classmethod
    def read(cls, data: bytes, base_key: str) -> FieldsRecord:
        """Return the record in a file's bytes.

        Raises
        ------
        ValueError
            They are no record of that key.
        """
        content = unseal(data, _seal_name(base_key))
        rows = content.get("fields")
        if content.get("schema") != _SCHEMA or not isinstance(rows, dict):
            raise ValueError("it is no record of fields of this version")
        fields = {label: (str(digest), str(text)) for label, (digest, text) in rows.items()}
        return cls(base_key, str(content.get("name")), str(content.get("purpose")), fields)

    def to_bytes(self) -> bytes:
        """Return the record as the bytes of a file."""
        return seal(self._content(), _seal_name(self.base_key))

    def write(self, path: str) -> None:
        """Write the record to a file of the cache; raises OSError."""
        write_sealed(path, _seal_name(self.base_key), self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "schema": _SCHEMA,
            "name": self.name,
            "purpose": self.purpose,
            "fields": self.fields,
        }

    def differing(self, other: FieldsRecord) -> list[str]:
        """Return the labels of the fields that are not the same in another record."""
        ours, theirs, none = self.fields, other.fields, ("", "")
        labels = dict.fromkeys((*ours, *theirs))
        return [x for x in labels if ours.get(x, none)[0] != theirs.get(x, none)[0]]

    def explain(self, others: Iterable[FieldsRecord], *, without: Collection[str] = ()) -> str:
        """Return how this differs from the nearest of others, for people.

        Parameters
        ----------
        others : iterable of FieldsRecord
            The newest first, of which the first of those is taken that differ in the fewest fields.
        without : collection of str
            The labels of fields that do not matter.
        """
        rows = [([x for x in self.differing(y) if x not in without], y) for y in others]
        if not rows:
            return f"nothing was built under the name {self.name!r}"
        labels, nearest = min(rows, key=lambda row: len(row[0]))
        if not labels:
            return "what was built from the same is not there any more"
        shown = [self._compared(x, nearest) for x in labels[:_MOST_SHOWN]]
        others_too = labels[_MOST_SHOWN:]
        more = f"; {', '.join(others_too)} differ, too" if others_too else ""
        return f"compared with the nearest entry, {'; '.join(shown)}{more}"

    def _compared(self, label: str, other: FieldsRecord) -> str:
        new, old = self._text(label), other._text(label)
        return f"{label} is {new}, was {old}" if new != old else f"{label} differs after {new}"

    def _text(self, label: str) -> str:
        text = self.fields[label][1] if label in self.fields else ""
        short = text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
        return repr(short) if short else "not given"


def index(root: str, entry: Entry) -> None:
    """Put an entry's record where it is looked for; an entry without one, or a full disk, is fine.

    Parameters
    ----------
    root : str
        The cache folder.
    entry : Entry
        What was published in it.
    """
    base_key = str(entry.manifest.get("base_key"))
    if FILE not in entry.manifest["files"] or not is_key(base_key):
        return
    with contextlib.suppress(OSError, ValueError):
        record = FieldsRecord.read(read_regular(os.path.join(entry.path, FILE)), base_key)
        for group in (_of_name(record.name), _of_purpose(record.purpose)):
            folder = os.path.join(root, "fields", group)
            make_folder(folder, root)
            record.write(os.path.join(folder, f"{base_key}.json"))


def of_same_name(roots: Iterable[str], name: str) -> list[FieldsRecord]:
    """Return the newest records of a module's name in some cache folders."""
    found = _newest(roots, _of_name(name), most=_MOST_COMPARED)
    return [x for x in found if x.name == name]


def of_same_purpose(roots: Iterable[str], purpose: str) -> list[FieldsRecord]:
    """Return the newest records of what was built from the same, by whichever tools."""
    found = _newest(roots, _of_purpose(purpose), most=_MOST_READ)
    return [x for x in found if x.purpose == purpose]


def _newest(roots: Iterable[str], group: str, *, most: int) -> Iterator[FieldsRecord]:
    found = []
    for root in roots:
        with contextlib.suppress(OSError), os.scandir(os.path.join(root, "fields", group)) as files:
            found += [(x.stat().st_mtime, x.path) for x in files if x.name.endswith(".json")]
    for _, path in sorted(found, reverse=True)[:most]:
        with contextlib.suppress(OSError, ValueError, TypeError):
            base_key = os.path.basename(path).removesuffix(".json")
            yield FieldsRecord.read(read_regular(path), base_key)


def _of_name(name: str) -> str:
    return hashlib.sha256(b"name\0" + name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _of_purpose(purpose: str) -> str:
    return hashlib.sha256(b"purpose\0" + purpose.encode()).hexdigest()[:16]


def _seal_name(base_key: str) -> str:
    return f"fields/{base_key}"
