"""Time from a source to its first result: new to all caches, again, and after a restart.

The clock runs from the source text as a str until the result is in device memory, synchronized.
This includes lazy imports, loading compilers and disk caches, but not starting Python, importing
the tool or creating the arrays (so there is a CUDA context before the clock starts). Without a GPU,
nothing is launched, and peers that need one are left out.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import bench
import sources
from bench import ARCH, Job, Sample, Section, Settings, Task, need, need_gpu

RESULT, SO = "source to first result", "source to loaded module"
FRESH, AGAIN, RESTARTED = "new source", "again, same process", "again, new process"
ANOTHER = "another new source, same process"
# Far from the salts of all rounds and peers.
ANOTHER_SALT = 1_000_000_000
OURS, WRAPPER, INSTALLED = "tvmffi_cubin", "tvmffi_cubin_wrapper", "tvmffi_cubin_installed"
BESIDE = "nvrtc_beside"
# Peers that take several seconds each time.
RARE = ("tvm_ffi_gxx", "tvm_ffi_nvcc", INSTALLED)
# Peers that keep nothing between processes, or behave that way.
NO_RESTART = (INSTALLED, "nvrtc", "gxx")
ROOT = Path(__file__).resolve().parents[1]
N = 1000
BLOCKS = (N + 255) // 256


class Trial(NamedTuple):
    """`run` goes from the source to the result; `check` takes the result and the wanted y[-1]."""

    run: Callable[[], Any]
    check: Callable[[Any, float], None]


def jobs(settings: Settings) -> Iterator[Job]:
    """Yield for each peer a job with new sources, and one with the first source after a restart."""
    for name in COLD.peers:
        if name == BESIDE:
            continue
        yield Job(name, FRESH, rare=name in RARE)
        if name not in NO_RESTART:
            yield Job(name, RESTARTED, rare=not name.startswith(OURS))


def measure(task: Task) -> Iterable[Sample]:
    """Time a peer in this process."""
    gpu, make = task.settings.gpu, COLD.peers[task.peer].run
    table = RESULT if gpu else SO
    if task.peer == INSTALLED:
        yield Sample(task.peer, table, FRESH, make(task))
        return
    trial = make(task.salt, gpu)
    yield Sample(task.peer, table, task.argument, (timed(trial, 1),))
    if task.argument == FRESH:
        yield Sample(task.peer, table, AGAIN, (timed(trial, 2),))
        bench.settle()
        another = make(task.salt + ANOTHER_SALT, gpu)
        yield Sample(task.peer, table, ANOTHER, (timed(another, 1),))
        if task.peer == OURS:
            # NVRTC's own time for one source varies by half between processes.
            beside = nvrtc(task.salt + 2 * ANOTHER_SALT, gpu)
            beside.run()
            beside = nvrtc(task.salt + 3 * ANOTHER_SALT, gpu)
            yield Sample(BESIDE, table, ANOTHER, (timed(beside, 1),))


def timed(trial: Trial, count: int) -> float:
    """Return the milliseconds of the `count`-th run from source to result; check the result."""
    start = time.perf_counter()
    made = trial.run()
    seconds = time.perf_counter() - start
    trial.check(made, 2.0 * count)
    return seconds * 1e3


COLD = Section(
    name="cold",
    title="Source to first result",
    about=(
        "In a fresh process, imports of the tool itself not counted but what it imports later; "
        "each round has a source that no cache has seen. Then the same source again in that "
        "process, another new one there, and the first in a new process, where disk caches answer. "
        "Without a GPU nothing is launched. Headers that a build has precompiled in the background "
        "are there for the next."
    ),
    tables={RESULT: ("ms", OURS), SO: ("ms", OURS)},
    jobs=jobs,
    measure=measure,
    also=(OURS, WRAPPER),
)
peer = COLD.peer


def is_image(made: bytes, _: float) -> None:
    assert made.startswith(b"\x7fELF"), f"no image: {made[:40]!r}"


def holds(found: float, wanted: float) -> None:
    assert found == wanted, f"y is {found}, wanted {wanted}"


def arrays(gpu: bool) -> tuple[Any, Any, Callable[[], None], Callable[[Any, float], None]]:
    """Return x = 1 and y = 0 as torch tensors, and functions that wait and that check y."""
    if not gpu:
        return None, None, lambda: None, lambda *_: None
    torch = need("torch")
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    return x, y, torch.cuda.synchronize, lambda _, wanted: holds(y[-1].item(), wanted)


def ours(source: str | list[str], function: str, gpu: bool, **options: Any) -> Trial:
    need("tvm_ffi")
    load_inline = need("tvmffi_cubin").load_inline
    x, y, wait, check = arrays(gpu)
    # With a GPU, its architecture is looked up, as for a user who gives none.
    arch = None if gpu else ARCH

    def run() -> Any:
        launch = getattr(load_inline("bench", source, arch=arch, **options), function)
        if gpu:
            launch(x, y)
            wait()

    return Trial(run, check)


@peer("tvmffi_cubin, no wrapper", "load_inline with functions={name: Launch}, the call, wait")
def tvmffi_cubin(salt: int, gpu: bool) -> Trial:
    tc = need("tvmffi_cubin")
    launch = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})
    return ours(sources.salted(sources.AXPY, salt), "axpy", gpu, functions={"axpy": launch})


@peer(
    "tvmffi_cubin, first build of an installation",
    "as above, of the wheel that make wheel builds, just installed, with an empty cache",
)
def tvmffi_cubin_installed(task: Task) -> tuple[float, ...]:
    import run as runner

    def succeed(*command: str | Path) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as folder:
        dist, place = Path(folder, "dist"), Path(folder, "site")
        succeed(sys.executable, ROOT / "scripts" / "wheel.py", dist)
        (wheel,) = dist.glob(f"*_{os.uname().machine}.whl")
        # With its bytecode.
        succeed(sys.executable, "-m", "pip", "install", "--no-deps", "--target", place, wheel)
        own = task._replace(peer=OURS)
        found = next(runner.run("cold", own, Path(folder, "caches"), str(place)))
    if found.reason:
        raise RuntimeError(found.reason)
    return found.values


@peer("tvmffi_cubin, own wrapper", "load_inline(cuda_sources=[kernels, wrapper]), the call, wait")
def tvmffi_cubin_wrapper(salt: int, gpu: bool) -> Trial:
    texts = [sources.salted(sources.AXPY, salt), sources.salted(sources.WRAPPER, salt)]
    return ours(texts, "axpy_host", gpu)


@peer("g++ alone, of that wrapper", "c++ -O2 -c with the same headers: no kernel, no module")
def gxx(salt: int, gpu: bool) -> Trial:
    from tvm_ffi.libinfo import find_include_path

    from tvmffi_cubin.cuda.libraries import find_cuda

    own = ROOT / "include"
    folders = (own / "tvmffi_cubin" / "compat", own, find_include_path(), *find_cuda().include_dirs)
    made = Path(tempfile.gettempdir(), "wrapper.o")
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-fPIC", "-O2", "-c", "-x", "c++", "-"]
    command += [*(f"-I{folder}" for folder in folders), "-o", str(made)]
    text = sources.salted(sources.WRAPPER, salt).encode()

    def run() -> bytes:
        subprocess.run(command, input=text, check=True)
        return made.read_bytes()

    return Trial(run, is_image)


@peer("NVRTC alone", "nvrtcCreateProgram to nvrtcGetCUBIN by cuda.bindings: no module, no launch")
def nvrtc(salt: int, gpu: bool) -> Trial:
    source = sources.salted(sources.AXPY, salt)
    arch = bench.device_arch() if gpu else ARCH
    arrays(gpu)
    compile_ = bench.nvrtc()
    return Trial(lambda: compile_(source, arch), is_image)


COLD.peer(
    "NVRTC alone, in the process of tvmffi_cubin, no wrapper", "as above, after that", name=BESIDE
)(nvrtc)


@peer("CuPy RawKernel", "RawKernel(source, name), the call, wait")
def cupy(salt: int, gpu: bool) -> Trial:
    need_gpu(gpu)
    numpy, cupy = need("numpy"), need("cupy")
    # Copies: cupy.ones would compile a kernel and so load the compiler before the clock starts.
    x = cupy.asarray(numpy.ones(N, dtype=numpy.float32))
    y = cupy.asarray(numpy.zeros(N, dtype=numpy.float32))
    cupy.cuda.Device().synchronize()
    source = sources.salted(sources.AXPY, salt)

    def run() -> None:
        cupy.RawKernel(source, "axpy")((BLOCKS,), (256,), (x, y, numpy.int32(N)))
        cupy.cuda.Device().synchronize()

    return Trial(run, lambda _, wanted: holds(y.get()[-1], wanted))


@peer(
    "cuda.core Program",
    "Program.compile('cubin'), get_kernel, launch, wait; it keeps nothing on disk",
)
def cuda_core(salt: int, gpu: bool) -> Trial:
    need_gpu(gpu)
    core = bench.cuda_core()
    x, y, wait, check = arrays(gpu)
    source = sources.salted(sources.AXPY, salt)
    device, arch = core.Device(), bench.device_arch()
    device.set_current()

    def run() -> None:
        options = core.ProgramOptions(std="c++17", arch=arch)
        program = core.Program(source, code_type="c++", options=options)
        kernel = program.compile("cubin").get_kernel("axpy")
        config = core.LaunchConfig(grid=BLOCKS, block=256)
        arguments = (x.data_ptr(), y.data_ptr(), ctypes.c_int(N))
        core.launch(device.default_stream, config, kernel, *arguments)
        wait()

    return Trial(run, check)


@peer("Triton", "the first call of a @triton.jit kernel that does the same, wait")
def triton(salt: int, gpu: bool) -> Trial:
    need_gpu(gpu)
    need("triton")
    x, y, wait, check = arrays(gpu)
    text = sources.salted(sources.AXPY_TRITON, salt)
    kernel = bench.module_of(text, f"bench_axpy_{salt}").axpy

    def run() -> None:
        kernel[(BLOCKS,)](x, y, N, BLOCK=256)
        wait()

    return Trial(run, check)


def tvm_ffi(build: Callable[[Any], Any], gpu: bool) -> Trial:
    """Return a trial of tvm_ffi.cpp, with which `build` makes a module."""
    need_gpu(gpu)
    need("cuda.bindings")
    cpp = need("tvm_ffi.cpp")
    bench.toolkit()
    x, y, wait, check = arrays(gpu)

    def run() -> None:
        build(cpp).axpy_host(x, y)
        wait()

    return Trial(run, check)


@peer(
    "tvm_ffi, wrapper by g++",
    "nvrtc_compile, load_inline(cpp_sources=wrapper, embed_cubin), the call, wait",
)
def tvm_ffi_gxx(salt: int, gpu: bool) -> Trial:
    text, source = sources.salted(sources.WRAPPER, salt), sources.salted(sources.AXPY, salt)

    def build(cpp: Any) -> Any:
        home = bench.toolkit()
        return cpp.load_inline(
            "bench",
            cpp_sources=text,
            embed_cubin={"kernels": need("tvm_ffi.cpp.nvrtc").nvrtc_compile(source)},
            extra_include_paths=[str(home / "include")],
            extra_ldflags=[f"-L{home / 'lib64'}", "-lcudart"],
        )

    return tvm_ffi(build, gpu)


@peer("tvm_ffi, all by nvcc", "load_inline of kernel and host code in one text, the call, wait")
def tvm_ffi_nvcc(salt: int, gpu: bool) -> Trial:
    text = sources.salted(sources.AXPY_MIXED, salt)
    return tvm_ffi(
        lambda cpp: cpp.load_inline("bench", cuda_sources=text, functions=["axpy_host"]), gpu
    )
