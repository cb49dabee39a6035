"""One Triton kernel, a vector addition, launched by this package and by Triton itself.

The launches are those of launch.py: in one process and in turns. Each peer is checked before it is
timed. The module is not called triton.py, which would come before Triton's own.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import kernels
import launch_peers
import tools
from child import announce, explain
from cold_peers import module_of
from launch import QUICK_ROUNDS, ROUNDS, end_if_broken, timed
from section import Job, Peer, Sample, Section, Settings, Skip, Task, missing

TABLE = "launch of a Triton kernel"
ALL = "all"
N, BLOCK = 16, 1024

PEERS = (
    Peer(
        "tvmffi_cubin",
        "tvmffi_cubin",
        "mod.add(a, b, c, n): the grid an expression, multiples of 16 checked",
    ),
    Peer("tvmffi_cubin_grid", "tvmffi_cubin, k[grid](...)", "mod.add[1](a, b, c, n)"),
    Peer(
        "tvmffi_cubin_function",
        "tvmffi_cubin, a grid in Python",
        'mod.add[lambda meta: (cdiv(meta["n"], meta["BLOCK"]),)](a, b, c, n)',
    ),
    Peer(
        "triton",
        "Triton",
        'add[lambda meta: (cdiv(meta["n"], meta["BLOCK"]),)](a, b, c, n, BLOCK=1024)',
    ),
    Peer("triton_grid", "Triton, a grid of numbers", "add[(1,)](a, b, c, n, BLOCK=1024)"),
    Peer(
        "triton_compiled",
        "Triton, its compiled kernel",
        "kernel[(1, 1, 1)](a, b, c, n, 1024): nothing is specialised or looked up",
    ),
)


def jobs(settings: Settings) -> list[Job]:
    return [Job(ALL, "", tuple((peer.name, TABLE, "") for peer in PEERS), few=True)]


def measure(task: Task) -> list[Sample]:
    """Check all peers, then time them in turns."""
    tools.need_gpu(task.settings.gpu, "nothing can be launched")
    a, b, c = launch_peers.arrays()
    ready: dict[str, tuple[Callable[[], None], int]] = {}
    samples = []
    calls = ways(a, b, c)
    for peer in PEERS:
        if peer.name in task.excluded:
            continue
        announce(peer.name)
        try:
            call = calls[peer.name]()
            launch_peers.check(call, c)
            ready[peer.name] = call, 1
        except Skip as skip:
            samples += missing([(peer.name, TABLE, "")], str(skip), failed=False)
        except Exception as error:
            traceback.print_exc()
            end_if_broken()
            samples += missing([(peer.name, TABLE, "")], explain(error), failed=True)
    found = timed(ready, QUICK_ROUNDS if task.settings.quick else ROUNDS, launch_peers.wait)
    return samples + [Sample(peer, TABLE, "", tuple(values)) for peer, values in found.items()]


def ways(a: Any, b: Any, c: Any) -> dict[str, Callable[[], Callable[[], None]]]:
    """Return what makes each peer's call."""
    triton, tc = tools.need("triton"), tools.need("tvmffi_cubin")
    add = module_of(kernels.ADD_TRITON, "bench_add").add
    cdiv = triton.cdiv

    def grid(meta: Any) -> tuple[int]:
        return (cdiv(meta["n"], meta["BLOCK"]),)

    def ours(given: Any) -> Any:
        launch = tc.triton.compile(
            add, "*fp32:16, *fp32:16, *fp32:16, i32:16", constexprs={"BLOCK": BLOCK}, grid=given
        )
        return tc.load_inline("bench_add", functions={"add": launch}).add

    def with_expression() -> Callable[[], None]:
        function = ours("ceil_div(n, BLOCK)")
        return lambda: function(a, b, c, N)

    def with_numbers() -> Callable[[], None]:
        function = ours(None)
        return lambda: function[1](a, b, c, N)

    def with_function() -> Callable[[], None]:
        function = ours(None)
        return lambda: function[grid](a, b, c, N)

    def compiled() -> Callable[[], None]:
        kernel = add[(1,)](a, b, c, N, BLOCK=BLOCK)
        return lambda: kernel[(1, 1, 1)](a, b, c, N, BLOCK)

    return {
        "tvmffi_cubin": with_expression,
        "tvmffi_cubin_grid": with_numbers,
        "tvmffi_cubin_function": with_function,
        "triton": lambda: lambda: add[grid](a, b, c, N, BLOCK=BLOCK),
        "triton_grid": lambda: lambda: add[(1,)](a, b, c, N, BLOCK=BLOCK),
        "triton_compiled": compiled,
    }


SECTION = Section(
    name="triton_launch",
    title="Launch of a Triton kernel",
    about=(
        f"CPU time to issue a vector addition that Triton has compiled: {ROUNDS} rounds of "
        f"{launch_peers.CALLS} launches each, in turns in one process, over torch's tensors of {N} "
        "elements, so that the device is never what is waited for."
    ),
    peers=PEERS,
    units={TABLE: "us"},
    references={TABLE: "tvmffi_cubin"},
    jobs=jobs,
    measure=measure,
)
