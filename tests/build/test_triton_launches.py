"""Triton's tutorial kernels over the driver stand-in, to the byte; grids."""

import pytest
from stub.cuda_array import cuda_array
from stub.encoded_map import EncodedMap
from tensor_map_cases import TYPES
from triton_kit import CLUSTER, COOPERATIVE, PDL, POLICY, dims, flag, load, only, triton_cache

import tvmffi_cubin as tc

kernels = pytest.importorskip("triton_functions", reason="Triton is not installed")

__all__ = ["triton_cache"]

TILES = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP": 8}


@pytest.fixture
def array(driver_stub):
    def make(*shape, dtype="float16", **options):
        return cuda_array(driver_stub, shape, dtype, **options)

    return make


def test_vector_add_with_options_of_the_launch(driver_stub, array):
    launch = tc.triton.compile(
        kernels.add,
        "*fp32:16, *fp32:16, *fp32:16, i32",
        constexprs={"BLOCK": 1024},
        grid="cdiv(n, BLOCK)",
        num_warps=8,
        options={"launch_pdl": True, "launch_cooperative_grid": True, "maxnreg": 64},
        arch="sm_90",
    )
    mod = load("triton_add", add=launch)
    assert mod.add.signature == "add(float* x, float* y, float* out, int32_t n)"
    x, y, out = (array(5000, dtype="float32") for _ in range(3))
    mod.add(x, y, out, 5000)
    got = only(driver_stub)
    assert (got.kernel, got.image) == ("add", "sm_90a")
    assert got.values("PPPiPP") == (x.data_ptr, y.data_ptr, out.data_ptr, 5000, 0, 0)
    assert (got.grid, got.block, got.dynamic_smem_bytes) == ((5, 1, 1), (256, 1, 1), 0)
    assert (got.attributes, got.stream) == ({PDL: flag(), COOPERATIVE: flag()}, 0)


@pytest.mark.parametrize("num_ctas", [1, 2])
def test_a_persistent_matmul_with_descriptors_of_the_host_s(driver_stub, array, num_ctas):
    signature = dict.fromkeys("ab", "tensordesc<fp16[128,64]>") | dict.fromkeys("mnk", "i32")
    launch = tc.triton.compile(
        kernels.persistent_matmul,
        signature | {"c": "tensordesc<fp16[128,128]>"},
        constexprs=TILES | {"BLOCK_N": 128},
        grid="min(num_sms, ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N))",
        num_warps=8,
        num_ctas=num_ctas,
        arch="sm_90",
    )
    mod = load("triton_tma", matmul=launch)
    a, c = array(512, 256), array(512, 384)
    b = array(384, 256, strides=(264, 1))
    mod.matmul(a, b, c, 512, 384, 256)
    got = only(driver_stub)
    assert (got.grid, got.block) == ((12 * num_ctas, 1, 1), (256, 1, 1))
    assert got.dynamic_smem_bytes == launch.dynamic_smem_bytes
    expected = {CLUSTER: dims(num_ctas), POLICY: flag(1)} if num_ctas > 1 else {}
    assert got.attributes == expected
    assert [len(x) for x in got.params] == [128, 4, 4, 8, 8] * 3 + [4] * 3 + [8] * 2
    for index, (name, tensor) in enumerate({"a": a, "b": b, "c": c}.items()):
        data, *rest = got.params[5 * index : 5 * index + 5]
        numbers = [int.from_bytes(x, "little") for x in rest]
        assert numbers == [*tensor.shape, tensor.numpy.strides[0] // 2, 1]
        encoded = EncodedMap.of(data)
        assert (encoded.address, TYPES[encoded.type]) == (tensor.data_ptr, "float16")
        assert (encoded.swizzle, encoded.promotion) == (3, 2)
        assert encoded.dims == tensor.shape[::-1]
        assert encoded.strides == (tensor.numpy.strides[0],)
        # The swizzle takes 128 bytes of a row; with clusters a block may load a part of the rows.
        assert encoded.box == launch.args[name].box_dim[::-1]
        assert encoded.box == (64, 128) or (num_ctas == 2 and encoded.box == (64, 64))
        assert (encoded.element_strides, encoded.fill) == ((1, 1), 0)
    assert [int.from_bytes(x, "little") for x in got.params[15:]] == [512, 384, 256, 0, 0]


def test_a_matmul_with_descriptors_of_the_kernel_s_own_gets_global_scratch(driver_stub, array):
    signature = "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32"
    grid = "min(num_sms, ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N))"
    options = {"constexprs": TILES, "grid": grid, "num_warps": 8, "arch": "sm_90"}
    launch = tc.triton.compile(kernels.descriptor_matmul, signature, **options)
    mod = load("triton_scratch", matmul=launch)
    a, b, c = array(512, 256), array(384, 256), array(512, 384)
    mod.matmul(a, b, c, 512, 384, 256)
    got = only(driver_stub)
    (allocation,) = driver_stub.calls("cuMemAllocAsync")
    # Three maps of 128 bytes for each block.
    assert got.grid == (24, 1, 1)
    assert allocation.args["size"] == 24 * 3 * 128
    *values, scratch, profile = got.values("PPPiiiPP")
    assert values == [a.data_ptr, b.data_ptr, c.data_ptr, 512, 384, 256]
    assert (scratch % 128, profile) == (0, 0)
    assert scratch == driver_stub.calls("cuMemFreeAsync")[0].args["pointer"]


def test_a_descriptor_of_the_host_s_needs_tensor_maps():
    signature = {"x": "tensordesc<fp32[16,32]>", "out": "*fp32", "ROWS": 16}
    with pytest.raises(ValueError, match=r"^x: a host tensor descriptor requires sm_90"):
        tc.triton.compile(kernels.tile_sum, signature, arch="sm_80")


def compiled(grid, **options):
    return tc.triton.compile(
        kernels.strided,
        options.pop("signature", "*fp32, *fp32, i32, i32"),
        **{"grid": grid, "arch": "sm_90", "constexprs": {"BLOCK": 64}, **options},
    )


GRIDS = {
    "number": (3, (3, 1, 1)),
    "two": (("BLOCK", "n - BLOCK*2 + 1"), (64, 73, 1)),
    "nested": ("max(2, min(n, num_sms)) // 2", (66, 1, 1)),
    "constexpr": (kernels.triton.language.constexpr(3), (3, 1, 1)),
    "list": (["x.shape[0] // 4", "x.numel() % 5 + 1", 2], (50, 1, 2)),
}


def test_a_grid_is_numbers_and_expressions(driver_stub):
    mod = load("triton_grid", **{name: compiled(grid) for name, (grid, _) in GRIDS.items()})
    x = cuda_array(driver_stub, 200)
    for name in GRIDS:
        mod[name](x, x, 1, 200)
    assert [launch.grid for launch in driver_stub.launches()] == [x for _, x in GRIDS.values()]


def test_a_grid_counts_programs_which_may_be_clusters(driver_stub):
    grids = {"several": ("n", 2), "text": "n", "number": 3}
    made = {name: compiled(grid, num_ctas=2) for name, grid in grids.items()}
    mod = load("triton_clusters", **made)
    x = cuda_array(driver_stub, 64)
    for function in (mod.several, mod.text, mod.number):
        function(x, x, 1, 5)
    grids = [launch.grid for launch in driver_stub.launches()]
    assert grids == [(10, 2, 1), (10, 1, 1), (6, 1, 1)]
    assert {launch.cluster for launch in driver_stub.launches()} == {(2, 1, 1)}
    with pytest.raises(ValueError, match="pass grid="):
        compiled(None, num_ctas=2)


def test_without_a_grid_callers_give_it_as_they_do_to_triton(driver_stub):
    mod = load("triton_free", strided=compiled(None))
    x = cuda_array(driver_stub, 200)
    outside = 3  # read at each call, and so no matter
    mod.strided[4](x, x, 1, 200)
    mod.strided[(4, 2)](x, x, 1, 200)
    grid = lambda meta: (kernels.triton.cdiv(meta["n"], meta["BLOCK"]), outside)  # noqa: E731
    mod.strided[grid](x, x, 1, 200)
    mod.strided[grid](x=x, out=x, stride=1, n=65)
    mod.strided[grid](x, x, n=1, stride=1)
    mod.strided[4](x, out=x, n=1, stride=1)
    assert [launch.grid[:2] for launch in driver_stub.launches()] == [
        *((4, 1), (4, 2), (4, 3), (2, 3), (1, 3), (4, 1)),
    ]
    with pytest.raises(TypeError, match="expected stride, n by name, got m"):
        mod.strided[4](x, x, m=1)
    with pytest.raises(TypeError, match=r"strided: the launch has no grid: call strided\[grid\]"):
        mod.strided(x, x, 1, 200)


def test_a_function_is_the_caller_s_to_give():
    with pytest.raises(TypeError, match=r"pass an expression(.|\n)*mod\.k\[grid\]"):
        compiled(lambda meta: (meta["n"],))
