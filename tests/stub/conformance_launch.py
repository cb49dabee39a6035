"""The questions about what launches carry: clusters, their occupancy, events, policies."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conformance import Dim3, Driver

C = ctypes
COOPERATIVE, CLUSTER, POLICY, PDL, EVENT, PRIORITY = 2, 4, 5, 6, 7, 8
DOMAIN_MAP, DOMAIN, PREFERRED, COMPLETION, CARVEOUT = 9, 10, 11, 12, 14
MAX_THREADS, NON_PORTABLE = 0, 14
DISABLE_TIMING = 2
WARP: Dim3 = (32, 1, 1)


def counted(d: Driver, question: str, function: str, kernel: C.c_void_p, *shape: object) -> None:
    """Ask for a number of clusters, which differs from device to device: is there one?"""
    grid, block, smem, attributes = shape
    config = d.config(grid, block, smem=smem, attributes=attributes)  # type: ignore[arg-type]
    count = C.c_int(-1)
    result = getattr(d.lib, function)(C.byref(count), kernel, C.byref(config))
    shown = count.value if function.endswith("ClusterSize") else count.value > 0
    d.ask(question, result, *([shown] if result == 0 else []))


def cluster_occupancy(d: Driver) -> None:
    library = d.library()
    plain, paired = d.kernel(library, "plain"), d.kernel(library, "paired")
    largest, active = "cuOccupancyMaxPotentialClusterSize", "cuOccupancyMaxActiveClusters"
    for allowed in (0, 1):
        d.need("cuKernelSetAttribute", NON_PORTABLE, allowed, plain, 0)
        label = "non-portable" if allowed else "portable"
        for grid in ((64, 1, 1), (1, 1, 1), (3, 1, 1)):
            counted(
                d, f"largest {label} cluster, grid {grid[0]}", largest, plain, grid, WARP, 0, ()
            )
        counted(
            d, f"largest {label}, 1024 threads", largest, plain, (64, 1, 1), (1024, 1, 1), 0, ()
        )
        for x in (1, 2, 3, 8, 16, 32):
            asked = [(CLUSTER, (x, 1, 1))]
            shape = ((x, 1, 1), WARP, 0, asked)
            counted(d, f"active {label} clusters of {x}", active, plain, *shape)
    counted(d, "active clusters of 0", active, plain, WARP, WARP, 0, [(CLUSTER, (0, 1, 1))])
    counted(d, "active clusters, none asked for", active, plain, WARP, WARP, 0, ())
    indivisible = ((3, 1, 1), WARP, 0, [(CLUSTER, (2, 1, 1))])
    counted(d, "active clusters, grid not divisible", active, plain, *indivisible)
    nobody = (WARP, (0, 1, 1), 0, [(CLUSTER, (2, 1, 1))])
    counted(d, "active clusters, no threads", active, plain, *nobody)
    counted(d, "largest cluster, 1025 threads", largest, plain, WARP, (1025, 1, 1), 0, ())
    counted(d, "largest cluster, 49153 bytes", largest, plain, WARP, WARP, 49153, ())
    counted(d, "active clusters, 1025 threads", active, plain, WARP, (1025, 1, 1), 0,
            [(CLUSTER, (2, 1, 1))])  # fmt: skip
    counted(d, "largest of a fixed cluster", largest, paired, (4, 1, 1), WARP, 0, ())
    counted(d, "active clusters of a fixed size", active, paired, (4, 1, 1), WARP, 0, ())
    four = [(CLUSTER, (4, 1, 1))]
    counted(d, "active clusters of another size", active, paired, (4, 1, 1), WARP, 0, four)
    counted(d, "active clusters of no kernel", active, C.c_void_p(), WARP, WARP, 0, four)


def cluster_launches(d: Driver) -> None:
    library, one = d.library(), d.params(d.memory())
    plain = d.kernel(library, "plain")

    def ask(question: str, grid: Dim3, *attributes: tuple[int, tuple[int, ...]]) -> None:
        d.ask(question, d.launch(plain, grid, WARP, one, attributes=attributes))

    two, together = (CLUSTER, (2, 1, 1)), (COOPERATIVE, (1,))
    ask("cluster and cooperative", (4, 1, 1), two, together)
    ask("cluster and cooperative, too many", (1 << 20, 1, 1), two, together)
    ask("cluster, policy and dependent launch", (4, 1, 1), two, (POLICY, (1,)), (PDL, (1,)))
    ask("all of that and cooperative", (4, 1, 1), two, (POLICY, (1,)), (PDL, (1,)), together)
    for policy in (0, 1, 2, 3):
        ask(f"cluster scheduling policy {policy}", (4, 1, 1), two, (POLICY, (policy,)))
    for preferred, grid in (((4, 1, 1), 8), ((4, 1, 1), 6), ((3, 1, 1), 6), ((2, 1, 1), 4),
                            ((16, 1, 1), 16), ((0, 1, 1), 4)):  # fmt: skip
        question = f"preferred cluster {preferred}, grid {grid}"
        ask(question, (grid, 1, 1), two, (PREFERRED, preferred))
    ask("preferred cluster deeper than the cluster", (2, 1, 2), two, (PREFERRED, (2, 1, 2)))
    ask("preferred cluster without a cluster", (4, 1, 1), (PREFERRED, (4, 1, 1)))
    preferred = [(PREFERRED, (4, 1, 1))]
    result = d.launch(d.kernel(library, "paired"), (8, 1, 1), WARP, one, attributes=preferred)
    d.ask("preferred cluster of a fixed one", result)
    ask("the cluster given twice", (4, 1, 1), (CLUSTER, (4, 1, 1)), two)


def large_fixed_cluster(d: Driver) -> None:
    wide, one = d.kernel(d.library("wide.cubin"), "wide"), d.params(d.memory())
    largest, active = "cuOccupancyMaxPotentialClusterSize", "cuOccupancyMaxActiveClusters"
    for label, allowed in (("not allowed", 0), ("allowed", 1)):
        if allowed:
            d.need("cuKernelSetAttribute", NON_PORTABLE, 1, wide, 0)
        d.ask(f"fixed cluster of 16, {label}", d.launch(wide, (16, 1, 1), WARP, one))
        counted(d, f"its largest cluster, {label}", largest, wide, (16, 1, 1), WARP, 0, ())
        counted(d, f"its active clusters, {label}", active, wide, (16, 1, 1), WARP, 0, ())


def other_attributes(d: Driver) -> None:
    plain, one = d.kernel(d.library(), "plain"), d.params(d.memory())
    timed, untimed = d.handle("cuEventCreate", 0), d.handle("cuEventCreate", DISABLE_TIMING)
    for label, event in (("timed", timed), ("untimed", untimed), ("no", C.c_void_p())):
        address = event.value or 0
        value = (address & 0xFFFFFFFF, address >> 32)
        for name, number in (("programmatic", EVENT), ("completion", COMPLETION)):
            result = d.launch(plain, WARP, WARP, one, attributes=[(number, value)])
            d.ask(f"{name} event, {label} event", result)
    for name, number, values in (("domain", DOMAIN, (0, 1, 2)), ("priority", PRIORITY, (0, 99)),
                                 ("domain map", DOMAIN_MAP, (0, 0x0100, 0xFFFF, 0x0303, 4)),
                                 ("carveout", CARVEOUT, (0, 100, 101))):  # fmt: skip
        for value in values:
            result = d.launch(plain, WARP, WARP, one, attributes=[(number, (value,))])
            d.ask(f"{name} of {value}", result)
    d.ask("the device stands after these", d.lib.cuCtxSynchronize())


def parameter_sizes_without_context(d: Driver) -> None:
    kernel = d.kernel(d.library(), "saxpy")
    offset, size = C.c_size_t(), C.c_size_t()
    result = d.lib.cuKernelGetParamInfo(kernel, 4, C.byref(offset), C.byref(size))
    d.ask("parameter 4 of 4", result)
    popped = d.handle("cuCtxPopCurrent_v2")
    for index in (1, 4):
        result = d.lib.cuKernelGetParamInfo(kernel, index, C.byref(offset), C.byref(size))
        shown = [offset.value, size.value] if result == 0 else []
        d.ask(f"parameter {index} without a context", result, *shown)
    name, value = C.c_char_p(), C.c_int()
    d.ask("a kernel's name without a context", d.lib.cuKernelGetName(C.byref(name), kernel))
    result = d.lib.cuKernelGetAttribute(C.byref(value), MAX_THREADS, kernel, 0)
    d.ask("a kernel's threads without a context", result, value.value)
    d.need("cuCtxPushCurrent_v2", popped)


SECTIONS = (
    cluster_occupancy, cluster_launches, large_fixed_cluster, other_attributes,
    parameter_sizes_without_context,
)  # fmt: skip
