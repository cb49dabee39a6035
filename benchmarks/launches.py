"""CPU time to issue a kernel, with all peers of a section in one process.

In one process, all peers have the same CUDA context and clocks; they take turns in rounds of
launches, with a device synchronization in between. Each is checked before it is timed: with n = -1,
the empty kernel writes. A peer `(a, b, c)` returns a function that makes a call for n, and how many
launches a call does.
"""

from __future__ import annotations

import ctypes
import gc
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import bench
import sources
from bench import Job, Sample, Section, Settings, Skip, Task, failure, need, need_gpu

ROUNDS, QUICK_ROUNDS = 60, 5
# Launches per turn: fewer than the driver queues (1024), so none waits for the device.
CALLS = 500
N, WRITES = 7, -1

Made = Callable[[int], Callable[[], None]]


def once(settings: Settings) -> list[Job]:
    """Return one job, so that one process runs all peers."""
    return [Job("", rare=True)]


def arrays() -> tuple[Any, Any, Any]:
    """Return a = 1, b = 2 and c = 0 as torch tensors."""
    torch = need("torch")
    a, b, c = (torch.full((16,), value, device="cuda") for value in (1.0, 2.0, 0.0))
    return a, b, c


def wait() -> None:
    need("torch").cuda.synchronize()


def check(call: Callable[[], None], c: Any) -> None:
    """Launch so that the kernel writes c = a + b, and check it."""
    c.zero_()
    call()
    wait()
    found = c[0].item()
    assert found == 3.0, f"the kernel was not launched as wanted: c is {found}, not 3"


def issued(section: Section, table: str, writes: int, task: Task) -> Iterator[Sample]:
    """Check the peers of a section's table, then time them in turns."""
    need_gpu(task.settings.gpu)
    given = arrays()
    ready: dict[str, tuple[Callable[[], None], int]] = {}
    for name, peer in section.peers.items():
        try:
            made = peer.run(*given)
            make, each = made if isinstance(made, tuple) else (made, 1)
            check(make(writes), given[-1])
            ready[name] = make(N), each
        except Skip as skip:
            yield Sample(name, reason=str(skip))
        except Exception as error:
            traceback.print_exc()
            wait()  # a broken context is broken for all
            yield failure(name, error)
    rounds = QUICK_ROUNDS if task.settings.quick else ROUNDS
    for name, values in timed(ready, rounds, wait).items():
        yield Sample(name, table, "", tuple(values))


def timed(
    ready: dict[str, tuple[Callable[[], None], int]], rounds: int, wait: Callable[[], None]
) -> dict[str, list[float]]:
    """Return microseconds per launch, by round; each peer has a call and its launches per call."""
    found: dict[str, list[float]] = {peer: [] for peer in ready}
    # As timeit does: a collection would count against whichever peer is running.
    gc.disable()
    for number in range(rounds + 1):
        for peer, (call, each) in ready.items():
            repeat = range(CALLS // each)
            wait()
            start = time.perf_counter()
            for _ in repeat:
                call()
            seconds = time.perf_counter() - start
            # The first round warms up: allocators, lazily created driver state.
            if number > 0:
                found[peer].append(seconds / CALLS * 1e6)
    wait()
    gc.enable()
    return found


# An empty kernel

EMPTY = "launch of an empty kernel"
LAUNCH = Section(
    name="launch",
    title="Launch overhead",
    about=(
        f"CPU time to issue an empty kernel with three pointers and an int: {ROUNDS} rounds of "
        f"{CALLS} launches each, the peers in turns in one process. Arguments are "
        "torch's tensors, but CuPy's own arrays for CuPy. All Python peers are called from the "
        "same loop, which is part of their figure."
    ),
    tables={EMPTY: ("us", "tvmffi_cubin")},
    jobs=once,
    measure=lambda task: issued(LAUNCH, EMPTY, WRITES, task),
)


def image() -> bytes:
    return need("tvmffi_cubin").nvrtc.nvrtc_compile(sources.EMPTY, arch=bench.device_arch())


def calls(function: Callable[..., Any], a: Any, b: Any, c: Any) -> Made:
    return lambda n: lambda: function(a, b, c, n)


def ours(name: str, source: str = sources.EMPTY, **options: Any) -> Any:
    return need("tvmffi_cubin").load_inline(name, source, **options)


@LAUNCH.peer(
    "C++ loop of cuLaunchKernelEx",
    "a loop in C++ with nothing else in it: the floor; one Python call for all launches",
)
def floor(a: Any, b: Any, c: Any) -> tuple[Made, int]:
    loop = ours("floor", sources.EMPTY_FLOOR, embed_cubin={"kernels": image()}).floor_loop
    return lambda n: lambda: loop(a, b, c, n, CALLS), CALLS


@LAUNCH.peer(
    "tvmffi_cubin, no wrapper",
    "mod.k(a, b, c, n): four arguments checked, stream and device looked up",
)
def tvmffi_cubin(*arrays: Any) -> Made:
    launch = need("tvmffi_cubin").Launch(grid=1, block=32)
    return calls(ours("shaped", functions={"empty": launch}).empty, *arrays)


@LAUNCH.peer("tvmffi_cubin, k[grid, block](...)", "mod.k[1, 32](a, b, c, n)")
def tvmffi_cubin_brackets(a: Any, b: Any, c: Any) -> Made:
    empty = ours("open").empty
    return lambda n: lambda: empty[1, 32](a, b, c, n)


@LAUNCH.peer("tvmffi_cubin, k[grid, block] kept", "f(a, b, c, n) with f = mod.k[1, 32] made once")
def tvmffi_cubin_configured(*arrays: Any) -> Made:
    return calls(ours("open").empty[1, 32], *arrays)


@LAUNCH.peer(
    "tvmffi_cubin, torch operator",
    "torch.ops.ns.k(a, b, c, n), as torch_library registers it: torch's dispatcher is in between",
)
def tvmffi_cubin_operator(*arrays: Any) -> Made:
    launch = need("tvmffi_cubin").Launch(grid=1, block=32)
    ours("operator", functions={"empty": launch}, torch_library="bench")
    return calls(need("torch").ops.bench.empty, *arrays)


@LAUNCH.peer(
    "tvmffi_cubin, own wrapper",
    "mod.run(a, b, c, n), the CUBIN launcher guide's wrapper over this package's header",
)
def tvmffi_cubin_wrapper(*arrays: Any) -> Made:
    mod = ours("own", sources.EMPTY_WRAPPER, embed_cubin={"kernels": image()})
    return calls(mod.run, *arrays)


@LAUNCH.peer(
    "tvm_ffi, hand-written wrapper",
    "mod.run(a, b, c, n), the same wrapper over tvm-ffi's header, built by nvcc",
)
def tvm_ffi(*arrays: Any) -> Made:
    cpp = need("tvm_ffi.cpp")
    bench.toolkit()
    embedded = {"kernels": image()}
    mod = cpp.load_inline("theirs", cuda_sources=sources.EMPTY_WRAPPER, embed_cubin=embedded)
    return calls(mod.run, *arrays)


@LAUNCH.peer(
    "CuPy RawKernel", "kernel((1,), (32,), (a, b, c, n)): CuPy's arrays, n an np.int32 made once"
)
def cupy(a: Any, b: Any, c: Any) -> Made:
    numpy, cupy = need("numpy"), need("cupy")
    kernel = cupy.RawKernel(sources.EMPTY, "empty")
    # CuPy arrays of the tensors' memory, so the check sees what the kernel writes.
    x, y, z = (cupy.from_dlpack(array) for array in (a, b, c))
    grid, block = (1,), (32,)

    def make(n: int) -> Callable[[], None]:
        last = numpy.int32(n)
        return lambda: kernel(grid, block, (x, y, z, last))

    return make


@LAUNCH.peer(
    "cuda.core launch",
    "launch(stream, config, kernel, a.data_ptr(), ..., n): unchecked, n a c_int made once",
)
def cuda_core(a: Any, b: Any, c: Any, **shape: Any) -> Made:
    core = bench.cuda_core()
    device = core.Device()
    device.set_current()
    options = core.ProgramOptions(std="c++17", arch=bench.device_arch())
    program = core.Program(sources.EMPTY, code_type="c++", options=options)
    kernel = program.compile("cubin").get_kernel("empty")
    stream, config = device.default_stream, core.LaunchConfig(**{"grid": 1, "block": 32, **shape})
    launch = core.launch

    def make(n: int) -> Callable[[], None]:
        last = ctypes.c_int(n)
        return lambda: launch(
            stream, config, kernel, a.data_ptr(), b.data_ptr(), c.data_ptr(), last
        )

    return make


@LAUNCH.peer("Triton", "kernel[(1,)](a, b, c, n, num_warps=1)")
def triton(a: Any, b: Any, c: Any) -> Made:
    need("triton")
    kernel = bench.module_of(sources.EMPTY_TRITON, "bench_empty").empty
    return lambda n: lambda: kernel[(1,)](a, b, c, n, num_warps=1)


ADD = "launch of a Triton kernel"
ELEMENTS, BLOCK = 16, 1024
TRITON = Section(
    name="triton_launch",
    title="Launch of a Triton kernel",
    about=(
        f"CPU time to issue a vector addition that Triton has compiled: {ROUNDS} rounds of "
        f"{CALLS} launches each, in turns in one process, over torch's tensors of {ELEMENTS} "
        "elements, so that the device is never what is waited for."
    ),
    tables={ADD: ("us", "tvmffi_cubin")},
    jobs=once,
    measure=lambda task: issued(TRITON, ADD, ELEMENTS, task),
)


def kernel_of_triton() -> Any:
    need("triton")
    return bench.module_of(sources.ADD_TRITON, "bench_add").add


def launched(given: Any) -> Any:
    """Return the kernel as one of our functions, with or without a grid."""
    tc = need("tvmffi_cubin")
    types = "*fp32:16, *fp32:16, *fp32:16, i32:16"
    launch = tc.triton.compile(kernel_of_triton(), types, constexprs={"BLOCK": BLOCK}, grid=given)
    return tc.load_inline("bench_add", functions={"add": launch}).add


def grid(meta: Any) -> tuple[int]:
    return (-(-meta["n"] // meta["BLOCK"]),)


@TRITON.peer(
    "tvmffi_cubin",
    "mod.add(a, b, c, n): the grid an expression, multiples of 16 checked",
    name="tvmffi_cubin",
)
def triton_by_expression(a: Any, b: Any, c: Any) -> Made:
    add = launched("ceil_div(n, BLOCK)")
    return lambda _: lambda: add(a, b, c, ELEMENTS)


_GRID = '[lambda meta: (cdiv(meta["n"], meta["BLOCK"]),)]'


@TRITON.peer("tvmffi_cubin, a grid in Python", f"mod.add{_GRID}(a, b, c, n)")
def tvmffi_cubin_function(a: Any, b: Any, c: Any) -> Made:
    add = launched(None)
    return lambda _: lambda: add[grid](a, b, c, ELEMENTS)


@TRITON.peer("Triton", f"add{_GRID}(a, b, c, n, BLOCK=1024)")
def triton_function(a: Any, b: Any, c: Any) -> Made:
    add = kernel_of_triton()
    return lambda _: lambda: add[grid](a, b, c, ELEMENTS, BLOCK=BLOCK)


@TRITON.peer(
    "Triton, its compiled kernel",
    "kernel[(1, 1, 1)](a, b, c, n, 1024): nothing is specialised or looked up",
)
def triton_compiled(a: Any, b: Any, c: Any) -> Made:
    kernel = kernel_of_triton()[(1,)](a, b, c, ELEMENTS, BLOCK=BLOCK)
    return lambda _: lambda: kernel[(1, 1, 1)](a, b, c, ELEMENTS, BLOCK)
