"""im2col maps on a real device, against torch's unfold."""

from __future__ import annotations

import math

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

from .tensor_map_kernels import SOURCE
from .tensor_map_reference import bytes_of, pixels_of, swizzled

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] < 9:
    pytest.skip("tensor maps need a device of 9.0", allow_module_level=True)


def image(*shape):
    generator = torch.Generator(device="cuda").manual_seed(len(shape))
    return torch.randn(*shape, generator=generator, device="cuda")


def load(x, offsets, *, first=0, channel=0, steps=None, given=None, **options):
    """The pixels that one instruction brings, as bytes of shared memory; `given`: x by its map."""
    spatial = x.dim() - 2
    steps = steps or (1,) * spatial
    map_ = TensorMap(element_strides=(1, *steps, 1), **options)
    lower, upper = map_.lower_corner, map_.upper_corner
    counts = [
        math.ceil((n + high - low) / step)
        for n, low, high, step in zip(x.shape[1:-1], lower, upper, steps, strict=True)
    ]
    # Where the filter is placed first, outermost coordinate last to be divided off.
    at, rest = [], first
    for count, low, step in reversed(list(zip(counts, lower, steps, strict=True))):
        at.insert(0, low + rest % count * step)
        rest //= count
    coordinates = (rest, *at, channel)
    size = map_.pixels_per_column * map_.channels_per_pixel * x.element_size()
    launch = Launch(
        kernel=f"pixels_{x.dim()}",
        grid=1,
        block=128,
        dynamic_smem_bytes="bytes + 1024",
        args={"x": map_},
    )
    run = tc.load_inline("gpu_pixels", SOURCE, functions={"run": launch}).run
    out = torch.full((size,), 0xCD, dtype=torch.uint8, device="cuda")
    run(x if given is None else given, out, size, *reversed(coordinates), *reversed(offsets))
    return out


def corners(size, pad, dilation=(1, 1)):
    lower = tuple(-p for p in pad)
    upper = tuple(p - (n - 1) * d for n, p, d in zip(size, pad, dilation, strict=True))
    return {"lower_corner": lower, "upper_corner": upper}


@pytest.mark.parametrize(
    ("size", "pad", "stride", "dilation"),
    [
        ((3, 3), (0, 0), (1, 1), (1, 1)),
        ((3, 2), (2, 1), (1, 1), (2, 1)),
        ((3, 3), (1, 1), (2, 2), (1, 1)),
        ((2, 3), (0, 1), (1, 3), (1, 1)),
    ],
)
def test_the_patches_of_a_convolution_are_those_of_unfold(size, pad, stride, dilation):
    x = image(2, 11, 9, 32)
    unfolded = torch.nn.functional.unfold(
        x.permute(0, 3, 1, 2), size, dilation=dilation, padding=pad, stride=stride
    )
    patches = unfolded.view(2, 32, *size, -1)
    count = 2 * patches.shape[-1]
    for r in range(size[0]):
        for s in range(size[1]):
            data = load(
                x,
                (r * dilation[0], s * dilation[1]),
                steps=stride,
                channels_per_pixel=32,
                pixels_per_column=count,
                swizzle="128B",
                **corners(size, pad, dilation),
            )
            wanted = patches[:, :, r, s].permute(0, 2, 1).reshape(count, 32)
            assert torch.equal(data, swizzled(bytes_of(wanted), "128B")), (r, s)


@pytest.mark.parametrize("first", [0, 40])
@pytest.mark.parametrize(
    ("shape", "lower", "upper", "steps", "offsets"),
    [
        ((3, 40, 64), (-2,), (-1,), (1,), (3,)),
        ((3, 12, 10, 64), (-1, -3), (-2, 1), (1, 2), (1, 2)),
        ((2, 6, 7, 8, 64), (-1, 0, -2), (0, -1, 1), (1, 1, 1), (1, 1, 2)),
        ((2, 6, 7, 8, 64), (0, -1, -2), (-1, 1, 0), (2, 1, 3), (0, 2, 1)),
    ],
    ids=["3d", "4d", "5d", "5d_steps"],
)
def test_corners_and_offsets_are_in_the_tensors_order(shape, lower, upper, steps, offsets, first):
    x = image(*shape)
    expected = pixels_of(
        x,
        lower=lower,
        upper=upper,
        steps=steps,
        offsets=offsets,
        first=first,
        count=16,
        channels=slice(16, 48),
    )
    data = load(
        x,
        offsets,
        first=first,
        channel=16,
        steps=steps,
        lower_corner=lower,
        upper_corner=upper,
        channels_per_pixel=32,
        pixels_per_column=16,
    )
    assert torch.equal(data, bytes_of(expected))
