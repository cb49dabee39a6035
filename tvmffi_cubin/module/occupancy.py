"""`Occupancy`: how much of a kernel fits on a device at once; and the table shown in notebooks."""

from __future__ import annotations

import html
import json
import math
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import CubinError, bare
from ..kernels.demangle import demangle
from .stream import device_ordinal

if TYPE_CHECKING:
    from .function import Function

_CLUSTER = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
_HEADINGS = ("function", "kernel", "registers", "shared memory", "local memory", "occupancy")


class Occupancy(NamedTuple):
    """How much of a kernel fits on a device at once, for one block and cluster shape.

    Attributes
    ----------
    device, threads : int
        The device, and the threads per block.
    blocks_per_sm, threads_per_sm : int
        Blocks of this shape that fit on a multiprocessor, and the most threads it can hold.
    max_cooperative_blocks : int
        Blocks in the largest cooperative grid; 0 if the device has none.
    max_cluster_blocks, max_active_clusters : int
        Blocks in the largest cluster, also beyond the portable 8 (1 if the device has no clusters,
        0 if no block fits); clusters of the given size that fit on the device (0 without one).
    max_dynamic_smem_bytes : int
        The maximum dynamic shared memory per block.
    """

    device: int
    threads: int
    blocks_per_sm: int
    threads_per_sm: int
    max_cooperative_blocks: int
    max_cluster_blocks: int
    max_active_clusters: int
    max_dynamic_smem_bytes: int

    @property
    def fraction(self) -> float:
        """The fraction of a multiprocessor's threads that this kernel can use."""
        return self.blocks_per_sm * self.threads / self.threads_per_sm


@bare
def occupancy(function: Function, device: Any) -> Occupancy:
    """Implement `Function.occupancy`."""
    kernels = function._kernels
    if len(kernels) != 1:
        raise ValueError(f"{function.name}.occupancy: expected one kernel, got {len(kernels)}")
    rows = function._module.manifest["kernels"]
    number = [(image, symbol) for symbol, _, image in rows].index(kernels[0])
    given = dict(function._options)
    if _CLUSTER in given:
        given["cluster"] = struct.unpack_from("<3I", given[_CLUSTER])
    launches = [{"dynamic_smem_bytes": 0, "cluster": [0], **x, **given} for x in function._launches]
    shape: list[int] = []
    for name, count in (("block", 3), ("dynamic_smem_bytes", 1), ("cluster", 3)):
        first, *others = (launch.get(name) for launch in launches)
        figures = first if isinstance(first, list | tuple) else [first]
        if not all(isinstance(x, int) for x in figures) or any(x != first for x in others):
            raise TypeError(f"{function.name}.occupancy: {name} is unknown before a call: set it")
        shape += (*figures, 1, 1)[:count]
    text = function._module._entry("occupancy")(number, device_ordinal(device), *shape)
    where, *figures = json.loads(str(text))
    return Occupancy(where, math.prod(shape[:3]), *figures)


def table(functions: Iterable[Function]) -> str:
    """Return an HTML table with a row for each kernel that the functions launch."""
    lines = [_line("th", _HEADINGS)]
    for function in functions:
        try:
            found = function.occupancy()
            fits = f"{found.fraction:.0%} of {found.threads} threads a block"
        except (CubinError, TypeError, ValueError):  # no GPU, or the caller sets the shape
            fits = ""
        kernels = {(image, x.name): x for image, y in function._cubins.items() for x in y.kernels}
        for kernel in (kernels[x] for x in function._kernels if x in kernels):
            memory = (f"{kernel.static_smem_bytes} B", f"{kernel.local_bytes} B")
            cells = (function.name, demangle(kernel.name), str(kernel.registers), *memory, fits)
            lines.append(_line("td", cells))
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(x)}</{tag}>' for x in cells)}</tr>"
