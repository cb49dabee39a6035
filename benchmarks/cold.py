"""From a source to its first result: a text that no cache has seen, again, and after a restart.

Timed: from the source text as a str to the result being in device memory and waited for. Counted:
lazy imports, loading of compilers, disk caches. Not counted: starting Python, importing the tool,
making the arrays (so there is a CUDA context before the clock runs). What is timed where there is
no GPU, each peer's `without_gpu` says.
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
from bench import ARCH, Job, Sample, Section, Settings, Skip, Task, need, need_gpu

RESULT, SO, CUBIN = "source to first result", "source to module", "source to cubin"
FRESH, AGAIN, RESTARTED = "new source", "again, same process", "again, new process"
ANOTHER = "another new source, same process"
# Far from the salts of all rounds and peers.
ANOTHER_SALT = 1_000_000_000
INSTALLED, COMPILE = "tvmffi_cubin_installed", "tvmffi_cubin_compile"
NVCC = ("tvm_ffi_cubin", "tvm_ffi_nvcc")
# Several seconds a time.
RARE = (*NVCC, "tvm_ffi_gxx", INSTALLED)
ROOT = Path(__file__).resolve().parents[1]
N = 1000
BLOCKS = (N + 255) // 256


class Trial(NamedTuple):
    """`run` goes from the source to the result; `value` reads y[-1] back (None: nothing launched),
    `artifact` says whether what `run` returned is what was wanted."""

    run: Callable[[], Any]
    value: Callable[[], float] | None
    artifact: Callable[[Any], bool]


def jobs(settings: Settings) -> Iterator[Job]:
    """Yield for each peer a job with new sources, and one with the first after a restart."""
    for name in SECTION.peers:
        theirs = name in (*NVCC, "tvm_ffi_gxx")
        if (name == COMPILE and settings.gpu) or (theirs and settings.quick):
            continue
        rare = name in RARE
        yield Job(name, FRESH, rare)
        if name not in (INSTALLED, "nvrtc"):
            yield Job(name, RESTARTED, rare or not name.startswith("tvmffi_cubin"))


def measure(task: Task) -> Iterable[Sample]:
    """Time a peer in this process."""
    gpu, make = task.settings.gpu, SECTION.peers[task.peer].run
    of_cubins = task.peer in (COMPILE, "nvrtc", "cuda_core", "triton")
    table = RESULT if gpu else CUBIN if of_cubins else SO
    if task.peer == INSTALLED:
        yield Sample(task.peer, table, FRESH, make(task))
        return
    trial = make(task.salt, gpu)
    yield Sample(task.peer, table, task.argument, (timed(trial, 1),))
    if task.argument == FRESH:
        yield Sample(task.peer, table, AGAIN, (timed(trial, 2),))
        another = make(task.salt + ANOTHER_SALT, gpu)
        yield Sample(task.peer, table, ANOTHER, (timed(another, 1),))


def timed(trial: Trial, count: int) -> float:
    """Return the milliseconds of the `count`-th way from source to result, which is checked."""
    start = time.perf_counter()
    made = trial.run()
    seconds = time.perf_counter() - start
    assert trial.artifact(made), f"not what was wanted: {made!r}"
    if trial.value is not None:
        found = trial.value()
        assert found == 2.0 * count, f"y is {found}, wanted {2.0 * count}"
    return seconds * 1e3


SECTION = Section(
    title="Source to first result",
    about=(
        "In a fresh process, imports of the tool itself not counted but what it imports later; "
        "each round has a source that no cache has seen. Then the same source again in that "
        "process, another new one there, and the first in a new process, where disk caches answer. "
        "Without a GPU nothing is launched, "
        "and what a peer still does is compared with what this package has to do the same."
    ),
    tables={
        RESULT: ("ms", "tvmffi_cubin"),
        SO: ("ms", "tvmffi_cubin"),
        CUBIN: ("ms", COMPILE),
    },
    jobs=jobs,
    measure=measure,
)
SECTIONS = {"cold": SECTION}
peer = SECTION.peer
_LOADED = "load_inline to the loaded module, no launch"
_COMPILED = "to the cubin, in memory: no module, no launch"


def is_made(made: Any) -> bool:
    return made is not None


def is_image(made: Any) -> bool:
    return bytes(made[:4]) == b"\x7fELF"


def is_file(made: Any) -> bool:
    return os.path.getsize(made) > 0


def arrays(gpu: bool) -> tuple[Any, Any, Callable[[], None], Callable[[], float] | None]:
    """Return x = 1 and y = 0 as torch's tensors, how to wait, and how to read y[-1]."""
    if not gpu:
        return None, None, lambda: None, None
    torch = need("torch")
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    return x, y, torch.cuda.synchronize, lambda: y[-1].item()


def ours(source: str | list[str], function: str, gpu: bool, **options: Any) -> Trial:
    need("tvm_ffi")
    tc = need("tvmffi_cubin")
    x, y, wait, value = arrays(gpu)
    # With a GPU its architecture is asked for, as for a user who names none.
    arch = None if gpu else ARCH

    def run() -> Any:
        mod = tc.load_inline("bench", source, arch=arch, **options)
        if gpu:
            getattr(mod, function)(x, y)
            wait()
        return mod

    return Trial(run, value, lambda mod: hasattr(mod, function))


@peer(
    "tvmffi_cubin, no wrapper",
    "load_inline with functions={name: Launch}, the call, synchronize",
    without_gpu=_LOADED,
)
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
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, text=True, check=False, **output)
        if done.returncode:
            raise RuntimeError(done.stdout[-2000:])

    with tempfile.TemporaryDirectory() as folder:
        dist, place = Path(folder, "dist"), Path(folder, "site")
        succeed(sys.executable, ROOT / "scripts" / "wheel.py", dist)
        (wheel,) = dist.glob(f"*_{os.uname().machine}.whl")
        # With its bytecode.
        succeed(sys.executable, "-m", "pip", "install", "--no-deps", "--target", place, wheel)
        path = os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH"))))
        own = task._replace(peer="tvmffi_cubin")
        found = next(runner.run("cold", own, Path(folder, "caches"), PYTHONPATH=path))
    if found.reason:
        raise RuntimeError(found.reason)
    return found.values


@peer(
    "tvmffi_cubin, own wrapper",
    "load_inline(cuda_sources=[kernels, wrapper]), the call, synchronize",
    without_gpu=_LOADED,
)
def tvmffi_cubin_wrapper(salt: int, gpu: bool) -> Trial:
    texts = [sources.salted(sources.AXPY, salt), sources.wrapper(["axpy"], salt)]
    return ours(texts, "axpy_host", gpu)


@peer("tvmffi_cubin, nvrtc.compile", f"nvrtc.compile {_COMPILED}; it keeps nothing")
def tvmffi_cubin_compile(salt: int, gpu: bool) -> Trial:
    nvrtc = need("tvmffi_cubin").nvrtc
    source = sources.salted(sources.AXPY, salt)
    return Trial(lambda: nvrtc.compile(source, arch=ARCH).image, None, is_image)


@peer("NVRTC alone", "nvrtcCreateProgram to nvrtcGetCUBIN by cuda.bindings: no module, no launch")
def nvrtc(salt: int, gpu: bool) -> Trial:
    source = sources.salted(sources.AXPY, salt)
    arch = bench.device_arch() if gpu else ARCH
    arrays(gpu)
    compile_ = bench.nvrtc()
    return Trial(lambda: compile_(source, arch), None, is_image)


@peer("CuPy RawKernel", "RawKernel(source, name), the call, synchronize")
def cupy(salt: int, gpu: bool) -> Trial:
    numpy, cupy = need("numpy"), need("cupy")
    need_gpu(gpu, "CuPy compiles for the current device")
    # Copies, where cupy.ones would compile a kernel and so load the compiler before the clock runs.
    x = cupy.asarray(numpy.ones(N, dtype=numpy.float32))
    y = cupy.asarray(numpy.zeros(N, dtype=numpy.float32))
    cupy.cuda.Device().synchronize()
    source = sources.salted(sources.AXPY, salt)

    def run() -> Any:
        kernel = cupy.RawKernel(source, "axpy")
        kernel((BLOCKS,), (256,), (x, y, numpy.int32(N)))
        cupy.cuda.Device().synchronize()
        return kernel

    return Trial(run, lambda: float(y.get()[-1]), is_made)


@peer(
    "cuda.core Program",
    "Program.compile('cubin'), get_kernel, launch, synchronize; it keeps nothing on disk",
    without_gpu=f"Program.compile('cubin') {_COMPILED}; it keeps nothing",
)
def cuda_core(salt: int, gpu: bool) -> Trial:
    core = bench.cuda_core()
    x, y, wait, value = arrays(gpu)
    source = sources.salted(sources.AXPY, salt)
    if gpu:
        device = core.Device()
        device.set_current()

    def compiled(arch: str) -> Any:
        options = core.ProgramOptions(std="c++17", arch=arch)
        return core.Program(source, code_type="c++", options=options).compile("cubin")

    def run() -> Any:
        if not gpu:
            return compiled(ARCH).code
        major, minor = device.compute_capability
        kernel = compiled(f"sm_{major}{minor}").get_kernel("axpy")
        config = core.LaunchConfig(grid=BLOCKS, block=256)
        arguments = (x.data_ptr(), y.data_ptr(), ctypes.c_int(N))
        core.launch(device.default_stream, config, kernel, *arguments)
        wait()
        return kernel

    return Trial(run, value, is_made if gpu else is_image)


@peer(
    "Triton",
    "the first call of a @triton.jit kernel that does the same, synchronize",
    without_gpu=f"triton.compile {_COMPILED}",
)
def triton(salt: int, gpu: bool) -> Trial:
    triton = need("triton")
    x, y, wait, value = arrays(gpu)
    text = sources.salted(sources.AXPY_TRITON, salt)
    kernel = bench.module_of(text, f"bench_axpy_{salt}").axpy

    def launched() -> Any:
        kernel[(BLOCKS,)](x, y, N, BLOCK=256)
        wait()
        return kernel

    def compiled() -> Any:
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        types = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
        source = ASTSource(kernel, types, {"BLOCK": 256})
        return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]

    return Trial(launched, value, is_made) if gpu else Trial(compiled, None, is_image)


@peer(
    "torch.cuda._compile_kernel", "_compile_kernel, the call, synchronize; it keeps nothing on disk"
)
def torch_kernel(salt: int, gpu: bool) -> Trial:
    torch = need("torch")
    if not hasattr(torch.cuda, "_compile_kernel"):
        raise Skip(f"torch {torch.__version__} has no torch.cuda._compile_kernel")
    need_gpu(gpu, "torch compiles for the current device")
    x, y, wait, value = arrays(gpu)
    source = sources.salted(sources.AXPY, salt)

    def run() -> Any:
        kernel = torch.cuda._compile_kernel(source, "axpy")
        kernel(grid=(BLOCKS, 1, 1), block=(256, 1, 1), args=[x, y, N])
        wait()
        return kernel

    return Trial(run, value, is_made)


def tvm_ffi(build: Callable[[Callable[..., Any]], Any], gpu: bool) -> Trial:
    """Return a trial of tvm_ffi.cpp: `build` calls the function that it is given."""
    cpp = need("tvm_ffi.cpp")
    x, y, wait, value = arrays(gpu)
    if not gpu:
        os.environ.setdefault("TVM_FFI_CUDA_ARCH_LIST", "9.0a")

    def run() -> Any:
        made = build(cpp.load_inline if gpu else cpp.build_inline)
        if gpu:
            made.axpy_host(x, y)
            wait()
        return made

    return Trial(run, value, is_made if gpu else is_file)


def tvm_ffi_launcher(kind: str, salt: int, gpu: bool, **options: Any) -> Trial:
    """Return a trial of a wrapper over tvm-ffi's launcher header, as a source of some kind."""
    need("cuda.bindings")
    text, source = sources.wrapper(["axpy"], salt), sources.salted(sources.AXPY, salt)

    def build(function: Callable[..., Any]) -> Any:
        from tvm_ffi.cpp import nvrtc

        image = nvrtc.nvrtc_compile(source, arch=None if gpu else ARCH)
        return function("bench", **{kind: text}, embed_cubin={"kernels": image}, **options)

    return tvm_ffi(build, gpu)


@peer(
    "tvm_ffi, wrapper by g++",
    "nvrtc_compile, load_inline(cpp_sources=wrapper, embed_cubin), the call, synchronize",
    without_gpu="nvrtc_compile, build_inline(cpp_sources=wrapper, embed_cubin) to the .so",
)
def tvm_ffi_gxx(salt: int, gpu: bool) -> Trial:
    if gpu:
        bench.toolkit()
    return tvm_ffi_launcher("cpp_sources", salt, gpu, **bench.tvm_ffi_gxx())


@peer(
    "tvm_ffi, wrapper by nvcc",
    "nvrtc_compile, load_inline(cuda_sources=wrapper, embed_cubin), the call, synchronize",
    without_gpu="nvrtc_compile, build_inline(cuda_sources=wrapper, embed_cubin) to the .so",
)
def tvm_ffi_cubin(salt: int, gpu: bool) -> Trial:
    bench.toolkit()
    return tvm_ffi_launcher("cuda_sources", salt, gpu)


@peer(
    "tvm_ffi, all by nvcc",
    "load_inline of kernel and host code in one text, the call, synchronize",
    without_gpu="build_inline of kernel and host code in one text to the .so: not loaded",
)
def tvm_ffi_nvcc(salt: int, gpu: bool) -> Trial:
    bench.toolkit()
    text = sources.salted(sources.AXPY_MIXED, salt)
    return tvm_ffi(
        lambda function: function("bench", cuda_sources=text, functions=["axpy_host"]), gpu
    )
