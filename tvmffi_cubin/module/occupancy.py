"""`Occupancy`: how much of a kernel fits a device at once."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from .configured import Options, dimensions
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
    max_dynamic_smem_bytes : int
        The most dynamic shared memory that a block can have.
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
        """The part of a multiprocessor's threads that this kernel can use."""
        return self.blocks_per_sm * self.threads / self.threads_per_sm


def occupancy(function: Function, device: Any) -> Occupancy:
    """Return what `Function.occupancy` documents."""
    kernels = function._kernels
    if len(kernels) != 1:
        raise ValueError(f"{function.name}.occupancy: the function launches {len(kernels)} kernels")
    rows = function._module.manifest["kernels"]
    number = [(image, symbol) for symbol, _, image in rows].index(kernels[0])
    own = (function._options or Options())._asdict()
    if cluster := dict(own["attributes"]).get(_CLUSTER):
        own["cluster"] = struct.unpack_from("<3I", cluster)
    block, smem, cluster = (
        _constant(function, name) if own.get(name) is None else own[name]
        for name in ("block", "dynamic_smem_bytes", "cluster")
    )
    block = dimensions("block", block)
    if 0 in block:
        raise ValueError(f"block is {block}, wanted 1 or more in each dimension")
    shape = (*block, smem, *dimensions("cluster", cluster))
    text = function._module._entry("occupancy")(number, device_ordinal(device), *shape)
    where, *figures = json.loads(str(text))
    return Occupancy(where, math.prod(block), *figures)


def _constant(function: Function, name: str) -> Any:
    """Return the constant that all launches of a function's kernel have."""
    default = None if name == "block" else 0
    launches = [launch for instance in function._instances for launch in instance["launches"]]
    first, *others = (launch.get(name, default) for launch in launches)
    figures = first if isinstance(first, list) else [first]
    if not all(isinstance(x, int) for x in figures) or any(x != first for x in others):
        raise TypeError(f"{function.name}.occupancy: {name} is not known before a call: set it")
    return first
