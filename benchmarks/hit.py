"""Where the time of a cache hit goes: the first of a new process by stage, and repeats.

    python benchmarks/hit.py [--processes 15]

Run on a machine that does nothing else. What is loaded is a module with one kernel of two
parameters. The imports of tvm-ffi and of this package, after it, are no part of a hit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time

SOURCE = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
REPEATS = 300
STAGES = (
    "make_request",
    "find the tools",
    "key",
    "look-up",
    "load",
)
IMPORT, WHOLE, AGAIN, BUILD = (
    "import tvmffi_cubin",
    "load_inline, first",
    "load_inline, again",
    "build_inline, again",
)


def main() -> None:
    """Print medians of several processes, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=15)
    parser.add_argument("--child", choices=("stages", "whole"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(stages() if given.child == "stages" else whole()))
        return
    run("whole")  # builds it, where nobody has
    for child in ("stages", "whole"):
        found = [run(child) for _ in range(given.processes)]
        for name in found[0]:
            values = [each[name] for each in found]
            print(f"{name:28} {statistics.median(values):7.3f} ms   least {min(values):7.3f}")


def run(child: str) -> dict[str, float]:
    """Return what a new process measures."""
    command = [sys.executable, __file__, "--child", child]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values: dict[str, float] = json.loads(done.stdout)
    return values


def stages() -> dict[str, float]:
    """Return the milliseconds of each step of a hit, the first of this process."""
    import tvm_ffi  # noqa: F401

    import tvmffi_cubin as tc
    from tvmffi_cubin.cache import store
    from tvmffi_cubin.cache.entry import Entry
    from tvmffi_cubin.inline import module_key
    from tvmffi_cubin.inline.request import make_request
    from tvmffi_cubin.inline.tools import find_tools
    from tvmffi_cubin.module import load_module

    functions = {"k": tc.Launch(grid="x.numel", block=1)}
    times = [time.perf_counter()]

    def mark() -> None:
        times.append(time.perf_counter())

    request = make_request("hit", cuda_sources=SOURCE, functions=functions)
    mark()
    tools = find_tools(needs_cuda=True, flags=request.host_flags)
    mark()
    key = module_key.module_key(request, ("sm_90",), tools).hexdigest()
    mark()
    found = store.default(tools.roots).find(key)
    mark()
    assert isinstance(found, Entry), found
    load_module(found.so)
    mark()
    pairs = itertools.pairwise(times)
    return {name: (end - start) * 1e3 for name, (start, end) in zip(STAGES, pairs, strict=True)}


def whole() -> dict[str, float]:
    """Return the milliseconds of the first hit of this process, and of the median of more."""
    import tvm_ffi  # noqa: F401

    start = time.perf_counter()
    import tvmffi_cubin as tc

    imported = (time.perf_counter() - start) * 1e3
    functions = {"k": tc.Launch(grid="x.numel", block=1)}

    def timed(call: object) -> float:
        assert callable(call)
        start = time.perf_counter()
        call("hit", SOURCE, functions=functions, arch="sm_90")
        return (time.perf_counter() - start) * 1e3

    first = timed(tc.load_inline)
    again = statistics.median(timed(tc.load_inline) for _ in range(REPEATS))
    build = statistics.median(timed(tc.build_inline) for _ in range(REPEATS))
    return {IMPORT: imported, WHOLE: first, AGAIN: again, BUILD: build}


if __name__ == "__main__":
    main()
