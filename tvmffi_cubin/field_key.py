"""`FieldKey`: a key that knows its fields: the digest of each, and a short text for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from .key import Key, Value, digest_of

__all__ = ["LONGEST_TEXT", "FieldKey"]

LONGEST_TEXT = 200
"""How many characters of a field people are shown."""


class FieldKey:
    """A set of labelled fields, each with a digest of its own; the key is the digest of those.

    The order in which fields are added does not count. An empty sequence or mapping is the same as
    no field: what a label is added with is either always or never one.

    Parameters
    ----------
    purpose : str
        What the key is for; keys of different purposes never meet.
    """

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._values: dict[str, Value] = {}
        self._digests: dict[str, str] = {}

    def add(self, label: str, value: Value, *, shown: Value = None) -> FieldKey:
        """Add one field and return this key.

        Parameters
        ----------
        label : str
            An identifier.
        value : Value
            What the key depends on.
        shown : Value, optional
            What people are shown of it. Default: all of it.

        Raises
        ------
        TypeError
            If a value is of a type that has no unambiguous encoding.
        ValueError
            If the label is no identifier, or is there already.
        """
        if not label.isidentifier() or label in self._values:
            raise ValueError(f"key field {label!r} is no identifier, or there are two of it")
        self._values[label] = value if shown is None else shown
        if isinstance(value, (list, tuple, dict)) and not value:
            return self
        try:
            self._digests[label] = digest_of(value)
        except TypeError as error:
            raise TypeError(f"key field {label!r}: {error}") from None
        return self

    @property
    def digests(self) -> Mapping[str, str]:
        """Each field's digest, by label."""
        return self._digests

    def texts(self) -> dict[str, str]:
        """Return what each field is, by label, in at most `LONGEST_TEXT` characters."""
        return {label: _shown(self._values[label]) for label in self._digests}

    def hexdigest(self, *, without: Collection[str] = ()) -> str:
        """Return the digest of the fields, but for some: 64 hexadecimal digits."""
        # One text, since a label holds no space and a digest no line's end.
        rows = [f"{x} {self._digests[x]}" for x in sorted(self._digests) if x not in without]
        return Key(self._purpose).add("fields", "\n".join(rows)).hexdigest()


def _shown(value: Value) -> str:
    text = ""
    for part in _parts(value):
        text = f"{text} {part}" if text else part
        if len(text) > LONGEST_TEXT:
            return text[: LONGEST_TEXT - 3] + "..."
    return text


def _parts(value: Value) -> Iterator[str]:
    """Yield what people want to see of a value; what is None or empty says nothing."""
    if isinstance(value, str):
        lines = value.strip().split("\n", 1)
        more = len(lines) > 1
        yield f"({len(value)} characters) {lines[0]} ..." if more else lines[0]
    elif isinstance(value, (bytes, bytearray, memoryview)):
        # Another image of the same kernels often has as many.
        yield f"({memoryview(value).nbytes} bytes, {digest_of(value)[:8]})"
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield f"{name}:"
            yield from _parts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _parts(item)
    elif value is not None:
        yield str(value)
