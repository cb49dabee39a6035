"""Tensor maps on a real device: what the TMA brings is what torch has there."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

from .tensor_map_kernels import SOURCE, WRAPPER

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] < 9:
    pytest.skip("tensor maps need a device of 9.0", allow_module_level=True)

SPANS = {"none": 128, "32B": 32, "64B": 64, "128B": 128}
SMEM = "bytes + 1024"

# What the TMA should bring, computed by torch


def box_of(x, at, box, steps=None, fill=0):
    """A box of a tensor, of every `steps`-th element; `fill` where it leaves the tensor."""
    each = [
        start + step * torch.arange(-(-size // step), device="cuda")
        for start, size, step in zip(at, box, steps or (1,) * len(box), strict=True)
    ]
    places = torch.meshgrid(*each, indexing="ij")
    inside = torch.ones_like(places[0], dtype=torch.bool)
    for place, length in zip(places, x.shape, strict=True):
        inside &= (place >= 0) & (place < length)
    clamped = tuple(p.clamp(0, n - 1) for p, n in zip(places, x.shape, strict=True))
    return torch.where(inside, x[clamped], torch.full((), fill, dtype=x.dtype, device="cuda"))


def bytes_of(x):
    return x.contiguous().flatten().view(torch.uint8)


def swizzled(data, swizzle):
    """Bytes in the order in which a swizzle leaves them in shared memory."""
    # Of an address's bits, those from 7 on are added to those from 4 on, as many as `mask` has.
    mask = {"none": 0, "32B": 0b1, "64B": 0b11, "128B": 0b111}[swizzle]
    place = torch.arange(data.numel(), device="cuda")
    place = place ^ (((place >> 7) & mask) << 4)
    out = torch.empty_like(data)
    out[place] = data
    return out


def random(*shape, dtype=torch.float32):
    generator = torch.Generator(device="cuda").manual_seed(sum(shape))
    if dtype.is_floating_point:
        return torch.randn(*shape, generator=generator, device="cuda").to(dtype)
    return torch.randint(0, 200, shape, generator=generator, device="cuda").to(dtype)


def load(kernel: str, x, map_: TensorMap, at, size: int):
    """The bytes that one instruction brings, as they lie in shared memory."""
    launch = Launch(kernel=kernel, grid=1, block=128, dynamic_smem_bytes=SMEM, args={"x": map_})
    run = tc.load_inline("gpu_maps", SOURCE, functions={"run": launch}).run
    out = torch.full((size,), 0xCD, dtype=torch.uint8, device="cuda")
    run(x, out, size, *at)
    return out


def check_box(x, at, box, *, steps=None, fill=0, **options):
    expected = box_of(x, at, box, steps, fill)
    map_ = TensorMap(box_dim=box, element_strides=steps, **options)
    size = expected.numel() * x.element_size()
    data = load(f"load_{x.dim()}", x, map_, reversed(at), size)
    assert torch.equal(data, swizzled(bytes_of(expected), options.get("swizzle", "none")))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.uint8], ids=str)
@pytest.mark.parametrize("swizzle", SPANS)
def test_a_box_is_loaded_in_the_order_of_its_swizzle(swizzle, dtype):
    inner = SPANS[swizzle] // dtype.itemsize
    x = random(70, 3 * inner, dtype=dtype)
    check_box(x, (5, inner), (32, inner), swizzle=swizzle)


@pytest.mark.parametrize(
    ("shape", "box"),
    [
        ((300,), (64,)),
        ((40, 24), (6, 8)),
        ((9, 10, 16), (3, 4, 8)),
        ((5, 6, 7, 12), (2, 3, 4, 8)),
        ((3, 4, 5, 6, 8), (2, 3, 2, 3, 4)),
    ],
    ids=lambda x: f"{len(x)}d",
)
def test_one_to_five_dimensions_in_the_tensors_order(shape, box):
    # Of the innermost dimension, coordinates are multiples of 16 bytes: an H200 ends the context
    # with an illegal instruction at others.
    x = random(*shape)
    outer = shape[:-1]
    check_box(x, (*(1 for _ in outer), 4), box)
    check_box(x, (*(-1 for _ in outer), -4), box)
    check_box(x, (*(n - 2 for n in outer), shape[-1] - 4), box)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_what_lies_outside_is_nan_where_that_is_asked_for(dtype):
    x = random(10, 32, dtype=dtype)
    expected = box_of(x, (4, -8), (16, 32), fill=float("nan"))
    map_ = TensorMap(box_dim=(16, 32), oob_fill="nan")
    data = load("load_2", x, map_, (-8, 4), expected.numel() * x.element_size())
    found = data.view(dtype).view(16, 32)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_element_strides_leave_elements_out():
    x = random(20, 20, 32)
    check_box(x, (1, 0, 0), (8, 6, 16), steps=(2, 3, 1))
    check_box(x, (10, 16, 8), (7, 8, 8), steps=(3, 8, 1))


def test_memory_is_what_its_map_says():
    """A flat buffer as a matrix, and a part of that, with its own end."""
    map_ = TensorMap(box_dim=(16, 32), global_dim=("rows", "columns"), global_strides="4 * pitch")
    launch = Launch(
        kernel="load_2",
        grid=1,
        block=128,
        dynamic_smem_bytes=SMEM,
        args={"x": map_},
        params="float* x, unsigned char* out, int bytes, int c0, int c1, int rows, int columns, "
        "int pitch",
    )
    run = tc.load_inline("gpu_maps_extents", SOURCE, functions={"run": launch}).run
    flat = random(64 * 96)
    matrix = flat.view(64, 96)
    for part, at in (
        (matrix, (3, 8)),
        (matrix[5:25, 32:72], (10, 16)),
    ):
        begin = flat[part.storage_offset() :]
        out = torch.full((16 * 32 * 4,), 0xCD, dtype=torch.uint8, device="cuda")
        run(begin, out, out.numel(), *reversed(at), *part.shape, part.stride(0))
        assert torch.equal(out, bytes_of(box_of(part, at, (16, 32))))


def test_maps_made_in_cpp():
    copy = tc.load_inline(
        "gpu_maps_made", kernel_sources=SOURCE, cpp_sources=WRAPPER, functions=["Copy"]
    ).Copy
    x, y = random(64, 96), torch.zeros(64, 96, device="cuda")
    copy(x, y)
    torch.testing.assert_close(y, x, rtol=0, atol=0)


def test_a_captured_launch_keeps_its_map():
    launch = Launch(
        grid=("ceil_div(x.shape[1], 32)", "ceil_div(x.shape[0], 32)"),
        block=32,
        dynamic_smem_bytes=SMEM,
        args={"x": TensorMap(box_dim=(32, 32)), "y": TensorMap(box_dim=(32, 32))},
    )
    mod = tc.load_inline("gpu_maps_graph", SOURCE, functions={"copy": launch})
    # Beyond the end of y nothing is written.
    x, y = random(64, 64), torch.zeros(72, 64, device="cuda")
    mod.copy(x, y[:40], 32, 32, 4096)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.copy(x, y[:40], 32, 32, 4096)
    x.mul_(2)
    graph.replay()
    torch.testing.assert_close(y[:40], x[:40], rtol=0, atol=0)
    assert not y[40:].any()


# im2col, against torch's unfold


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
    x = random(2, 11, 9, 32)
    unfolded = torch.nn.functional.unfold(
        x.permute(0, 3, 1, 2), size, dilation=dilation, padding=pad, stride=stride
    )
    patches = unfolded.view(2, 32, *size, -1)
    count = 2 * patches.shape[-1]
    map_ = TensorMap(
        lower_corner=tuple(-p for p in pad),
        upper_corner=tuple(p - (n - 1) * d for n, p, d in zip(size, pad, dilation, strict=True)),
        element_strides=(1, *stride, 1),
        channels_per_pixel=32,
        pixels_per_column=count,
        swizzle="128B",
    )
    for r in range(size[0]):
        for s in range(size[1]):
            # Where the filter is placed first, then how far this place of it is from its corner.
            at = (0, -pad[1], -pad[0], 0, s * dilation[1], r * dilation[0])
            data = load("pixels_4", x, map_, at, count * 32 * 4)
            wanted = patches[:, :, r, s].permute(0, 2, 1).reshape(count, 32)
            assert torch.equal(data, swizzled(bytes_of(wanted), "128B")), (r, s)
