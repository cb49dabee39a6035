"""How kernels are launched: `Launch` and its values, expressions, and their one JSON form.

Takes what users write, returns checked values. Never looks at a kernel or an image: `functions`
binds launches to kernels, and the launcher checks the device's limits.
"""

from __future__ import annotations

SCHEMA = "2.0"
"""The version of the JSON form to write. Any minor version of it can be read."""


def check_schema(schema: object, what: str) -> None:
    """Raise ValueError for other major versions; messages call the document `what`."""
    if str(schema).partition(".")[0] != "2":
        raise ValueError(
            f"{what}: unsupported schema {schema!r}; this version of tvmffi_cubin reads 2.x: "
            "use the version that wrote it, or regenerate it"
        )
