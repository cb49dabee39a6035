"""`Occupancy`: how much of a kernel fits a device at once."""

from __future__ import annotations

import json
import math
import operator
import struct
from collections.abc import Mapping
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


def occupancy(function: Function, given: Mapping[str, Any], device: Any) -> Occupancy:
    """Return what `Function.occupancy` documents; what of `given` is None is the launch's."""
    kernels = function._kernels
    if len(kernels) != 1:
        raise ValueError(f"{function.name}.occupancy: the function launches {len(kernels)} kernels")
    rows = function._module.manifest["kernels"]
    number = [(image, symbol) for symbol, _, image in rows].index(kernels[0])
    options = function._options or Options()
    cluster = dict(options.attributes).get(_CLUSTER)
    own = {**options._asdict(), "cluster": cluster and struct.unpack_from("<3I", cluster)}
    known = {}
    for name, value in given.items():
        value = own[name] if value is None else value
        known[name] = _constant(function, name) if value is None else value
    block, clusters = (dimensions(name, known[name]) for name in ("block", "cluster"))
    smem = operator.index(known["dynamic_smem_bytes"])
    shape = [*block, smem, *clusters]
    wanted = block if clusters[0] == 0 else (*block, *clusters)
    # The launcher divides by the dimensions, and takes all for 32 bits without a sign.
    if min(wanted) < 1 or smem < 0 or max(shape) >= 2**32:
        raise ValueError(
            f"block is {block}, dynamic_smem_bytes is {smem}, cluster is {clusters}: wanted 1 or "
            "more in each dimension, and 0 bytes or more"
        )
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
        raise TypeError(f"{function.name}.occupancy: {name} is not known before a call: give it")
    return first
