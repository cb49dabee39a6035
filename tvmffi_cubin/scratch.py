"""`Scratch`: device memory that a launch has for itself, as a value of ``Launch(args=...)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from .figures import Figure, check_figure, plain

__all__ = ["Scratch"]

_MOST = 2**48
_MOST_ALIGN = 2**20


@dataclass(frozen=True)
class Scratch:
    """Device memory that is allocated for one launch and given back after it, in stream order.

    It is ``bytes + bytes_per_block * (blocks of the grid)`` large, and not initialised; where that
    is 0, the kernel gets a null pointer. It comes from the allocator of the tensors that the
    function is called with, where they have one (torch's), and from ``cuMemAllocAsync`` otherwise:
    where they have none, where the launch goes to another stream than the one that is current for
    them, and where it may overlap with the launch before it (programmatic dependent launch).

    Parameters
    ----------
    bytes : int or str
        Size in bytes, or an expression that gives it.
    bytes_per_block : int or str
        Size in bytes for each block of the grid, or an expression.
    align : int
        What its address is a multiple of, in bytes; a power of two.

    Raises
    ------
    TypeError, ValueError
        A figure is of the wrong type or no expression, or `align` is no power of two.
    """

    bytes: Figure = 0
    bytes_per_block: Figure = 0
    align: int = 256

    def __post_init__(self) -> None:
        for name, figure in self.figures():
            object.__setattr__(self, name, plain(figure))
            check_figure(f"Scratch: {name}", plain(figure), most=_MOST)
        align = plain(self.align)
        if isinstance(align, bool) or not isinstance(align, int):
            raise TypeError(f"Scratch: align is an int, got {type(align).__name__}")
        if not 1 <= align <= _MOST_ALIGN or align & (align - 1):
            raise ValueError(
                f"Scratch: align is {align}, wanted a power of two from 1 to {_MOST_ALIGN}"
            )
        object.__setattr__(self, "align", align)

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Yield each figure with its field's name."""
        yield "bytes", self.bytes
        yield "bytes_per_block", self.bytes_per_block

    def with_figures(self, change: Callable[[str, Figure], Figure]) -> Scratch:
        """Return it with each figure changed; `change` gets its field's name and the figure."""
        changed: dict[str, Any] = {name: change(name, x) for name, x in self.figures()}
        return replace(self, **changed)

    def fields(self) -> dict[str, Any]:
        """Return everything here as values for a key."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
