"""Mixed sources on a real device: streams, several devices, graphs, and functions that throw."""

from __future__ import annotations

import threading

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from .counting import all_devices, synchronize  # noqa: E402

TENTH = 200_000_000  # cycles, about a tenth of a second

SOURCE = r"""
#include <tvm/ffi/extra/cuda/device_guard.h>

#include <stdexcept>

using tvm::ffi::TensorView;

__device__ int launches;

__global__ void add(float* x, float value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
  if (i == 0) atomicAdd(&launches, 1);
}

__global__ void slow_add(float* x, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
  x[0] += 1;
}

static cudaStream_t stream_of(TensorView x) {
  return static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
}

static void launch(TensorView x, float value, cudaStream_t stream) {
  const int n = static_cast<int>(x.numel());
  add<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()), value, n);
}

int64_t stream(TensorView x) { return reinterpret_cast<int64_t>(stream_of(x)); }
void on_stream(TensorView x, double value) { launch(x, value, stream_of(x)); }
void slow(TensorView x, int64_t cycles) {
  slow_add<<<1, 1, 0, stream_of(x)>>>(static_cast<float*>(x.data_ptr()), cycles);
}

// Where launches go, and device variables are.
void by_default(TensorView x, double value) {
  tvm::ffi::CUDADeviceGuard guard(x.device().device_id);
  launch(x, value, nullptr);
}
void both(TensorView x, TensorView y) {
  by_default(x, 1);
  by_default(y, 2);
  by_default(x, 3);
}
int launches_on(int device) {
  tvm::ffi::CUDADeviceGuard guard(device);
  int count = -1;
  TVM_FFI_ICHECK_EQ(cudaMemcpyFromSymbol(&count, launches, sizeof(count)), cudaSuccess);
  return count;
}
int current_device() {
  int device = -1;
  cudaGetDevice(&device);
  return device;
}

// The thread's own default stream.
void on_threads_own(TensorView x, int64_t cycles) {
  slow_add<<<1, 1, 0, cudaStreamPerThread>>>(static_cast<float*>(x.data_ptr()), cycles);
}
bool threads_own_is_done() { return cudaStreamQuery(cudaStreamPerThread) == cudaSuccess; }
void wait_for_threads_own() { cudaStreamSynchronize(cudaStreamPerThread); }

// Several launches, and a copy between them.
void steps(TensorView x, TensorView y) {
  launch(x, 1, stream_of(x));
  cudaMemcpyAsync(y.data_ptr(), x.data_ptr(), x.numel() * sizeof(float), cudaMemcpyDeviceToDevice,
                  stream_of(x));
  for (int i = 0; i < 3; ++i) launch(y, 10, stream_of(x));
}

static float checked(int value) {
  if (value < 0) throw std::runtime_error("value is negative");
  return value;
}
void half_way(TensorView x, int how) {
  launch(x, 1, stream_of(x));
  if (how == 1) TVM_FFI_THROW(ValueError) << "half way";
  // The configuration is there when an argument throws.
  auto* data = static_cast<float*>(x.data_ptr());
  add<<<1, 32, 0, stream_of(x)>>>(data, checked(how == 3 ? -1 : 2), 32);
  if (how == 4) add<<<1, 4096, 0, stream_of(x)>>>(nullptr, 0, 0);
  if (how == 4) throw std::runtime_error("the function's own");
}
"""
FUNCTIONS = [
    *("stream", "on_stream", "slow", "by_default", "both", "launches_on", "current_device"),
    *("on_threads_own", "threads_own_is_done", "wait_for_threads_own", "steps"),
    "half_way",
]

needs_two = pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason="one GPU: a second one is needed"
)


@pytest.fixture(scope="module")
def mod() -> tc.Module:
    return tc.load_inline("gpu_mixed_modules", SOURCE, functions=FUNCTIONS)


def zeros(device: object = "cuda", count: int = 1000) -> torch.Tensor:
    x = torch.zeros(count, device=device)
    torch.cuda.synchronize(x.device)
    return x


# Streams


def test_host_code_is_given_torchs_current_stream(mod):
    x, side = zeros(), torch.cuda.Stream()
    assert mod.stream(x) == torch.cuda.current_stream().cuda_stream
    with torch.cuda.stream(side):
        assert mod.stream(x) == side.cuda_stream
        mod.slow(x, TENTH)
        mod.on_stream(x, 2.0)
    assert not side.query()
    side.synchronize()
    assert (x[0].item(), x[1].item()) == (3, 2)


def test_each_thread_has_a_default_stream_of_its_own(mod):
    x, y = zeros(), zeros()
    seen = []

    def work() -> None:
        mod.on_threads_own(x, 2 * TENTH)
        seen.append(mod.threads_own_is_done())
        launched.set()
        mod.wait_for_threads_own()
        seen.append(mod.threads_own_is_done())

    launched = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    assert launched.wait(60)
    # What this thread waits for is its own kernel alone.
    mod.on_threads_own(y, 0)
    mod.wait_for_threads_own()
    assert mod.threads_own_is_done()
    thread.join()
    assert seen == [False, True]
    assert (x[0].item(), y[0].item()) == (1, 1)


# Devices


def test_a_launch_on_the_default_stream_goes_to_the_current_device(mod):
    for device in all_devices():
        x = zeros(device)
        before = mod.launches_on(device.index)
        with torch.cuda.device(device):
            assert mod.current_device() == device.index
        mod.by_default(x, 2.0)
        synchronize()
        assert (x == 2).all()
        assert mod.launches_on(device.index) == before + 1


@needs_two
def test_a_launch_goes_to_the_device_of_its_stream(mod):
    x, side = zeros("cuda:1"), torch.cuda.Stream("cuda:1")
    before = [mod.launches_on(device) for device in (0, 1)]
    with torch.cuda.stream(side), torch.cuda.device(0):
        assert mod.stream(x) == side.cuda_stream
        mod.on_stream(x, 4.0)
        assert mod.current_device() == 0
    side.synchronize()
    assert (x == 4).all()
    assert [mod.launches_on(device) for device in (0, 1)] == [before[0], before[1] + 1]


@needs_two
def test_one_function_launches_on_both_devices(mod):
    x, y = zeros("cuda:0"), zeros("cuda:1")
    before = [mod.launches_on(device) for device in (0, 1)]
    mod.both(x, y)
    synchronize()
    assert (x == 4).all()
    assert (y == 2).all()
    assert [mod.launches_on(device) for device in (0, 1)] == [before[0] + 2, before[1] + 1]


# Graphs


@pytest.mark.parametrize("loaded", [True, False])
def test_what_a_function_does_is_captured_in_a_graph(loaded, mod):
    x, y = zeros(), zeros()
    if loaded:
        mod.steps(zeros(), zeros())
        torch.cuda.synchronize()
    else:
        mod.unload()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.steps(x, y)
    assert x.sum().item() == 0
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 2).all()
    assert (y == 2 + 30).all()


# What throws


@pytest.mark.parametrize(
    ("how", "kind", "message", "launched"),
    [
        (1, ValueError, "half way", 1),
        (3, RuntimeError, "value is negative", 1),
        (4, RuntimeError, "the function's own", 3),
    ],
)
def test_an_exception_between_launches_leaves_those_before_and_the_next_call(
    how, kind, message, launched, mod
):
    x = zeros(count=32)
    with pytest.raises(kind, match=message):
        mod.half_way(x, how)
    torch.cuda.synchronize()
    assert (x == launched).all()
    mod.half_way(x, 0)
    torch.cuda.synchronize()
    assert (x == launched + 3).all()
