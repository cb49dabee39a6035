"""The version of the form in which modules and descriptions say how their functions launch."""

from __future__ import annotations

__all__ = ["SCHEMA", "SchemaError", "check_schema", "newer_hint"]

SCHEMA = "2.0"
"""What is written. A minor version adds what older readers may pass over, a major one does not."""

_MAJOR, _MINOR = map(int, SCHEMA.split("."))


class SchemaError(ValueError):
    """Something has a form that this version does not read."""


def check_schema(schema: object, what: str) -> None:
    """Refuse what this version does not read; `what` is what messages call the document.

    Raises
    ------
    SchemaError
        It is of another major version, or no version.
    """
    # The form before this one had a number.
    text = "1.0" if schema == 1 and type(schema) is int else schema
    parts = text.split(".") if isinstance(text, str) else []
    if len(parts) != 2 or not all(map(_is_number, parts)):
        raise SchemaError(
            f"{what}: its schema is {schema!r}, wanted major.minor as a str, such as {SCHEMA!r}"
        )
    major = int(parts[0])
    reads = f"its schema is {schema!r}, this version of tvmffi_cubin reads {_MAJOR}.x"
    if major > _MAJOR:
        raise SchemaError(f"{what}: {reads}: upgrade tvmffi_cubin, or have it written as {SCHEMA}")
    if major < _MAJOR:
        raise SchemaError(
            f"{what}: {reads}: build it again with this version, or read it with the one that made "
            "it"
        )


def newer_hint(schema: object) -> str:
    """Return what to add to an error in a document of a newer minor version; of others nothing."""
    parts = schema.split(".") if isinstance(schema, str) else []
    is_version = len(parts) == 2 and all(map(_is_number, parts))
    if not is_version or int(parts[0]) != _MAJOR or int(parts[1]) <= _MINOR:
        return ""
    return f" (its schema is {schema}, newer than {SCHEMA}: an upgrade of tvmffi_cubin may read it)"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6 and str(int(text)) == text
