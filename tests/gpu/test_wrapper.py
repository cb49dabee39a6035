"""Wrappers in the guide's shapes on a real device, with no toolkit at build or launch."""

from __future__ import annotations

import pytest
import wrapper_sources

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")


@pytest.fixture
def image():
    return tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS)


@pytest.fixture
def x():
    return torch.arange(1000, dtype=torch.float32, device="cuda")


@pytest.mark.parametrize("dialect", ["DRIVER", "RUNTIME", "RAW_CALLS"])
def test_a_wrapper_launches_an_embedded_image(dialect, image, x):
    source = getattr(wrapper_sources, dialect)
    mod = tc.load_inline(f"gpu_{dialect}", source, embed_cubin={"kernels": image})
    y = torch.full_like(x, float("nan"))
    mod.add_one(x, y)
    torch.testing.assert_close(y, x + 1)
    with pytest.raises(ValueError, match="one-dimensional"):
        mod.add_one(x.reshape(2, 500), y)


def test_a_wrapper_takes_its_image_at_run_time(image, x):
    mod = tc.load_inline("gpu_bytes", wrapper_sources.BYTES, extra_ldflags=["-lcudart"])
    mod.load(image)
    y = torch.full_like(x, float("nan"))
    mod.add_one(x, y)
    mod.mul_two(y, y)
    torch.testing.assert_close(y, 2 * (x + 1))
    with pytest.raises(RuntimeError, match="CUDA"):
        mod.load(b"no image at all")
