"""What builds and cache hits take: by number of kernels, by header, by what is edited.

Each peer works in a process of its own with empty caches, and launches nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bench
import sources
from bench import ARCH, Job, Sample, Section, Settings, Task, need

OURS = "tvmffi_cubin"


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long some work takes, and what it gives."""
    start = time.perf_counter()
    made = work()
    return (time.perf_counter() - start) * 1e3, made


@contextmanager
def empty_caches() -> Iterator[None]:
    # Something may still be written in the background when the figures are there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = os.environ["TVM_FFI_CACHE_DIR"] = folder
        yield


def settle() -> None:
    """Wait for headers: who edits a source takes longer than precompiling them, beside, does."""
    need("tvmffi_cubin.host.precompiled").settle()


def check_exports(made: str, names: Iterable[str]) -> None:
    text = Path(made).read_bytes()
    for name in names:
        assert f"__tvm_ffi_{name}\0".encode() in text, f"{made} does not export {name}"


# A cache hit


def hit_jobs(settings: Settings) -> Iterator[Job]:
    yield Job(OURS)


def hits(task: Task) -> Iterator[Sample]:
    """Build in another process, hit for the first time in this one, and again."""
    need("tvm_ffi")
    build = "import builds; builds.hit()('load_inline')"
    subprocess.run([sys.executable, "-c", build], check=True, cwd=Path(__file__).parent)
    imported, load = milliseconds(hit)
    yield Sample(OURS, HIT, "import tvmffi_cubin", (imported,))
    yield Sample(OURS, HIT, "load_inline, first", (milliseconds(lambda: load("load_inline"))[0],))
    for name in ("load_inline", "build_inline"):
        times = tuple(milliseconds(lambda name=name: load(name))[0] for _ in range(100))
        yield Sample(OURS, HIT, f"{name}, again", times)


def hit() -> Callable[[str], Any]:
    import tvmffi_cubin as tc

    source = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
    functions = {"k": tc.Launch(grid="x.numel", block=1)}
    return lambda name: getattr(tc, name)("hit", source, functions=functions, arch="sm_90")


HIT = "a cache hit"
HITS = Section(
    title="A cache hit",
    about="A module with one kernel, built before by another process; tvm-ffi is imported.",
    tables={HIT: ("ms", OURS)},
    jobs=hit_jobs,
    measure=hits,
)
HITS.peer("tvmffi_cubin", "the call to the loaded module or the path", name=OURS)(hit)


# Modules by number of kernels

TIME, SIZE = "build time", "size of the .so"


def module_jobs(settings: Settings) -> Iterator[Job]:
    # A C++ text with 500 wrappers takes most of a minute.
    most = 500 if settings.slow else 0 if settings.quick else 100
    for count in (1, 10) if settings.quick else (1, 10, 100, 500):
        for name in MODULES.peers:
            theirs = name == "tvm_ffi"
            if not theirs or count <= most:
                yield Job(name, str(count), rare=theirs or count > 100)


def modules(task: Task) -> Iterator[Sample]:
    """Build one module, of kernels with axpy's parameters, no two of them alike."""
    names = [f"kernel_{number}" for number in range(int(task.argument))]
    axpy = sources.salted(sources.AXPY, task.salt)
    text = "".join(
        axpy.replace("axpy", name).replace("2.0f", f"{number + 2}.0f")
        for number, name in enumerate(names)
    )
    run, suffix = MODULES.peers[task.peer].run(names, text, task.salt)
    time_, made = milliseconds(run)
    case = f"{task.argument} kernel" + ("s" if len(names) > 1 else "")
    yield Sample(task.peer, TIME, case, (time_,))
    if isinstance(made, str):
        check_exports(made, (name + suffix for name in names))
        yield Sample(task.peer, SIZE, case, (os.path.getsize(made) / 1024,))


MODULES = Section(
    title="Modules by number of kernels",
    about=(
        "One source with so many kernels, from text to a shared object that exports each. "
        f"All are compiled for {ARCH}."
    ),
    tables={TIME: ("ms", OURS), SIZE: ("KiB", OURS)},
    jobs=module_jobs,
    measure=modules,
)
Build = tuple[Callable[[], Any], str]


@MODULES.peer(
    "tvmffi_cubin, no wrapper",
    "build_inline with a Launch for each kernel: NVRTC, launchers, link",
    name=OURS,
)
def shaped(names: list[str], text: str, salt: int) -> Build:
    tc = need("tvmffi_cubin")
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    functions = dict.fromkeys(names, launch)
    return lambda: tc.build_inline("modules", text, functions=functions, arch=ARCH), ""


@MODULES.peer(
    "NVRTC alone", "nvrtcCreateProgram to nvrtcGetCUBIN, by cuda.bindings: no .so; it is loaded"
)
def nvrtc(names: list[str], text: str, salt: int) -> Build:
    compile_ = bench.nvrtc()
    compile_(sources.salted(sources.AXPY, 0), ARCH)
    return lambda: compile_(text, ARCH), ""


@MODULES.peer(
    "tvm_ffi, hand-written wrappers",
    "NVRTC through this package, then tvm_ffi's build_inline of one C++ text (g++)",
    name="tvm_ffi",
)
def wrapped(names: list[str], text: str, salt: int) -> Build:
    tc, cpp = need("tvmffi_cubin"), need("tvm_ffi.cpp")
    options = bench.tvm_ffi_gxx()
    wrapper = sources.wrapper(names, salt)

    def run() -> str:
        embedded = {"kernels": tc.nvrtc.nvrtc_compile(text, arch=ARCH)}
        return str(
            cpp.build_inline("modules", cpp_sources=wrapper, embed_cubin=embedded, **options)
        )

    return run, "_host"


def by_gxx(name: str, text: str, images: dict[str, bytes]) -> Callable[[], Any]:
    cpp = need("tvm_ffi.cpp")
    options = bench.tvm_ffi_gxx()
    return lambda: cpp.build_inline(name, cpp_sources=text, embed_cubin=images, **options)


# Sources that include much

WRAPPER = "a wrapper with tvm-ffi's headers"


def header_title(header: str) -> str:
    return header if header == WRAPPER else f"#include <{header}>"


def header_jobs(settings: Settings) -> Iterator[Job]:
    for header in (*(list(sources.HEADERS)[: 1 if settings.quick else None]), WRAPPER):
        for name in HEADERS.peers:
            skipped = settings.quick and name not in (OURS, "tvmffi_cubin_wrapper")
            if name.endswith("wrapper") == (header == WRAPPER) and not skipped:
                yield Job(name, header, rare=not name.startswith(OURS))


def headers(task: Task) -> Iterator[Sample]:
    """Compile three times in this process, with caches of its own."""
    header = task.argument
    os.environ["TVMFFI_CUBIN_PCH"] = "off" if "_plain" in task.peer else "on"
    with empty_caches():
        run = HEADERS.peers[task.peer].run()
        for number, case in enumerate(("first", "edited", "edited again")):
            salt = task.salt * 3 + number
            if header == WRAPPER:
                text = sources.wrapper(["axpy"], salt)
            else:
                text = sources.salted(sources.HEADERS[header], salt)
            time_, made = milliseconds(lambda text=text: run(text))
            if header == WRAPPER:
                check_exports(made, ["axpy_host"])
            else:
                assert made.startswith(b"\x7fELF"), "not an image"
                assert b"scale" in made, "an image without the kernel"
            yield Sample(task.peer, header_title(header), case, (time_,))
            if task.peer == "tvmffi_cubin_wrapper":
                settle()


HEADERS = Section(
    title="Sources that include much",
    about=(
        "Compiled for the first time in a process, with empty caches, then edited and compiled "
        "again, twice. A wrapper's precompiled header is made in the background; it is there when "
        "the wrapper is edited."
    ),
    tables={
        **{header_title(header): ("ms", OURS) for header in sources.HEADERS},
        WRAPPER: ("ms", "tvmffi_cubin_wrapper"),
    },
    jobs=header_jobs,
    measure=headers,
)
Compile = Callable[[str], Any]


def include_folders() -> list[str]:
    """Return the folders of CUDA's and CCCL's headers that this package uses."""
    from tvmffi_cubin.cuda.libraries import find_cuda

    return [str(folder) for folder in find_cuda().include_dirs]


def axpy_images() -> dict[str, bytes]:
    axpy = sources.salted(sources.AXPY, 1)
    return {"kernels": need("tvmffi_cubin").nvrtc.nvrtc_compile(axpy, arch=ARCH)}


def compiled() -> Compile:
    nvrtc = need("tvmffi_cubin").nvrtc
    return lambda text: nvrtc.compile(text, arch=ARCH).image


def wrapper_built() -> Compile:
    tc, images = need("tvmffi_cubin"), axpy_images()
    return lambda text: tc.build_inline("headers", cpp_sources=text, embed_cubin=images)


HEADERS.peer(OURS, "nvrtc.compile to the cubin", name=OURS)(compiled)
HEADERS.peer(
    "tvmffi_cubin, no precompiled headers",
    "nvrtc.compile to the cubin with TVMFFI_CUBIN_PCH=off",
    name="tvmffi_cubin_plain",
)(compiled)


@HEADERS.peer("tvm_ffi", "cpp.nvrtc.nvrtc_compile to the cubin")
def tvm_ffi() -> Compile:
    need("cuda.bindings")
    nvrtc = need("tvm_ffi.cpp.nvrtc")
    options = [f"-I{folder}" for folder in include_folders()]
    return lambda text: nvrtc.nvrtc_compile(text, arch=ARCH, extra_opts=options)


@HEADERS.peer("cuda.core Program", "Program.compile('cubin') with the options' defaults")
def cuda_core() -> Compile:
    core = bench.cuda_core()
    options = core.ProgramOptions(std="c++17", arch=ARCH, include_path=include_folders())

    def run(text: str) -> Any:
        return core.Program(text, code_type="c++", options=options).compile("cubin").code

    return run


HEADERS.peer(
    "tvmffi_cubin, a wrapper",
    "build_inline(cpp_sources=wrapper, embed_cubin=an image that is there) to the .so",
    name="tvmffi_cubin_wrapper",
)(wrapper_built)
HEADERS.peer(
    "tvmffi_cubin, a wrapper, no precompiled headers",
    "the same with TVMFFI_CUBIN_PCH=off",
    name="tvmffi_cubin_plain_wrapper",
)(wrapper_built)


@HEADERS.peer("tvm_ffi, a wrapper", "cpp.build_inline of the same by g++ to the .so")
def tvm_ffi_wrapper() -> Compile:
    need("tvm_ffi.cpp")
    images = axpy_images()
    return lambda text: by_gxx("headers", text, images)()


# Kernels and host functions in one source


def mixed_jobs(settings: Settings) -> Iterator[Job]:
    for name in list(sources.MIXED)[: 1 if settings.quick else None]:
        for peer in MIXED.peers:
            if peer == OURS or not settings.quick:
                yield Job(peer, name, rare=peer != OURS)


def mixed(task: Task) -> Iterator[Sample]:
    """Build a source, one that is new on both sides, two changes, and the last once more."""
    function, source = sources.MIXED[task.argument]
    salt = 3 * task.salt
    salts = {
        "first in a new cache": (salt, salt),
        "another source": (salt + 1, salt + 1),
        "device part edited": (salt + 2, salt + 1),
        "host part edited": (salt + 2, salt + 2),
        "again": (salt + 2, salt + 2),
    }
    with empty_caches():
        run = MIXED.peers[task.peer].run()
        for case, pair in salts.items():
            text = sources.salted(source, *pair)
            time_, made = milliseconds(lambda text=text: run(text, [function]))
            check_exports(made, [function])
            yield Sample(task.peer, task.argument, case, (time_,))
            if task.peer.startswith(OURS):
                settle()


MIXED = Section(
    title="Kernels and host functions in one source",
    about=(
        "Built to a shared object in a fresh process with an empty cache folder; then one that is "
        "new on both sides, one with a change of its device part alone, of its host part alone, "
        "and the last once more. Nothing is launched."
    ),
    tables=dict.fromkeys(sources.MIXED, ("ms", OURS)),
    jobs=mixed_jobs,
    measure=mixed,
)
Mixed = Callable[[str, list[str]], Any]


@MIXED.peer(OURS, "build_inline(cuda_sources=source) to the .so", name=OURS)
def split(**options: Any) -> Mixed:
    tc = need("tvmffi_cubin")
    return lambda text, functions: tc.build_inline(
        "mixed", text, functions=functions, arch=ARCH, **options
    )


@MIXED.peer('tvmffi_cubin, compiler="nvcc"', 'the same with compiler="nvcc"')
def tvmffi_cubin_nvcc() -> Mixed:
    bench.toolkit()
    return split(compiler="nvcc")


@MIXED.peer("tvm_ffi, by nvcc", "cpp.build_inline(cuda_sources=source) to the .so", name="tvm_ffi")
def mixed_by_nvcc() -> Mixed:
    cpp = need("tvm_ffi.cpp")
    bench.toolkit()
    os.environ["TVM_FFI_CUDA_ARCH_LIST"] = "9.0a"  # as ARCH
    return lambda text, functions: cpp.build_inline(
        "mixed", cuda_sources=text, functions=functions, backend="cuda"
    )


SECTIONS = {
    "hit": HITS,
    "mixed_build": MIXED,
    "modules": MODULES,
    "headers": HEADERS,
}
