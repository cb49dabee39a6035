"""CPU time to issue an empty kernel (three pointers, one int), all peers in one process.

One process, so that all have the same CUDA context and clocks; the peers take turns in rounds of
launches, between which the device is waited for. Each peer is checked before it is timed: with
n = -1 the kernel writes. A peer that kills the process is left out, and the rest measured anew.
"""

from __future__ import annotations

import gc
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

import launch_peers
import tools
from child import announce, explain
from section import Job, Peer, Sample, Section, Settings, Skip, Task, missing

TABLE = "launch of an empty kernel"
CASE = ""
ROUNDS = 60
QUICK_ROUNDS = 5
ALL = "all"
N, WRITES = 7, -1
# The exit status of a process whose CUDA context is of no more use.
BROKEN = 70

PEERS = (
    Peer(
        "floor",
        "C++ loop of cuLaunchKernelEx",
        "a loop in C++ with nothing else in it: the floor; one Python call for all launches",
    ),
    Peer(
        "tvmffi_cubin",
        "tvmffi_cubin, no wrapper",
        "mod.k(a, b, c, n): four arguments checked, stream and device looked up",
    ),
    *(
        Peer(
            f"tvmffi_cubin_of_{count}",
            f"tvmffi_cubin, the last of {count} instances",
            f"mod.k(a, b, c, n): one function over {count} dtypes, of which the last fits",
        )
        for count in (2, 4, 8)
    ),
    Peer("tvmffi_cubin_brackets", "tvmffi_cubin, k[grid, block](...)", "mod.k[1, 32](a, b, c, n)"),
    Peer(
        "tvmffi_cubin_configured",
        "tvmffi_cubin, k[grid, block] kept",
        "f(a, b, c, n) with f = mod.k[1, 32] made once",
    ),
    Peer(
        "tvmffi_cubin_wrapper",
        "tvmffi_cubin, own wrapper",
        "mod.run(a, b, c, n), the CUBIN launcher guide's wrapper over this package's header",
    ),
    Peer(
        "tvm_ffi",
        "tvm_ffi, hand-written wrapper",
        "mod.run(a, b, c, n), the same wrapper over tvm-ffi's header, built by nvcc",
    ),
    Peer(
        "cupy",
        "CuPy RawKernel",
        "kernel((1,), (32,), (a, b, c, n)): CuPy's arrays, n an np.int32 made once",
    ),
    Peer(
        "cuda_core",
        "cuda.core launch",
        "launch(stream, config, kernel, a.data_ptr(), ..., n): unchecked, n a c_int made once",
    ),
    Peer("triton", "Triton", "kernel[(1,)](a, b, c, n, num_warps=1)"),
    Peer(
        "torch_kernel",
        "torch.cuda._compile_kernel",
        "kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[a, b, c, n])",
    ),
)


def jobs(settings: Settings) -> list[Job]:
    return [Job(ALL, "", tuple((peer.name, TABLE, CASE) for peer in PEERS), few=True)]


def measure(task: Task) -> list[Sample]:
    """Check all peers, then time them in turns."""
    tools.need_gpu(task.settings.gpu, "nothing can be launched")
    arrays = launch_peers.arrays()
    ready: dict[str, tuple[Callable[[], None], int]] = {}
    samples = []
    for peer in PEERS:
        if peer.name in task.excluded:
            continue
        announce(peer.name)
        try:
            ready[peer.name] = checked(peer.name, arrays)
        except Skip as skip:
            samples += missing([(peer.name, TABLE, CASE)], str(skip), failed=False)
        except Exception as error:
            traceback.print_exc()
            end_if_broken()
            samples += missing([(peer.name, TABLE, CASE)], explain(error), failed=True)
    try:
        found = timed(ready, QUICK_ROUNDS if task.settings.quick else ROUNDS, launch_peers.wait)
    except Exception:
        traceback.print_exc()
        end_if_broken()
        raise
    return samples + [Sample(peer, TABLE, CASE, tuple(values)) for peer, values in found.items()]


def checked(peer: str, arrays: tuple[Any, Any, Any]) -> tuple[Callable[[], None], int]:
    """Return what to call, and how many launches a call is, once it has launched as it should."""
    return checked_by(getattr(launch_peers, peer)(*arrays), arrays)


def checked_by(
    launches: launch_peers.Launches, arrays: tuple[Any, Any, Any]
) -> tuple[Callable[[], None], int]:
    """Return the same of launches, once they have done as they should."""
    launch_peers.check(launches.make(WRITES), arrays[-1])
    return launches.make(N), launches.each


def end_if_broken() -> None:
    """End this process where an error has broken its CUDA context: it would be everybody's."""
    try:
        launch_peers.wait()
    except Exception:
        # At once: what libraries do on the way out would meet the same error.
        os._exit(BROKEN)


def timed(
    ready: dict[str, tuple[Callable[[], None], int]], rounds: int, wait: Callable[[], None]
) -> dict[str, list[float]]:
    """Return microseconds a launch, by round; each peer has what to call, and launches a call."""
    found: dict[str, list[float]] = {peer: [] for peer in ready}
    # As timeit does: a collection would fall on whoever's turn it is.
    gc.disable()
    for number in range(rounds + 1):
        for peer, (call, each) in ready.items():
            announce(peer)
            repeat = range(launch_peers.CALLS // each)
            wait()
            start = time.perf_counter()
            for _ in repeat:
                call()
            seconds = time.perf_counter() - start
            # The first round warms up: allocators, lazily made driver state.
            if number > 0:
                found[peer].append(seconds / launch_peers.CALLS * 1e6)
    wait()
    gc.enable()
    return found


SECTION = Section(
    name="launch",
    title="Launch overhead",
    about=(
        f"CPU time to issue an empty kernel with three pointers and an int: {ROUNDS} rounds of "
        f"{launch_peers.CALLS} launches each, the peers in turns in one process. Arguments are "
        "torch's tensors, but CuPy's own arrays for CuPy. All Python peers are called from the "
        "same loop, which is part of their figure."
    ),
    peers=PEERS,
    units={TABLE: "us"},
    references={TABLE: "tvmffi_cubin"},
    jobs=jobs,
    measure=measure,
)
