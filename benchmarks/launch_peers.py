"""How each peer launches the empty kernel with three device arrays and an int."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import kernels
import tools
from cold_peers import module_of
from section import Skip

# Launches of one turn: fewer than the driver queues (1024), so that none waits for the device.
CALLS = 500


@dataclass(frozen=True)
class Launches:
    """`make(n)` returns what to call; one call is `each` launches."""

    make: Callable[[int], Callable[[], None]]
    each: int = 1


def arrays() -> tuple[Any, Any, Any]:
    """Return a = 1, b = 2 and c = 0 as torch's tensors."""
    torch = tools.need("torch")
    a, b, c = (torch.full((16,), value, device="cuda") for value in (1.0, 2.0, 0.0))
    return a, b, c


def wait() -> None:
    tools.need("torch").cuda.synchronize()


def check(call: Callable[[], None], c: Any) -> None:
    """Launch with the n by which the kernel writes c = a + b, and look."""
    c.zero_()
    call()
    wait()
    found = c[0].item()
    assert found == 3.0, f"the kernel was not launched as wanted: c is {found}, not 3"


def image() -> bytes:
    return tools.need("tvmffi_cubin").nvrtc.nvrtc_compile(kernels.EMPTY, arch=tools.device_arch())


def floor(a: Any, b: Any, c: Any) -> Launches:
    tc = tools.need("tvmffi_cubin")
    loop = tc.load_inline("floor", kernels.EMPTY_FLOOR, embed_cubin={"kernels": image()}).floor_loop
    return Launches(lambda n: lambda: loop(a, b, c, n, CALLS), CALLS)


def tvmffi_cubin(a: Any, b: Any, c: Any) -> Launches:
    tc = tools.need("tvmffi_cubin")
    shape = {"empty": tc.Launch(grid=1, block=32)}
    empty = tc.load_inline("shaped", kernels.EMPTY, functions=shape).empty
    return Launches(lambda n: lambda: empty(a, b, c, n))


def of_instances(count: int, a: Any, b: Any, c: Any) -> Launches:
    """One function over so many types, of which the arguments fit the last alone."""
    tc = tools.need("tvmffi_cubin")
    over = tc.Launch(kernel="empty<T>", grid=1, block=32).over(T=kernels.TYPES[-count:])
    functions = {"empty": over}
    empty = tc.load_inline(f"of_{count}", kernels.EMPTY_OF_TYPES, functions=functions).empty
    return Launches(lambda n: lambda: empty(a, b, c, n))


tvmffi_cubin_of_2 = partial(of_instances, 2)
tvmffi_cubin_of_4 = partial(of_instances, 4)
tvmffi_cubin_of_8 = partial(of_instances, 8)


def tvmffi_cubin_brackets(a: Any, b: Any, c: Any) -> Launches:
    empty = tools.need("tvmffi_cubin").load_inline("open", kernels.EMPTY).empty
    return Launches(lambda n: lambda: empty[1, 32](a, b, c, n))


def tvmffi_cubin_configured(a: Any, b: Any, c: Any) -> Launches:
    empty = tools.need("tvmffi_cubin").load_inline("open", kernels.EMPTY).empty[1, 32]
    return Launches(lambda n: lambda: empty(a, b, c, n))


def tvmffi_cubin_wrapper(a: Any, b: Any, c: Any) -> Launches:
    tc = tools.need("tvmffi_cubin")
    run = tc.load_inline("own", kernels.EMPTY_WRAPPER, embed_cubin={"kernels": image()}).run
    return Launches(lambda n: lambda: run(a, b, c, n))


def tvm_ffi(a: Any, b: Any, c: Any) -> Launches:
    cpp = tools.need("tvm_ffi.cpp")
    tools.toolkit()
    embedded = {"kernels": image()}
    run = cpp.load_inline("theirs", cuda_sources=kernels.EMPTY_WRAPPER, embed_cubin=embedded).run
    return Launches(lambda n: lambda: run(a, b, c, n))


def cupy(a: Any, b: Any, c: Any) -> Launches:
    numpy, cupy = tools.need("numpy"), tools.need("cupy")
    kernel = cupy.RawKernel(kernels.EMPTY, "empty")
    # The tensors' memory as CuPy's arrays, so that the check sees what the kernel writes.
    x, y, z = (cupy.from_dlpack(array) for array in (a, b, c))
    grid, block = (1,), (32,)

    def make(n: int) -> Callable[[], None]:
        last = numpy.int32(n)
        return lambda: kernel(grid, block, (x, y, z, last))

    return Launches(make)


def cuda_core(a: Any, b: Any, c: Any) -> Launches:
    core = tools.cuda_core()
    device = core.Device()
    device.set_current()
    options = core.ProgramOptions(std="c++17", arch=tools.device_arch())
    program = core.Program(kernels.EMPTY, code_type="c++", options=options)
    kernel = program.compile("cubin").get_kernel("empty")
    stream, config = device.default_stream, core.LaunchConfig(grid=1, block=32)
    launch = core.launch

    def make(n: int) -> Callable[[], None]:
        last = ctypes.c_int(n)
        return lambda: launch(
            stream, config, kernel, a.data_ptr(), b.data_ptr(), c.data_ptr(), last
        )

    return Launches(make)


def triton(a: Any, b: Any, c: Any) -> Launches:
    tools.need("triton")
    kernel = module_of(kernels.EMPTY_TRITON, "bench_empty").empty
    return Launches(lambda n: lambda: kernel[(1,)](a, b, c, n, num_warps=1))


def torch_kernel(a: Any, b: Any, c: Any) -> Launches:
    torch = tools.need("torch")
    if not hasattr(torch.cuda, "_compile_kernel"):
        raise Skip(f"torch {torch.__version__} has no torch.cuda._compile_kernel")
    kernel = torch.cuda._compile_kernel(kernels.EMPTY, "empty")
    return Launches(lambda n: lambda: kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[a, b, c, n]))
