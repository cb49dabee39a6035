"""Streams of every library on a real device, CuPy's arrays on a side stream among them."""

from __future__ import annotations

import contextlib

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

SLOW = r"""
extern "C" __global__ void slow(float* x, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  x[0] += 1;
}
"""
TENTH = 200_000_000  # cycles, about a tenth of a second


class Protocol:
    """A stream as cuda.core has them."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.stream.cuda_stream)


def handle(stream: torch.cuda.Stream) -> int:
    return stream.cuda_stream


def of_cupy(stream: torch.cuda.Stream) -> object:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    theirs, ours = cupy.cuda.runtime.runtimeGetVersion() // 1000, tc.nvrtc.version()[0]
    if theirs != ours:
        # CuPy takes whichever NVRTC the process has loaded, and its own family's headers.
        pytest.skip(f"CuPy is of CUDA {theirs}, TVMFFI_CUBIN_CUDA asks for {ours}")
    return cupy.cuda.ExternalStream(stream.cuda_stream)


@pytest.fixture
def slow():
    """A launch that takes a tenth of a second, then adds one."""
    return tc.load_inline("gpu_streams", SLOW).slow[1, 1]


@pytest.mark.parametrize("way", ["on", "use_stream"])
@pytest.mark.parametrize("kind", [lambda stream: stream, handle, Protocol, of_cupy])
def test_a_launch_is_on_the_stream_that_is_given(kind, way, slow):
    x, side = torch.zeros(1, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    if way == "on":
        slow.on(kind(side))(x, TENTH)
    else:
        with tc.use_stream(kind(side)):
            slow(x, TENTH)
    assert not side.query()
    assert torch.cuda.current_stream().query()
    with torch.cuda.stream(side):
        y = x * 2  # behind it
    side.synchronize()
    assert y.item() == 2


def test_torchs_current_stream_is_taken_and_use_stream_sets_it(slow):
    outer, inner = torch.cuda.Stream(), torch.cuda.Stream()
    default = torch.cuda.current_stream()
    x = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    with tc.use_stream(outer):
        assert torch.cuda.current_stream() == outer
        with contextlib.suppress(ZeroDivisionError), tc.use_stream(inner.cuda_stream):
            assert torch.cuda.current_stream().cuda_stream == inner.cuda_stream
            slow(x, TENTH)
            raise ZeroDivisionError
        assert torch.cuda.current_stream() == outer
        assert outer.query()
        assert not inner.query()
    assert torch.cuda.current_stream() == default
    inner.synchronize()
    assert x.item() == 1
