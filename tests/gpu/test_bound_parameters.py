"""Bound parameters on a device: counts per block, from Python and C++, in threads, in graphs."""

from __future__ import annotations

import pytest
from processes import together

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from .counting import synchronize  # noqa: E402

KERNELS = r"""
#define COUNT                                                                        \
  if (counters != nullptr && blockIdx.x < limit) {                                   \
    atomicAdd(&counters[blockIdx.x], static_cast<unsigned long long>(weight));       \
  }
extern "C" __global__ void add_one(int* x, int n, unsigned long long* counters, unsigned limit,
                                   unsigned weight) {
  COUNT
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
extern "C" __global__ void tell(unsigned long long* out, unsigned long long* counters,
                                unsigned limit, unsigned weight) {
  out[0] = reinterpret_cast<unsigned long long>(counters);
  out[1] = limit;
  out[2] = weight;
}
"""
WRAPPER = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

void AddOne(tvm::ffi::TensorView x) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void* data = x.data_ptr();
  int n = static_cast<int>(x.size(0));
  void* args[] = {&data, &n};
  int device = x.device().device_id;
  tvmffi_cubin::LaunchConfig config((n + 127) / 128, 128);
  config.SetDevice(device);
  config.SetStream(static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device)));
  tvmffi_cubin::CheckDriver(kernel.Launch(args, config));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one_in_cpp, AddOne);
"""
NAMES = ["counters", "limit", "weight"]
FUNCTIONS = {
    "add_one": tc.Launch(grid="ceil_div(n, 128)", block=128, args={"n": "x.numel"}),
    "tell": tc.Launch(grid=1, block=1),
}


@pytest.fixture(scope="module")
def built() -> tc.Module:
    return tc.load_inline("gpu_bound", [KERNELS, WRAPPER], functions=FUNCTIONS, bound_params=NAMES)


@pytest.fixture
def mod(built):
    """The module, with nothing bound."""
    built.bind(**dict.fromkeys(NAMES))
    yield built
    synchronize()
    built.bind(**dict.fromkeys(NAMES))


def counters(size: int = 8, device: str | torch.device = "cuda") -> torch.Tensor:
    # torch fills no uint64, and views them.
    return torch.zeros(size, dtype=torch.int64, device=device).view(torch.uint64)


def numbers(tensor: torch.Tensor) -> list[int]:
    return tensor.view(torch.int64).tolist()


def test_binds_while_eight_threads_launch_lose_no_count_and_mix_no_pair(mod):
    rounds, threads = 400, 8
    buffers = [counters(1) for _ in range(16)]
    addresses = {buffer.data_ptr(): number + 1 for number, buffer in enumerate(buffers)}
    outs = [torch.zeros(rounds, 3, dtype=torch.int64, device="cuda") for _ in range(threads)]
    x = [torch.zeros(128, dtype=torch.int32, device="cuda") for _ in range(threads)]
    mod.bind(counters=buffers[0], limit=1, weight=1)
    synchronize()

    def work(index: int) -> None:
        if index >= threads:
            for turn in range(20 * len(buffers)):
                number = turn % len(buffers)
                mod.bind(counters=buffers[number], limit=number + 1, weight=number + 1)
            return
        for turn in range(rounds):
            mod.tell(outs[index][turn].view(torch.uint64))
            (mod.add_one if turn % 2 else mod.add_one_in_cpp)(x[index])

    together(threads + 1, work)
    synchronize()
    for out in outs:
        for address, limit, weight in out.tolist():
            assert (addresses[address], addresses[address]) == (limit, weight)
    # Each of the launches added the weight that belongs to its buffer, once a thread.
    weighted = [numbers(buffer)[0] / (number + 1) for number, buffer in enumerate(buffers)]
    assert sum(weighted) == 128 * rounds * threads
    assert all((y.cpu() == rounds).all() for y in x)


def test_a_graph_keeps_what_was_bound_when_it_was_captured(mod):
    x = torch.zeros(1024, dtype=torch.int32, device="cuda")
    first, second = counters(), counters()
    mod.bind(counters=first, limit=8, weight=1)
    mod.add_one(x)
    mod.add_one_in_cpp(x)
    graph = torch.cuda.CUDAGraph()
    synchronize()
    with torch.cuda.graph(graph):
        mod.add_one(x)
        mod.add_one_in_cpp(x)
    mod.bind(counters=second)
    graph.replay()
    synchronize()
    assert numbers(first) == [4 * 128] * 8
    assert numbers(second) == [0] * 8
    mod.add_one(x)
    synchronize()
    assert numbers(second) == [128] * 8
