"""`Occupancy`: how much of a kernel fits a device at once."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .configured import Options, dimensions, integer
from .stream import device_ordinal

if TYPE_CHECKING:
    from .function import Function

_CLUSTER = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class Occupancy(NamedTuple):
    """How much of a kernel fits on a device at once, for one shape of block and cluster.

    Attributes
    ----------
    device, threads : int
        The device, and the threads per block.
    blocks_per_sm, threads_per_sm : int
        Blocks of this shape that fit on a multiprocessor, and threads of any kernel that do.
    max_cooperative_blocks : int
        Blocks in the largest cooperative grid; 0 if the device has none.
    max_cluster_blocks, max_active_clusters : int
        Blocks in the largest cluster, also beyond the portable 8 (1 if the device has no clusters,
        0 if no block fits); clusters of the given size that fit on the device (0 without one).
    registers, local_bytes, static_smem_bytes : int
        Registers and bytes of spills per thread, static shared memory per block.
    max_threads, max_dynamic_smem_bytes : int
        The most threads, and the most dynamic shared memory, that a block can have.
    """

    device: int
    threads: int
    blocks_per_sm: int
    threads_per_sm: int
    max_cooperative_blocks: int
    max_cluster_blocks: int
    max_active_clusters: int
    registers: int
    static_smem_bytes: int
    local_bytes: int
    max_threads: int
    max_dynamic_smem_bytes: int

    @property
    def fraction(self) -> float:
        """The part of a multiprocessor's threads that this kernel can use."""
        return self.blocks_per_sm * self.threads / self.threads_per_sm


def occupancy(
    function: Function, given: Mapping[str, Any], kernel: str | None, device: Any
) -> Occupancy:
    """Return what `Function.occupancy` documents; what of `given` is None is the launch's."""
    row, shape = _kernel(function, kernel)
    options = function._options or Options()
    cluster = dict(options.attributes).get(_CLUSTER)
    own = {
        "block": options.block,
        "dynamic_smem_bytes": options.dynamic_smem_bytes,
        "cluster": cluster and struct.unpack_from("<3I", cluster),
    }
    shape.update((name, x) for name, x in (*own.items(), *given.items()) if x is not None)
    for name in given:
        values = shape.get(name)
        if name not in shape or any(isinstance(x, str) for x in _listed(values)):
            raise TypeError(
                f"{function.name}.occupancy: {name} is not known before a call: give it"
            )
    block = dimensions("block", shape["block"])
    clusters = (0, 0, 0) if shape["cluster"] is None else dimensions("cluster", shape["cluster"])
    smem = integer("dynamic_smem_bytes", shape["dynamic_smem_bytes"])
    # The launcher divides by these.
    if min(block) < 1 or (shape["cluster"] is not None and min(clusters) < 1):
        raise ValueError(f"block is {block}, cluster is {clusters}: wanted 1 or more of each")
    ordinal = device_ordinal(device)
    ask = function._module._entry("occupancy")
    text = ask(row, -1 if ordinal is None else ordinal, *block, smem, *clusters)
    where, *found = json.loads(str(text))
    return Occupancy(where, math.prod(block), *found)


def _kernel(function: Function, wanted: str | None) -> tuple[int, dict[str, Any]]:
    """Return the launcher's number of a kernel, and the shape in which it is launched."""
    # Two images may have kernels of one symbol.
    rows = {
        (image, symbol): (number, name)
        for number, (symbol, name, image) in enumerate(function._module.manifest["kernels"])
    }
    shapes: dict[tuple[str, str], dict[str, Any]] = {}
    for launch in (launch for facts in function._instances() for launch in facts["launches"]):
        kernel = (launch["image"], launch["kernel"])
        shape = {"dynamic_smem_bytes": 0, "cluster": None}
        shape |= {name: launch[name] for name in ("block", *shape) if name in launch}
        # A kernel that is launched in several ways has what they agree on.
        before = shapes.get(kernel, shape)
        shapes[kernel] = {x: y for x, y in shape.items() if x in before and before[x] == y}
    found = [x for x in shapes if wanted is None or wanted in (x[1], rows[x][1])]
    if len(found) != 1:
        names = ", ".join(rows[x][1] for x in shapes)
        raise ValueError(
            f"{function.name}.occupancy: the function launches {names}: give one as kernel="
        )
    return rows[found[0]][0], shapes[found[0]]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
