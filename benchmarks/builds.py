"""Time of builds and cache hits: by number of kernels, by header, by what is edited.

Each peer runs in its own process and launches nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import bench
import sources
from bench import ARCH, Job, Sample, Section, Settings, Task, need

OURS = "tvmffi_cubin"


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long some work takes, and its result."""
    start = time.perf_counter()
    made = work()
    return (time.perf_counter() - start) * 1e3, made


def check_exports(made: str, names: Iterable[str]) -> None:
    text = Path(made).read_bytes()
    for name in names:
        assert f"__tvm_ffi_{name}\0".encode() in text, f"{made} does not export {name}"


# A cache hit

HIT, IMPORTED = "a cache hit", "modules imported"


def hit_jobs(settings: Settings) -> Iterator[Job]:
    yield from map(Job, HITS.peers)


def hits(task: Task) -> Iterator[Sample]:
    """Build in another process; time the first hit in this one, and later hits."""
    need("tvm_ffi")
    build = f"import builds; builds.hit({task.salt})('load_inline'); print(builds.imported())"
    command, folder = [sys.executable, "-c", build], Path(__file__).parent
    count = subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE).stdout
    yield Sample(task.peer, IMPORTED, "load_inline, built", (float(count),))
    took, load = milliseconds(lambda: hit(task.salt))
    yield Sample(task.peer, HIT, "import tvmffi_cubin", (took,))
    took, _ = milliseconds(lambda: load("load_inline"))
    yield Sample(task.peer, HIT, "load_inline, first", (took,))
    yield Sample(task.peer, IMPORTED, "load_inline, a hit", (imported(),))
    for name in ("load_inline", "build_inline"):
        times = tuple(milliseconds(lambda name=name: load(name))[0] for _ in range(100))
        yield Sample(task.peer, HIT, f"{name}, again", times)


def hit(salt: int) -> Callable[[str], Any]:
    import tvmffi_cubin as tc

    source = sources.salted(sources.AXPY, salt)
    functions = {"axpy": tc.Launch(grid="x.numel", block=1)}
    return lambda name: getattr(tc, name)("hit", source, functions=functions, arch="sm_90")


def imported() -> int:
    return sum(name.partition(".")[0] == OURS for name in sys.modules)


HITS = Section(
    name="hit",
    title="A cache hit",
    about="A module with one kernel, built before by another process; tvm-ffi is imported first.",
    tables={HIT: ("ms", OURS), IMPORTED: ("of this package", OURS)},
    jobs=hit_jobs,
    measure=hits,
    also=(OURS,),
)
HITS.peer("tvmffi_cubin", "the call to the loaded module or the path", name=OURS)(hit)


# Modules by number of kernels

TIME, SIZE = "build time", "size of the .so"


def module_jobs(settings: Settings) -> Iterator[Job]:
    for count in (1, 10) if settings.quick else (1, 10, 100, 500):
        for name in MODULES.peers:
            yield Job(name, str(count))


def modules(task: Task) -> Iterator[Sample]:
    """Build one module of kernels with axpy's parameters, all different."""
    names = [f"kernel_{number}" for number in range(int(task.argument))]
    axpy = sources.salted(sources.AXPY, task.salt)
    text = "".join(
        axpy.replace("axpy", name).replace("2.0f", f"{number + 2}.0f")
        for number, name in enumerate(names)
    )
    run = MODULES.peers[task.peer].run(names, text)
    time_, made = milliseconds(run)
    case = f"{task.argument} kernel" + ("s" if len(names) > 1 else "")
    yield Sample(task.peer, TIME, case, (time_,))
    if isinstance(made, str):
        check_exports(made, names)
        yield Sample(task.peer, SIZE, case, (os.path.getsize(made) / 1024,))


MODULES = Section(
    name="modules",
    title="Modules by number of kernels",
    about=(
        "One source with so many kernels, from text to a shared object that exports each. "
        f"All are compiled for {ARCH}."
    ),
    tables={TIME: ("ms", OURS), SIZE: ("KiB", OURS)},
    jobs=module_jobs,
    measure=modules,
)


@MODULES.peer(
    "tvmffi_cubin, no wrapper",
    "build_inline with a Launch for each kernel: NVRTC, launchers, link",
    name=OURS,
)
def shaped(names: list[str], text: str) -> Callable[[], str]:
    tc = need("tvmffi_cubin")
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    functions = dict.fromkeys(names, launch)
    return lambda: tc.build_inline("modules", text, functions=functions, arch=ARCH)


@MODULES.peer(
    "NVRTC alone", "nvrtcCreateProgram to nvrtcGetCUBIN, by cuda.bindings: no .so; it is loaded"
)
def nvrtc(names: list[str], text: str) -> Callable[[], bytes]:
    compile_ = bench.nvrtc()
    compile_(sources.salted(sources.AXPY, 0), ARCH)
    return lambda: compile_(text, ARCH)


# Sources with large headers, and edits of them

MIXED = "kernels and host functions in one source"
HEADER_TABLES = {f"#include <{header}>": header for header in sources.HEADERS}


def header_jobs(settings: Settings) -> Iterator[Job]:
    for table in HEADERS.tables:
        for name in HEADERS.peers:
            if name.endswith("_mixed") == (table == MIXED):
                yield Job(name, table, rare=not name.startswith(OURS))
        if settings.quick:
            return


def headers(task: Task) -> Iterator[Sample]:
    """Compile a source and its edits in this process, with its own caches."""
    # For each case, the salts of the device part and the host part.
    salts = {"first": (0, 0), "edited": (1, 0)}
    text, names = sources.AXPY_MIXED, ["axpy_host"]
    if task.argument == MIXED:
        salts["host part edited"] = (1, 1)
    else:
        text, names = sources.HEADERS[HEADER_TABLES[task.argument]], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = os.environ["TVM_FFI_CACHE_DIR"] = folder
        run = HEADERS.peers[task.peer].run()
        for case, pair in salts.items():
            salted = sources.salted(text, *(2 * task.salt + salt for salt in pair))
            time_, made = milliseconds(lambda salted=salted: run(salted))
            if names:
                check_exports(made, names)
            else:
                assert made.startswith(b"\x7fELF"), "not an image"
            yield Sample(task.peer, task.argument, case, (time_,))
            bench.settle()


HEADERS = Section(
    name="headers",
    title="Sources that include much",
    about=(
        "Compiled for the first time in a process, with empty caches, then edited and compiled "
        "again: the device part, then the host part. Headers that a build has precompiled in the "
        "background are there for the next."
    ),
    tables=dict.fromkeys((*HEADER_TABLES, MIXED), ("ms", OURS)) | {MIXED: ("ms", f"{OURS}_mixed")},
    jobs=header_jobs,
    measure=headers,
)


@HEADERS.peer("tvmffi_cubin", "nvrtc.compile to the cubin", name=OURS)
def compiled() -> Callable[[str], bytes]:
    nvrtc = need("tvmffi_cubin").nvrtc
    return lambda text: nvrtc.compile(text, arch=ARCH).image


@HEADERS.peer("tvmffi_cubin, no precompiled headers", "the same with TVMFFI_CUBIN_PCH=off")
def tvmffi_cubin_plain() -> Callable[[str], bytes]:
    os.environ["TVMFFI_CUBIN_PCH"] = "off"
    return compiled()


@HEADERS.peer("tvmffi_cubin", "build_inline(cuda_sources=source) to the .so")
def tvmffi_cubin_mixed() -> Callable[[str], str]:
    tc = need("tvmffi_cubin")
    return lambda text: tc.build_inline("mixed", text, functions=["axpy_host"], arch=ARCH)


@HEADERS.peer("tvm_ffi, by nvcc", "cpp.build_inline(cuda_sources=source) to the .so")
def tvm_ffi_mixed() -> Callable[[str], str]:
    cpp = need("tvm_ffi.cpp")
    bench.toolkit()
    os.environ["TVM_FFI_CUDA_ARCH_LIST"] = "9.0a"  # same as ARCH
    return lambda text: cpp.build_inline(
        "mixed", cuda_sources=text, functions=["axpy_host"], backend="cuda"
    )
