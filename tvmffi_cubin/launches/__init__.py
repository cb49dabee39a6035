"""How kernels are launched: `Launch` and what it holds, expressions, and their one JSON form.

Takes what users write, gives checked values. Never looks at a kernel or an image: what a launch
means for one is in the room `functions`; limits of the device are the launcher's.
"""

from __future__ import annotations

SCHEMA = "2.0"
"""The version of the JSON form that is written. Any minor version of it is read."""


def check_schema(schema: object, what: str) -> None:
    """Raise ValueError for other major versions; `what` is what messages call the document."""
    if str(schema).partition(".")[0] != "2":
        raise ValueError(
            f"{what}: its schema is {schema!r}, this version of tvmffi_cubin reads 2.x: use the "
            "version that made it, or make it again"
        )
