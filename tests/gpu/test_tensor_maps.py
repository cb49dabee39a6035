"""Tensor maps on a real device: what the TMA brings is what torch has there."""

from __future__ import annotations

import ctypes
import math

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import Launch, TensorMap

from .tensor_map_kernels import SOURCE, WRAPPER
from .tensor_map_reference import box_of, bytes_of, pixels_of, swizzled

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] < 9:
    pytest.skip("tensor maps need a device of 9.0", allow_module_level=True)

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.uint8]
SPANS = {"none": 128, "32B": 32, "64B": 64, "128B": 128}
SMEM = "bytes + 1024"


def random(*shape, dtype=torch.float32):
    generator = torch.Generator(device="cuda").manual_seed(sum(shape))
    if dtype.is_floating_point:
        return torch.randn(*shape, generator=generator, device="cuda").to(dtype)
    return torch.randint(0, 200, shape, generator=generator, device="cuda").to(dtype)


def function(kernel: str, **args: TensorMap):
    launch = Launch(kernel=kernel, grid=1, block=128, dynamic_smem_bytes=SMEM, args=args)
    return tc.load_inline("gpu_maps", SOURCE, functions={"run": launch}).run


def load(x, map_: TensorMap, at, size: int):
    """The bytes of one box, as they lie in shared memory."""
    out = torch.full((size,), 0xCD, dtype=torch.uint8, device="cuda")
    function(f"load_{x.dim()}", x=map_)(x, out, size, *reversed(at))
    return out


def check_box(x, at, box, *, steps=None, fill=0, **options):
    expected = box_of(x, at, box, steps, fill)
    map_ = TensorMap(box_dim=box, element_strides=steps, **options)
    data = load(x, map_, at, expected.numel() * x.element_size())
    assert torch.equal(data, swizzled(bytes_of(expected), options.get("swizzle", "none")))


# Swizzles


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("swizzle", SPANS)
def test_a_box_is_loaded_in_the_order_of_its_swizzle(swizzle, dtype):
    inner = SPANS[swizzle] // dtype.itemsize
    x = random(70, 3 * inner, dtype=dtype)
    check_box(x, (5, inner), (32, inner), swizzle=swizzle)


@pytest.mark.parametrize("swizzle", SPANS)
def test_a_box_is_stored_from_the_order_of_its_swizzle(swizzle):
    dtype = torch.float16
    inner = SPANS[swizzle] // dtype.itemsize
    y = torch.zeros(40, 3 * inner, dtype=dtype, device="cuda")
    # Beyond the end of y nothing is written.
    data = random(16, inner, dtype=dtype)
    expected = y.clone()
    expected[30:40, inner : 2 * inner] = data[:10]
    map_ = TensorMap("y", box_dim=(16, inner), swizzle=swizzle)
    raw = swizzled(bytes_of(data), swizzle)
    function("store_2", y=map_)(y, raw, raw.numel(), inner, 30)
    torch.testing.assert_close(y, expected, rtol=0, atol=0)


# Dimensions


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


@pytest.mark.parametrize("dtype", DTYPES[:3], ids=str)
def test_what_lies_outside_is_nan_where_that_is_asked_for(dtype):
    x = random(10, 32, dtype=dtype)
    expected = box_of(x, (4, -8), (16, 32), fill=float("nan"))
    map_ = TensorMap(box_dim=(16, 32), oob_fill="nan")
    data = load(x, map_, (4, -8), expected.numel() * x.element_size())
    found = data.view(dtype).view(16, 32)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_element_strides_leave_elements_out():
    x = random(20, 20, 32)
    check_box(x, (1, 0, 0), (8, 6, 16), steps=(2, 3, 1))
    check_box(x, (10, 16, 8), (7, 8, 8), steps=(3, 8, 1))


# Memory


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_memory_is_what_its_map_says(dtype):
    """A flat buffer as a matrix, and a part of that, with its own end."""
    map_ = TensorMap(
        box_dim=(16, 32), global_dim=("rows", "columns"), global_strides="4 * pitch", dtype=dtype
    )
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
        (matrix[5:25, 32:72], (-2, -4)),
        (flat.view(128, 48), (120, 24)),
    ):
        begin = flat[part.storage_offset() :]
        if dtype is not None:
            begin = ctypes.c_void_p(begin.data_ptr())
        out = torch.full((16 * 32 * 4,), 0xCD, dtype=torch.uint8, device="cuda")
        run(begin, out, out.numel(), *reversed(at), *part.shape, part.stride(0))
        assert torch.equal(out, bytes_of(box_of(part, at, (16, 32))))


def test_maps_made_in_cpp_and_those_that_the_caller_passes_by_their_address():
    """The latter is what host code of compilers passes; here the map is one that C++ made."""
    maker = tc.load_inline(
        "gpu_maps_made", kernel_sources=SOURCE, cpp_sources=WRAPPER, functions=["Make", "Copy"]
    )
    launch = Launch(kernel="load_2", grid=1, block=128, dynamic_smem_bytes=SMEM)
    run = tc.load_inline("gpu_maps_handle", SOURCE, functions={"run": launch}).run
    x, y = random(64, 96), torch.zeros(64, 96, device="cuda")
    maker.Copy(x, y)
    torch.testing.assert_close(y, x, rtol=0, atol=0)
    map_ = maker.Make(x)
    for offset in (0, 64, 8, 1):
        room = ctypes.create_string_buffer(b"\0" * offset + map_, 256)
        address = ctypes.c_void_p(ctypes.addressof(room) + offset)
        for value in (address, map_):
            out = torch.zeros(4096, dtype=torch.uint8, device="cuda")
            run(value, out, 4096, 32, 8)
            expected = box_of(x, (8, 32), (32, 32))
            assert torch.equal(out, swizzled(bytes_of(expected), "128B"))


def test_the_next_tensor_at_an_address_has_a_map_of_its_own():
    memory = random(4096)
    for shape in ((64, 64), (32, 128), (128, 32)):
        check_box(memory.view(shape), (8, 16), (8, 16))
    check_box(memory.view(64, 64)[:, :48], (0, 32), (4, 32))
    check_box(memory.view(64, 64), (0, 32), (4, 32))


def test_a_captured_launch_keeps_its_map():
    launch = Launch(
        grid=("ceil_div(x.shape[1], 32)", "ceil_div(x.shape[0], 32)"),
        block=32,
        dynamic_smem_bytes=SMEM,
        args={"x": TensorMap(box_dim=(32, 32)), "y": TensorMap(box_dim=(32, 32))},
    )
    mod = tc.load_inline("gpu_maps_graph", SOURCE, functions={"copy": launch})
    x, y = random(64, 64), torch.zeros(64, 64, device="cuda")
    mod.copy(x, y, 32, 32, 4096)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mod.copy(x, y, 32, 32, 4096)
    x.mul_(2)
    graph.replay()
    torch.testing.assert_close(y, x, rtol=0, atol=0)


# im2col, against torch's unfold


def load_pixels(x, offsets, *, first=0, channel=0, steps=None, **options):
    """The pixels that one instruction brings, as bytes of shared memory."""
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
    run(x, out, size, *reversed(coordinates), *reversed(offsets))
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
    x = random(2, 11, 9, 32)
    unfolded = torch.nn.functional.unfold(
        x.permute(0, 3, 1, 2), size, dilation=dilation, padding=pad, stride=stride
    )
    patches = unfolded.view(2, 32, *size, -1)
    count = 2 * patches.shape[-1]
    for r in range(size[0]):
        for s in range(size[1]):
            data = load_pixels(
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
    x = random(*shape)
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
    data = load_pixels(
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
