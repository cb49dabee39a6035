"""Figures of a tensor map by dimensions, and those of memory that is not as a tensor has it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from .figures import Figure, check_figure, is_unordered, plain

__all__ = ["MAX_RANK", "checked_extents", "figure_sequence"]

MAX_RANK = 5
"""The most dimensions that a map has."""

_ALIGN = 16
_WIDE_TYPES = ("16u4_align16b", "16u6_align16b")


def figure_sequence(name: str, value: object, most: int, *, least: int = 1) -> tuple[Figure, ...]:
    """Return a figure, or a sequence of `least` to `most`, as a tuple.

    Raises
    ------
    TypeError, ValueError
        It is something else; the message has the name.
    """
    value = plain(value)
    if isinstance(value, int | str):
        value = (value,)
    if is_unordered(value) or not isinstance(value, Iterable):
        raise TypeError(
            f"TensorMap: {name} is an int, an expression or a sequence of them, got "
            f"{type(value).__name__}"
        )
    # What has no end is not read to it.
    figures = tuple(map(plain, islice(value, most + 1)))
    if not least <= len(figures) <= most:
        raise ValueError(f"TensorMap: {name} has {least} to {most} dimensions, got {len(figures)}")
    return figures


def checked_extents(
    global_dim: Any, global_strides: Any, *, rank: int, dtype: str | None, interleave: str
) -> tuple[tuple[Figure, ...] | None, tuple[Figure, ...] | None]:
    """Return a map's own dimensions and strides as tuples; None where they are not given.

    Raises
    ------
    TypeError, ValueError
        They are no figures, out of range, or of another rank than the map.
    """
    if global_dim is None:
        if global_strides is not None:
            raise TypeError("TensorMap: global_strides is given without global_dim")
        return None, None
    dims = figure_sequence("global_dim", global_dim, MAX_RANK)
    if len(dims) != rank:
        raise ValueError(f"TensorMap: global_dim has {len(dims)} dimensions, wanted {rank}")
    for i, figure in enumerate(dims):
        check_figure(f"TensorMap: global_dim[{i}]", figure, least=1, most=2**32)
    if global_strides is None:
        return dims, None
    strides = figure_sequence("global_strides", global_strides, MAX_RANK, least=0)
    if len(strides) != rank - 1:
        raise ValueError(
            f"TensorMap: global_strides has {len(strides)} dimensions, wanted {rank - 1}: all of "
            "global_dim's but the innermost"
        )
    align = 2 * _ALIGN if interleave == "32B" or dtype in _WIDE_TYPES else _ALIGN
    for i, figure in enumerate(strides):
        what = f"TensorMap: global_strides[{i}]"
        check_figure(what, figure, most=2**40 - 1)
        if isinstance(figure, int) and figure % align:
            raise ValueError(f"{what} is {figure} bytes, wanted a multiple of {align}")
    # There is nothing to say of a single dimension.
    return dims, strides or None
