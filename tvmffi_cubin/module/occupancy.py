"""`Occupancy`: how much of a kernel fits a device at once."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .configured import options_of
from .options import Options, device_ordinal, dimensions, integer

if TYPE_CHECKING:
    from .function import Function

_CLUSTER = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class Occupancy(NamedTuple):
    """How much of a kernel fits a device at once, in one shape of block and cluster.

    Attributes
    ----------
    device : int
        The device.
    threads : int
        Of a block.
    blocks_per_sm : int
        Blocks that one multiprocessor holds; 0: it cannot have one of this shape.
    threads_per_sm : int
        Threads that a multiprocessor can hold, of whatever kernel.
    max_cooperative_blocks : int
        Blocks of the largest cooperative grid; 0 where the device has none.
    max_cluster_blocks : int
        Blocks of the largest cluster, beyond the portable 8 where the device has it, and no more
        than the kernel fixes; 1 where the device has no clusters, 0 where no block fits.
    max_active_clusters : int
        Clusters of the given size that the device holds; 0 without a cluster.
    registers : int
        Of a thread.
    static_smem_bytes : int
        Static shared memory of a block.
    local_bytes : int
        Local memory of a thread, where registers are spilled to.
    max_threads : int
        The most threads that a block can have.
    max_dynamic_smem_bytes : int
        The most dynamic shared memory that a block can have, all of it opted into.
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
        """Threads that a multiprocessor holds of this kernel, of those that it can hold."""
        return self.blocks_per_sm * self.threads / self.threads_per_sm


def occupancy(
    function: Function,
    block: Any,
    dynamic_smem_bytes: Any,
    *,
    cluster: Any,
    kernel: str | None,
    device: Any,
) -> Occupancy:
    """Return what `Function.occupancy` documents."""
    row, shape = _kernel(function, kernel)
    shape.update(_configured_shape(options_of(function)))
    given = {"block": block, "dynamic_smem_bytes": dynamic_smem_bytes, "cluster": cluster}
    for name, value in given.items():
        if value is not None:
            shape[name] = value
        elif name not in shape:
            raise TypeError(
                f"{function.name}.occupancy: {name} is not known before a call: give {name}="
            )
    x, y, z = sizes = _positive("block", shape["block"])
    smem = integer("dynamic_smem_bytes", shape["dynamic_smem_bytes"])
    if smem < 0:
        raise ValueError(f"dynamic_smem_bytes is {smem}, wanted 0 or more")
    clusters = (0, 0, 0)
    if shape["cluster"] is not None:
        clusters = _positive("cluster", shape["cluster"])
    ordinal = device_ordinal(device)
    ask = function._module._entry("occupancy")
    text = ask(row, -1 if ordinal is None else ordinal, *sizes, smem, *clusters)
    where, *found = json.loads(str(text))
    return Occupancy(where, x * y * z, *found)


def _kernel(function: Function, wanted: str | None) -> tuple[int, dict[str, Any]]:
    """Return the launcher's number of a kernel, and what is constant of its launch."""
    kernels = function._module.manifest["kernels"]
    # Two images may have kernels of one symbol.
    rows = {(image, symbol): (i, name) for i, (symbol, name, image) in enumerate(kernels)}
    launches: dict[tuple[str, str], dict[str, Any]] = {}
    for facts in function._instances():
        for launch in facts["launches"]:
            kernel, shape = (launch["image"], launch["kernel"]), _constant_shape(launch)
            known = launches.setdefault(kernel, dict(shape))
            # A kernel that is launched in several ways has what they agree on.
            launches[kernel] = {x: known[x] for x in known if x in shape and known[x] == shape[x]}
    found = [x for x in launches if wanted is None or wanted in (x[1], rows[x][1])]
    if wanted and not found:
        found = [x for x in launches if wanted in rows[x][1]]
    if len(found) != 1:
        names = ", ".join(rows[x][1] for x in launches)
        got = "give one of them as kernel=" if wanted is None else f"got kernel={wanted!r}"
        raise ValueError(f"{function.name}.occupancy: the function launches {names}: {got}")
    return rows[found[0]][0], launches[found[0]]


def _constant_shape(launch: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of block, shared memory and cluster does not depend on a call."""
    given = {"dynamic_smem_bytes": 0, "cluster": None, **launch}
    names = ("block", "dynamic_smem_bytes", "cluster")
    return {name: given[name] for name in names if name in given and not _is_computed(given[name])}


def _is_computed(figure: Any) -> bool:
    return any(isinstance(x, str) for x in (figure if isinstance(figure, list) else [figure]))


def _configured_shape(options: Options) -> dict[str, Any]:
    cluster = options.attribute_values().get(_CLUSTER)
    shape = {
        "block": None if options.block_x is None else options[4:7],
        "dynamic_smem_bytes": options.dynamic_smem_bytes,
        "cluster": cluster and struct.unpack_from("<3I", cluster),
    }
    return {name: value for name, value in shape.items() if value is not None}


def _positive(what: str, value: Any) -> tuple[int, int, int]:
    sizes = dimensions(what, value)
    if min(sizes) < 1:
        raise ValueError(f"{what} is {sizes}, wanted 1 or more of each")
    return sizes
