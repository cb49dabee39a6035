"""Programmatic dependent launch on a real device: the overlap, read off the device's clock."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability() < (9, 0):
    pytest.skip(
        "the GPU has no dependent launches, which begin with sm_90", allow_module_level=True
    )

SOURCE = r"""
__device__ long long now() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
__device__ void spin(int64_t ns) {
  for (long long start = now(); now() - start < ns;) {}
}

// times: when it began and ended; data: what the second kernel waits for.
extern "C" __global__ void first(int64_t* times, float* data, int64_t ns) {
  times[0] = now();
  cudaTriggerProgrammaticLaunchCompletion();
  spin(ns);
  data[0] += 1;
  times[1] = now();
}

extern "C" __global__ void second(int64_t* times, const float* data, float* out, int64_t ns) {
  times[2] = now();
  spin(ns);
  cudaGridDependencySynchronize();
  times[3] = now();
  out[0] = data[0];
}
"""

NS = 5_000_000  # longer than a busy host takes between two launches
PARAMS = "int64_t* times, float* data, float* out, int64_t ns, bool early"


@pytest.fixture(scope="module")
def pair():
    """A function of times, data, ns, out, early: the kernels' parameters as they first appear."""
    launches = [
        tc.Launch(kernel="first", grid=1, block=1),
        tc.Launch(
            kernel="second", grid=1, block=1, params=PARAMS, programmatic_dependent_launch="early"
        ),
    ]
    return tc.load_inline("gpu_pdl", SOURCE, functions={"pair": launches}).pair


@pytest.fixture
def arrays():
    times = torch.zeros(4, dtype=torch.int64, device="cuda")
    return times, torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda")


@pytest.mark.parametrize("early", [True, False])
def test_the_overlap_is_kept_in_a_cuda_graph(pair, arrays, early):
    times, data, out = arrays
    pair(times, data, 1, out, early)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pair(times, data, NS, out, early)
    for replay in range(3):
        graph.replay()
        _, end, second_begin, second_go = times.tolist()
        assert (second_begin < end) == early
        assert second_go >= end
        assert out.item() == data.item() == replay + 2


@pytest.mark.parametrize("name", ["programmatic_event", "launch_completion_event"])
def test_an_event_of_the_launch_is_what_another_stream_waits_for(arrays, name):
    times, data, out = arrays
    delay, mark = torch.zeros_like(times), torch.zeros_like(times)
    functions = {"first": tc.Launch(grid=1, block=1), "second": tc.Launch(grid=1, block=1)}
    mod = tc.load_inline("gpu_pdl_calls", SOURCE, functions=functions)
    side, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=False)
    mod.second.on(side)(mark, data, out, 1)  # loaded
    event.record()  # made when first recorded, and done: who waits for that does not wait
    torch.cuda.synchronize()
    mod.first(delay, data, NS)
    mod.first.configure(**{name: event.cuda_event})(times, data, NS)
    side.wait_event(event)
    mod.second.on(side)(mark, data, out, 1)
    torch.cuda.synchronize()
    assert delay[1] <= times[0]
    assert times[0] <= mark[2]  # and not before, when the event of old was done already
    assert data.item() == 2


@pytest.mark.parametrize(
    "options",
    [
        {"priority": -1, "cooperative": True},
        {"mem_sync_domain": "remote"},
        {"attributes": {14: (50).to_bytes(4, "little")}},
    ],
    ids=lambda options: "-".join(options),
)
def test_the_driver_takes_the_other_attributes(options, arrays):
    times, data, _ = arrays
    mod = tc.load_inline("gpu_pdl_calls", SOURCE, functions={"first": tc.Launch(grid=1, block=1)})
    mod.first.configure(**options)(times, data, 1)
    assert data.item() == 1
