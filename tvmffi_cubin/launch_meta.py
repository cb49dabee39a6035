"""What a launch that leaves its grid to callers tells a grid's Python function."""

from __future__ import annotations

from collections.abc import Mapping

from .figures import check_figure

__all__ = ["check_meta"]


def check_meta(meta: object, blocks_per_program: object, *, is_free: bool) -> None:
    """Check a launch's `meta` and `blocks_per_program`; `is_free`: its grid is left to callers.

    Raises
    ------
    TypeError, ValueError
        They are of a wrong type, or the grid is given.
    """
    if meta is None:
        meta = {}
    if not isinstance(meta, Mapping):
        raise TypeError(f"Launch: meta maps names to constants, got {type(meta).__name__}")
    for name, value in meta.items():
        if not isinstance(name, str):
            raise TypeError(f"Launch: meta: a name is a str, got {type(name).__name__}")
        if value is not None and not isinstance(value, bool | int | float | str):
            raise TypeError(
                f"Launch: meta[{name!r}] is an int, float, bool, str or None, got "
                f"{type(value).__name__}"
            )
    if isinstance(blocks_per_program, str):
        raise TypeError("Launch: blocks_per_program is an int, got str")
    check_figure("Launch: blocks_per_program", blocks_per_program, least=1)
    if not is_free and (meta or blocks_per_program != 1):
        raise ValueError(
            "Launch: meta and blocks_per_program are for a grid that callers give: leave out grid="
        )
