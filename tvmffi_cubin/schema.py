"""The version of the form in which modules and descriptions say how their functions launch."""

from __future__ import annotations

SCHEMA = "2.0"
"""What is written. Any minor version of it is read."""


def check_schema(schema: object, what: str) -> None:
    """Raise ValueError for other major versions; `what` is what messages call the document."""
    major = SCHEMA.partition(".")[0]
    if not isinstance(schema, str) or schema.partition(".")[0] != major:
        raise ValueError(
            f"{what}: its schema is {schema!r}, this version of tvmffi_cubin reads {major}.x: "
            "use the version that made it, or make it again"
        )
