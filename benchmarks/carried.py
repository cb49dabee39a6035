"""What it costs to launch with attributes, and what programmatic dependent launch gains.

The launches are those of launch.py, in one process and in turns; the gain is the device's own time
for pairs of dependent kernels, each of which spins for 20 us, eager and in a CUDA graph.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable
from typing import Any

import kernels
import launch_peers
import tools
from child import announce, explain
from launch import QUICK_ROUNDS, ROUNDS, checked_by, timed
from section import Job, Peer, Sample, Section, Settings, Skip, Task, missing

COST = "launch of an empty kernel that carries something"
PAIR = "two dependent kernels of 20 us each, of the device's time"
ALL = "all"
SPIN_NS = 20_000
PAIRS = 50

CARRIED: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("nothing", {}),
    "cluster": ("cluster=2", {"cluster": 2}),
    "large": ("cluster=16: whether it fits is asked", {"cluster": 16, "grid": 16}),
    "dependent": (
        "programmatic_dependent_launch=True",
        {"programmatic_dependent_launch": True},
    ),
    "attention": (
        "cluster=2, spread, programmatic_dependent_launch=True",
        {
            "cluster": 2,
            "cluster_scheduling_policy": "spread",
            "programmatic_dependent_launch": True,
        },
    ),
    "cooperative": ("cooperative=True: whether the grid fits is asked", {"cooperative": True}),
    "resident": (
        "cooperative=True, grid=max_cooperative_blocks: asked twice",
        {"cooperative": True, "grid": "max_cooperative_blocks"},
    ),
}
PEERS = (
    *(Peer(name, f"tvmffi_cubin, {name}", what) for name, (what, _) in CARRIED.items()),
    Peer("core_plain", "cuda.core, plain", "launch(stream, LaunchConfig(grid=2, block=32), ...)"),
    Peer(
        "core_cluster", "cuda.core, cluster", "LaunchConfig(cluster=2, ...): the grid in clusters"
    ),
    Peer("core_cooperative", "cuda.core, cooperative", "LaunchConfig(is_cooperative=True, ...)"),
    Peer("pair", "one after the other", "a list of two launches, in one call"),
    Peer("pair_early", "programmatic dependent launch", "the second with the attribute"),
    Peer("pair_graph", "one after the other, in a graph", "the same, captured by torch, replayed"),
    Peer("pair_early_graph", "programmatic dependent launch, in a graph", "likewise"),
)
_PAIRS = tuple(peer.name for peer in PEERS if peer.name.startswith("pair"))


def jobs(settings: Settings) -> list[Job]:
    cells = tuple((p.name, PAIR if p.name in _PAIRS else COST, "") for p in PEERS)
    return [Job(ALL, "", cells, few=True)]


def measure(task: Task) -> list[Sample]:
    """Check all, then time them in turns."""
    tools.need_gpu(task.settings.gpu, "nothing can be launched")
    rounds = QUICK_ROUNDS if task.settings.quick else ROUNDS
    arrays = launch_peers.arrays()
    ready: dict[str, tuple[Callable[[], None], int]] = {}
    samples = []
    for peer in PEERS:
        if peer.name in task.excluded or peer.name in _PAIRS:
            continue
        announce(peer.name)
        try:
            ready[peer.name] = checked_by(costs(peer.name, *arrays), arrays)
        except Skip as skip:
            samples += missing([(peer.name, COST, "")], str(skip), failed=False)
        except Exception as error:
            traceback.print_exc()
            samples += missing([(peer.name, COST, "")], explain(error), failed=True)
    found = timed(ready, rounds, launch_peers.wait)
    samples += [Sample(peer, COST, "", tuple(values)) for peer, values in found.items()]
    announce("pair")
    try:
        pairs = paired(rounds // 5)
    except Exception as error:
        traceback.print_exc()
        return samples + missing([(p, PAIR, "") for p in _PAIRS], explain(error), failed=True)
    return samples + [Sample(peer, PAIR, "", tuple(values)) for peer, values in pairs.items()]


def costs(peer: str, a: Any, b: Any, c: Any) -> launch_peers.Launches:
    if peer.startswith("core_"):
        return core(peer.removeprefix("core_"), a, b, c)
    tc = tools.need("tvmffi_cubin")
    functions = {
        name: tc.Launch(kernel="empty", **{"grid": 2, "block": 32, **fields})
        for name, (_, fields) in CARRIED.items()
    }
    function = tc.load_inline("carried", kernels.EMPTY, functions=functions)[peer]
    return launch_peers.Launches(lambda n: lambda: function(a, b, c, n))


def core(kind: str, a: Any, b: Any, c: Any) -> launch_peers.Launches:
    core = tools.cuda_core()
    device = core.Device()
    device.set_current()
    options = core.ProgramOptions(std="c++17", arch=tools.device_arch())
    kernel = core.Program(kernels.EMPTY, code_type="c++", options=options).compile("cubin")
    shape = {
        "plain": {"grid": 2},
        "cluster": {"grid": 1, "cluster": 2},
        "cooperative": {"grid": 2, "is_cooperative": True},
    }[kind]
    config = core.LaunchConfig(block=32, **shape)
    empty, stream, launch = kernel.get_kernel("empty"), device.default_stream, core.launch

    def make(n: int) -> Callable[[], None]:
        last = ctypes.c_int(n)
        return lambda: launch(stream, config, empty, a.data_ptr(), b.data_ptr(), c.data_ptr(), last)

    return launch_peers.Launches(make)


def paired(rounds: int) -> dict[str, list[float]]:
    """Return the device's microseconds a pair, by round."""
    torch, tc = tools.need("torch"), tools.need("tvmffi_cubin")
    once = tc.Launch(kernel="first", grid=1, block=1)
    functions = {
        name: [
            once,
            tc.Launch(kernel="second", grid=1, block=1, programmatic_dependent_launch=early),
        ]
        for name, early in (("pair", False), ("pair_early", True))
    }
    mod = tc.load_inline("pairs", kernels.DEPENDENT, functions=functions)
    data = torch.zeros(1, device="cuda")

    def run(name: str) -> None:
        for _ in range(PAIRS):
            mod[name](data, SPIN_NS)

    ways: dict[str, Callable[[], None]] = {}
    for name in functions:
        run(name)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run(name)
        ways[name] = lambda name=name: run(name)
        ways[f"{name}_graph"] = graph.replay
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            begin.record()
            way()
            end.record()
            torch.cuda.synchronize()
            found[name].append(begin.elapsed_time(end) / PAIRS * 1e3)
    # Captured launches count when they are replayed; a second kernel that does not wait adds none.
    wanted = 2 * PAIRS * len(functions) * (1 + 2 * rounds)
    assert data.item() == wanted, f"the pairs have made {data.item()}, not {wanted}"
    return found


SECTION = Section(
    name="carried",
    title="What a launch carries",
    about=(
        f"Above: CPU time as of launches that carry nothing, {ROUNDS} rounds of "
        f"{launch_peers.CALLS}. Below: {PAIRS} pairs in a row, by CUDA's events; the second kernel "
        "of a pair spins before it waits for the first, so that the two overlap where they may."
    ),
    peers=PEERS,
    units={COST: "us", PAIR: "us"},
    references={COST: "plain", PAIR: "pair"},
    jobs=jobs,
    measure=measure,
)
