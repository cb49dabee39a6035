"""The version of the form in which modules and descriptions say how their functions launch."""

from __future__ import annotations

__all__ = ["SCHEMA", "SchemaError", "check_schema"]

SCHEMA = "2.0"
"""What is written. Any minor version of it is read."""


class SchemaError(ValueError):
    """Something has a form that this version does not read."""


def check_schema(schema: object, what: str) -> None:
    """Refuse what this version does not read; `what` is what messages call the document.

    Raises
    ------
    SchemaError
        It is of another major version, or no version.
    """
    major = SCHEMA.partition(".")[0]
    if not isinstance(schema, str) or schema.partition(".")[0] != major:
        raise SchemaError(
            f"{what}: its schema is {schema!r}, this version of tvmffi_cubin reads {major}.x: "
            "use the version that made it, or make it again"
        )
