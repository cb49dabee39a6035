"""Build time and size of one shared object by the number of its kernels, each exported."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import kernels
import tools
from section import Job, Peer, Sample, Section, Settings, Task

TIME, SIZE = "build time", "size of the .so"
COUNTS = (1, 10, 100, 500)
QUICK = (1, 10)

PEERS = (
    Peer(
        "tvmffi_cubin",
        "tvmffi_cubin, no wrapper",
        "build_inline with a Launch for each kernel: NVRTC, launchers, link",
    ),
    Peer(
        "tvmffi_cubin_open",
        "tvmffi_cubin, shape at the call",
        "build_inline without functions, every kernel exported",
    ),
    Peer("nvrtc", "NVRTC alone", "nvrtcCreateProgram to nvrtcGetCUBIN, by cuda.bindings: no .so"),
    Peer(
        "tvm_ffi",
        "tvm_ffi, hand-written wrappers",
        "NVRTC through this package, then tvm_ffi's build_inline of one C++ text (g++)",
    ),
)


def jobs(settings: Settings) -> list[Job]:
    found = []
    # A C++ text with 500 wrappers takes most of a minute.
    most = COUNTS[-1] if settings.slow else QUICK[0] if settings.quick else 100
    for count in QUICK if settings.quick else COUNTS:
        for peer in PEERS:
            theirs = peer.name == "tvm_ffi"
            if theirs and count > most:
                continue
            tables = (TIME,) if peer.name == "nvrtc" else (TIME, SIZE)
            cells = tuple((peer.name, table, case(count)) for table in tables)
            few = theirs or count > 100
            found.append(Job(peer.name, str(count), cells, few))
    return found


def case(count: int) -> str:
    return f"{count} kernel" + ("s" if count > 1 else "")


def measure(task: Task) -> list[Sample]:
    """Build one module."""
    count = int(task.argument)
    names = [f"kernel_{number}" for number in range(count)]
    if task.job == "nvrtc":
        return [Sample("nvrtc", TIME, case(count), (nvrtc(source(names, task.salt)),))]
    build: Callable[[list[str], str, int], tuple[Callable[[], str], str]] = globals()[task.job]
    run, suffix = build(names, source(names, task.salt), task.salt)
    start = time.perf_counter()
    made = run()
    seconds = time.perf_counter() - start
    check(made, [name + suffix for name in names])
    values = {TIME: seconds * 1e3, SIZE: os.path.getsize(made) / 1024}
    return [Sample(task.job, table, case(count), (value,)) for table, value in values.items()]


def nvrtc(text: str) -> float:
    """Return the milliseconds that NVRTC takes, once it is loaded."""
    compile_ = tools.nvrtc()
    compile_(kernels.salted(kernels.AXPY, 0), tools.DEFAULT_ARCH)
    start = time.perf_counter()
    compile_(text, tools.DEFAULT_ARCH)
    return (time.perf_counter() - start) * 1e3


def source(names: list[str], salt: int) -> str:
    """Return kernels with axpy's parameters, no two of them alike."""
    return "".join(
        kernels.salted(kernels.AXPY, salt).replace("axpy", name).replace("2.0f", f"{number + 2}.0f")
        for number, name in enumerate(names)
    )


def check(made: str, names: list[str]) -> None:
    """Look for an exported symbol of each function."""
    with open(made, "rb") as file:
        text = file.read()
    for name in names:
        assert f"__tvm_ffi_{name}\0".encode() in text, f"{made} does not export {name}"


def tvmffi_cubin(names: list[str], text: str, salt: int) -> tuple[Callable[[], str], str]:
    tc = tools.need("tvmffi_cubin")
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    shapes = dict.fromkeys(names, launch)
    arch = tools.DEFAULT_ARCH
    return lambda: tc.build_inline("modules", text, functions=shapes, arch=arch), ""


def tvmffi_cubin_open(names: list[str], text: str, salt: int) -> tuple[Callable[[], str], str]:
    tc = tools.need("tvmffi_cubin")
    return lambda: tc.build_inline("modules", text, arch=tools.DEFAULT_ARCH), ""


def tvm_ffi(names: list[str], text: str, salt: int) -> tuple[Callable[[], str], str]:
    tc, cpp = tools.need("tvmffi_cubin"), tools.need("tvm_ffi.cpp")
    options = tools.tvm_ffi_gxx()
    wrapper = kernels.wrapper(names, salt)

    def run() -> str:
        image = tc.nvrtc.nvrtc_compile(text, arch=tools.DEFAULT_ARCH)
        embedded = {"kernels": image}
        return str(
            cpp.build_inline("modules", cpp_sources=wrapper, embed_cubin=embedded, **options)
        )

    return run, "_host"


SECTION = Section(
    name="modules",
    title="Modules by number of kernels",
    about=(
        "One source with so many kernels, from text to a shared object that exports each. "
        f"All are compiled for {tools.DEFAULT_ARCH}."
    ),
    peers=PEERS,
    units={TIME: "ms", SIZE: "KiB"},
    references={TIME: "tvmffi_cubin", SIZE: "tvmffi_cubin"},
    jobs=jobs,
    measure=measure,
)
