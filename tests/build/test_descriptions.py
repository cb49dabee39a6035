"""Modules made of descriptions: how they launch, and that a module's own makes it again."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin import Bound, Launch, Scratch, TensorMap

SOURCE = r"""
#include <cuda.h>
#include <cuda_fp16.h>
struct Pair { int a; float b; };
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {}
extern "C" __global__ void tiles(const __grid_constant__ CUtensorMap x, float* s, Pair p, int n) {}
extern "C" __global__ void counted(float* x, float eps, unsigned* count, unsigned limit) {}
extern "C" __global__ void assumed(float* x, int n, int stride) {}
template <class T> __global__ void fill(T* x, int n, T value) {}
namespace ns { template <class T, int N> struct Row { T at[N]; }; enum Kind : char {}; }
extern "C" __global__ void odd(ns::Row<int, 4> row, ns::Kind kind, float (*rows)[4],
                               void (*f)(int), int* const* all, half2* h, int n) {}
extern "C" __global__ void unnamed(float*, const float[][4]) {}
extern "C" __global__ void nothing() {}
extern "C" __global__ void boxes(const __grid_constant__ CUtensorMap x, float* y, int n) {}
"""
SHAPE = {"grid": 1, "block": 32}
FUNCTIONS = {
    "saxpy": Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}, strided="y"),
    "blocks": Launch(kernel="assumed", block=64, meta={"BLOCK": 64}),
    "tiles": Launch(
        grid=("ceil_div(n, 8)", 2),
        block=32,
        cluster=(1, 2),
        args={
            "x": TensorMap(box_dim=(8, "n * 4"), swizzle="32B"),
            "s": Scratch(64, bytes_per_block="n"),
            "p": struct.pack("<if", 7, 0.5),
        },
        programmatic_dependent_launch="n > 1",
        priority=-1,
    ),
    "counted": Launch(
        **SHAPE,
        args={"eps": float("inf"), "count": Bound(required=True), "limit": Bound("most")},
        attributes={14: b"\x10\0\0\0"},
    ),
    "assumed": Launch(**SHAPE, multiple_of={"x": 16, "n": 4}, equal_to={"stride": 1}),
    "fill": tc.Dispatch(
        Launch(kernel=f"fill<{T}>", when="n > 0", **SHAPE) for T in ("float", "double")
    ),
    "placed": Launch(
        kernel="boxes",
        **SHAPE,
        params="const float* x, float* y, int n, int64_t stream",
        args={"x": TensorMap(box_dim=(4, 8), global_dim=("n", 64), global_strides="n * 0 + 256")},
        stream="stream",
    ),
    "both": [
        Launch(kernel="saxpy", params="float a, const float* x: ndim=1, float* y, int n", **SHAPE),
        Launch(kernel="fill<float>", args={"value": "n"}, **SHAPE),
    ],
}


@pytest.fixture(scope="module")
def built() -> tc.Module:
    return tc.load_inline("described", SOURCE, functions=FUNCTIONS, arch="sm_90")


def told(mod: tc.Module) -> dict:
    """Return what a module says of itself but for what compiled its images."""
    manifest = json.loads(json.dumps(mod.manifest))
    for image in manifest["images"].values():
        image.update(cuda_version="", log="")
    return manifest


def test_a_module_s_own_description_and_images_make_it_again(built: tc.Module, tmp_path: Path):
    description = tc.describe(built)
    again = tc.load_description(description, embed_cubin=built.cubins)
    assert told(again) == told(built)
    bare = {name: replace(x, signatures={}) for name, x in built.cubins.items()}
    assert told(tc.load_description(description, embed_cubin=bare)) == told(built)
    assert tc.describe(again) == tc.describe(built.path) == description
    assert tc.describe(again.path) == json.loads(json.dumps(description))


FILL = {
    "kernel": "_Z4fillIfEvPT_iS0_",
    "params": "float* y, int count, float value",
    "grid": 1,
    "block": 32,
    "args": {"count": 3, "value": {"Float": "-inf"}},
}
SAXPY = {
    "kernel": "saxpy",
    "params": "float a, const float* x, float* y, int n",
    "grid": "ceil_div(n, 128)",
    "block": [64, "min(n, 2)"],
    "dynamic_smem_bytes": "n * 4",
    "args": {"n": "x.numel"},
    "programmatic_dependent_launch": True,
}
PIPELINE = {"doc": "Fills, then adds.", "launches": [FILL, SAXPY]}
DESCRIPTION = {"schema": "2.0", "name": "outside", "functions": {"pipeline": PIPELINE}}


def test_a_module_of_json_launches_as_it_is_written(built, driver_stub, here):
    Path("k").mkdir()
    Path("k/k.cubin").write_bytes(built.cubins["kernels"].image)
    document = {**DESCRIPTION, "images": {"k": {"path": "k.cubin"}}}
    Path("k/ops.json").write_text(json.dumps(document))
    mod = tc.load_description("k/ops.json")
    x, y = cuda_array(driver_stub, 200), cuda_array(driver_stub, 200)
    mod.pipeline(y, 2.0, x)
    fill, saxpy = driver_stub.launches()
    assert (fill.kernel, fill.grid, fill.block) == ("_Z4fillIfEvPT_iS0_", (1, 1, 1), (32, 1, 1))
    assert fill.values("Pif") == (y.data_ptr, 3, float("-inf"))
    assert (saxpy.grid, saxpy.block, saxpy.dynamic_smem_bytes) == ((2, 1, 1), (64, 2, 1), 800)
    assert saxpy.values("fPPi") == (2.0, x.data_ptr, y.data_ptr, 200)
    assert list(saxpy.attributes) == [6]
    assert "Fills, then adds." in mod.pipeline.__doc__
    assert (mod.manifest["name"], [*mod.cubins]) == ("outside", ["k"])


def test_an_image_may_lie_beside_the_module(built: tc.Module, driver_stub: DriverStub, here: Path):
    document = {"images": {"k": {"file": "k.cubin"}}, "functions": {"saxpy": SAXPY}}
    so = tc.build_description(document, name="beside", output=here / "beside.so")
    description = tc.describe(so)
    assert description["images"] == {"k": {"file": "k.cubin"}}
    again = tc.build_description(description, output=here / "again.so")
    assert told(tc.load_module(again)) == told(tc.load_module(so))
    Path("k.cubin").write_bytes(built.cubins["kernels"].image)
    x, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4)
    tc.load_module(so).saxpy(2.0, x, y)
    (launch,) = driver_stub.launches()
    assert launch.values("fPPi") == (2.0, x.data_ptr, y.data_ptr, 4)
    # The caller knows how it is made, the description does not.
    made = {"k": tc.ImageFile("made.cubin", lambda: built.cubins["kernels"])}
    mod = tc.load_description(description, embed_cubin=made, build_directory=here / "made")
    mod.saxpy(2.0, x, y)
    assert Path("made/made.cubin").exists()
    assert mod._repr_html_().startswith("<table>")  # without rows: the image may not be there
    assert mod.saxpy.sass == ""


def test_images_that_are_not_there_are_told(here: Path):
    for images, text in (
        ({"images": {"k": {}}}, "images.k: set path or base64, or pass the im"),
        ({"images": {"k": {"path": "no.cubin"}}}, "no.cubin"),
        ({}, "no source: pass cuda_sources"),
    ):
        with pytest.raises((ValueError, OSError), match=text):
            tc.load_description({**DESCRIPTION, **images})


def test_one_image_stands_for_the_only_one(built: tc.Module, tmp_path: Path):
    image = built.cubins["kernels"]
    mod = tc.load_description({**DESCRIPTION, "images": {"k": {}}}, embed_cubin=image)
    assert list(mod.cubins) == ["k"]
    images = {"images": {"k": {}}, "functions": {"saxpy": SAXPY}}
    mod = tc.load_description(images, embed_cubin=image, functions=["nothing"], name="given")
    assert mod.functions == ("nothing",)
    several = {**DESCRIPTION, "images": {"k": {}, "l": {}}}
    with pytest.raises(ValueError, match="one image; the description has k, l"):
        tc.load_description(several, embed_cubin=image)
