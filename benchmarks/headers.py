"""Sources that include much: compiled first, then edited, then edited again, in one process.

The caches are empty before the first. What is edited is the kernel's own text, or the wrapper's.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import kernels
import tools
from section import Job, Peer, Sample, Section, Settings, Task

CASES = ("first", "edited", "edited again")
FP16, GROUPS = "cuda_fp16.h", "cooperative_groups.h"
STD = "cuda/std/optional"
SCAN, REDUCE = "cub/block/block_scan.cuh", "cub/block/block_reduce.cuh"
WRAPPER = "a wrapper with tvm-ffi's headers"
QUICK = (FP16,)
HEADERS = (FP16, GROUPS, STD, SCAN, REDUCE)

SOURCES = {
    FP16: r"""
#include <cuda_fp16.h>
extern "C" __global__ void scale(__half* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != -SALT) x[i] = __hmul(x[i], __float2half(2.0f));
}
""",
    GROUPS: r"""
#include <cooperative_groups.h>
extern "C" __global__ void scale(float* x, int n) {
  auto block = cooperative_groups::this_thread_block();
  int i = blockIdx.x * blockDim.x + block.thread_rank();
  if (i < n && i != -SALT) x[i] *= 2.0f;
  block.sync();
}
""",
    STD: r"""
#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/tuple>
extern "C" __global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::std::optional<float> found;
  if (i < n && i != -SALT) found = x[i];
  cuda::std::array<float, 2> by{2.0f, 3.0f};
  if (found) x[i] = *found * cuda::std::get<0>(by);
}
""",
    SCAN: r"""
#include <cub/block/block_scan.cuh>
extern "C" __global__ void scale(int* x, int n) {
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage storage;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n && i != -SALT ? x[i] : 0;
  Scan(storage).InclusiveSum(value, value);
  if (i < n) x[i] = value;
}
""",
    REDUCE: r"""
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void scale(int* x, int n) {
  using Reduce = cub::BlockReduce<int, 256>;
  __shared__ typename Reduce::TempStorage storage;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n && i != -SALT ? x[i] : 0;
  int sum = Reduce(storage).Sum(value);
  if (threadIdx.x == 0 && i < n) x[i] = sum;
}
""",
}

PEERS = (
    Peer("tvmffi_cubin", "tvmffi_cubin", "nvrtc.compile to the cubin"),
    Peer(
        "tvmffi_cubin_plain",
        "tvmffi_cubin, neither precompiled headers nor CCCL's shorter lists",
        "nvrtc.compile to the cubin with TVMFFI_CUBIN_PCH=off, which turns both off",
    ),
    Peer("tvm_ffi", "tvm_ffi", "cpp.nvrtc.nvrtc_compile to the cubin"),
    Peer("cuda_core", "cuda.core Program", "Program.compile('cubin') with the options' defaults"),
)
WRAPPER_PEERS = (
    Peer(
        "tvmffi_cubin_wrapper",
        "tvmffi_cubin",
        "build_inline(cpp_sources=wrapper, embed_cubin=an image that is there) to the .so",
    ),
    Peer(
        "tvmffi_cubin_wrapper_plain",
        "tvmffi_cubin, no precompiled headers",
        "the same with TVMFFI_CUBIN_PCH=off",
    ),
    Peer("tvm_ffi_wrapper", "tvm_ffi", "cpp.build_inline of the same by g++ to the .so"),
)


def title(header: str) -> str:
    return header if header == WRAPPER else f"#include <{header}>"


def jobs(settings: Settings) -> list[Job]:
    found = []
    for header in (*(QUICK if settings.quick else HEADERS), WRAPPER):
        for peer in WRAPPER_PEERS if header == WRAPPER else PEERS:
            ours = peer.name.startswith("tvmffi_cubin")
            if settings.quick and not ours:
                continue
            cells = tuple((peer.name, title(header), case) for case in CASES)
            found.append(Job(peer.name, header, cells, few=not ours))
    return found


def measure(task: Task) -> list[Sample]:
    """Compile three times in this process, with caches of its own."""
    # Something may still be written in the background when the figures are there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = os.environ["TVM_FFI_CACHE_DIR"] = folder
        os.environ["TVMFFI_CUBIN_PCH"] = "off" if task.job.endswith("_plain") else "on"
        run: Callable[[str], Any] = globals()[task.job.removesuffix("_plain")]()
        samples = []
        for number, case in enumerate(CASES):
            text = source(task.argument, task.salt * len(CASES) + number)
            start = time.perf_counter()
            made = run(text)
            seconds = time.perf_counter() - start
            check(made)
            samples.append(Sample(task.job, title(task.argument), case, (seconds * 1e3,)))
            if task.job == "tvmffi_cubin_wrapper":
                # Who edits a source takes longer than the precompiled header, made beside, does.
                tools.need("tvmffi_cubin.host_pch").settle()
    return samples


def source(header: str, salt: int) -> str:
    if header == WRAPPER:
        return kernels.wrapper(["axpy"], salt)
    return kernels.salted(SOURCES[header], salt)


def check(made: Any) -> None:
    """Look for the kernel in an image, for the exported function in a shared object."""
    if isinstance(made, bytes):
        assert made.startswith(b"\x7fELF"), "not an image"
        assert b"scale" in made, "an image without the kernel"
        return
    with open(made, "rb") as file:
        assert b"__tvm_ffi_axpy_host\0" in file.read(), f"{made} does not export axpy_host"


def axpy_image() -> bytes:
    tc = tools.need("tvmffi_cubin")
    image: bytes = tc.nvrtc.nvrtc_compile(kernels.salted(kernels.AXPY, 1), arch=tools.DEFAULT_ARCH)
    return image


def include_folders() -> list[str]:
    """Return the folders of CUDA's and CCCL's headers that this package uses."""
    from tvmffi_cubin.cuda.libraries import find_cuda

    return [str(folder) for folder in find_cuda().include_dirs]


def tvmffi_cubin() -> Callable[[str], Any]:
    nvrtc = tools.need("tvmffi_cubin").nvrtc
    return lambda text: nvrtc.compile(text, arch=tools.DEFAULT_ARCH).image


def tvmffi_cubin_wrapper() -> Callable[[str], Any]:
    tc = tools.need("tvmffi_cubin")
    image = axpy_image()
    return lambda text: tc.build_inline("headers", cpp_sources=text, embed_cubin={"kernels": image})


def tvm_ffi() -> Callable[[str], Any]:
    tools.need("cuda.bindings")
    nvrtc = tools.need("tvm_ffi.cpp.nvrtc")
    options = [f"-I{folder}" for folder in include_folders()]
    arch = tools.DEFAULT_ARCH
    return lambda text: nvrtc.nvrtc_compile(text, arch=arch, extra_opts=options)


def tvm_ffi_wrapper() -> Callable[[str], Any]:
    cpp = tools.need("tvm_ffi.cpp")
    options, image = tools.tvm_ffi_gxx(), axpy_image()
    return lambda text: cpp.build_inline(
        "headers", cpp_sources=text, embed_cubin={"kernels": image}, **options
    )


def cuda_core() -> Callable[[str], Any]:
    core = tools.cuda_core()
    options = core.ProgramOptions(
        std="c++17", arch=tools.DEFAULT_ARCH, include_path=include_folders()
    )

    def run(text: str) -> Any:
        return core.Program(text, code_type="c++", options=options).compile("cubin").code

    return run


SECTION = Section(
    name="headers",
    title="Sources that include much",
    about=(
        "Compiled for the first time in a process, with empty caches, then edited and compiled "
        "again, twice. A wrapper's precompiled header is made in the background; it is there when "
        "the wrapper is edited."
    ),
    peers=(*PEERS, *WRAPPER_PEERS),
    units={title(header): "ms" for header in (*HEADERS, WRAPPER)},
    references={
        **{title(header): "tvmffi_cubin" for header in HEADERS},
        WRAPPER: "tvmffi_cubin_wrapper",
    },
    jobs=jobs,
    measure=measure,
)
