"""Arguments of Triton functions, compiled here or by Triton: specialisations, types."""

import dataclasses
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from stub.cuda_array import cuda_array
from triton_kit import VERSION, load, only, triton, triton_cache

import tvmffi_cubin as tc

kernels = pytest.importorskip("triton_functions", reason="Triton is not installed")

__all__ = ["triton_cache"]


def compiled(fn, signature, **options):
    return tc.triton.compile(fn, signature, **{"grid": 1, "arch": "sm_90", **options})


class Meta:
    """A tensor without memory, as torch's device "meta" has them."""

    def __init__(self, dtype, address=0):
        self.dtype, self.address, self.shape = dtype, address, (64,)

    def data_ptr(self):
        return self.address


@pytest.fixture
def array(driver_stub):
    def make(*shape, dtype="float32", **options):
        return cuda_array(driver_stub, shape, dtype, **options)

    return make


def test_an_argument_that_breaks_what_was_assumed_is_named(driver_stub, array):
    launch = compiled(kernels.strided, "*fp32:16, *fp32:16, i32:1, i32:16, 64")
    mod = load("triton_assumed", strided=launch)
    x, out = array(64), array(64)
    mod.strided(x, out, 1, 64)
    assert only(driver_stub).values("PPiPP") == (x.data_ptr, out.data_ptr, 64, 0, 0)
    for arguments, name in (
        ((array(64, address_offset=4), out, 1, 64), "x"),
        ((x, array(64, address_offset=8), 1, 64), "out"),
        ((x, out, 2, 64), "stride"),
        ((x, out, 1, 63), "n"),
    ):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            mod.strided(*arguments)
    assert len(driver_stub.launches()) == 1


def test_examples_are_specialised_as_triton_does_at_a_launch():
    meta = Meta("float32")
    launch = compiled(kernels.strided, [meta, meta, 7, 2**40])
    assert launch.params == "float* x, float* out, int32_t stride, int64_t n"
    for x, out, stride, n, multiples, ones in (
        (meta, meta, 1, 32, {"x": 16, "out": 16, "n": 16}, {"stride": 1}),
        (meta, Meta("float32", 8), 3, 33, {"x": 16}, None),
        (np.ones(4, np.float32), meta, 16, 1, {"x": 16, "out": 16, "stride": 16}, {"n": 1}),
    ):
        launch = compiled(kernels.strided, [x, out, stride, n])
        assert (launch.multiple_of, launch.equal_to) == (multiples, ones)
        names = {"x": x, "out": out, "stride": stride, "n": n}
        assert compiled(kernels.strided, names).image == launch.image


def test_an_argument_that_was_none_has_to_be(driver_stub, array):
    types = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    without = compiled(kernels.maybe_biased, types | {"bias": None})
    biased = compiled(kernels.maybe_biased, types | {"bias": "*fp32"})
    mod = load("triton_none", without=without, either=tc.Dispatch([without, biased]))
    x, out, bias = array(64), array(64), array(64)
    with pytest.raises(ValueError, match=r"bias\.data_ptr == 0"):
        mod.without(x, bias, out, 64)
    mod.without(x, None, out, 64)
    mod.either(x, bias, out, 64)
    mod.either(x, None, out, 64)
    one, two, three = driver_stub.launches()
    for launch in (one, three):
        assert launch.values("PPiPP") == (x.data_ptr, out.data_ptr, 64, 0, 0)
    assert two.values("PPPiPP")[1] == bias.data_ptr


def test_of_several_specialisations_the_first_that_fits_is_launched(driver_stub, array):
    signatures = ("*fp32:16,*fp32:16,i32:1,i32:16", "*fp32,*fp32,i32:1,i32", "*fp32,*fp32,i32,i32")
    launches = [
        compiled(kernels.strided, text, num_warps=1 << i) for i, text in enumerate(signatures)
    ]
    mod = load("triton_several", strided=tc.Dispatch(launches))
    x, odd, out = array(64), array(64, address_offset=4), array(64)
    for arguments in ((x, out, 1, 64), (odd, out, 1, 64), (x, out, 1, 63), (x, out, 2, 32)):
        mod.strided(*arguments)
    # How many warps there are tells which it was.
    assert [launch.block[0] for launch in driver_stub.launches()] == [32, 64, 64, 128]


SCALARS = {
    "i1": ("?", True), "i8": ("b", -128), "i16": ("h", -32768), "i32": ("i", -(2**31)),
    "i64": ("q", -(2**63)), "u8": ("B", 255), "u16": ("H", 65535), "u32": ("I", 2**32 - 1),
    "u64": ("Q", 2**64 - 1), "fp16": ("e", 1.0996), "bf16": ("H", 1.5), "fp32": ("f", 1 / 3),
    "fp64": ("d", 1 / 3),
}  # fmt: skip


def test_numbers_are_passed_as_triton_s_own_launcher_passes_them(driver_stub, array):
    launch = compiled(kernels.take_all, ["*fp64", *SCALARS])
    mod = load("triton_scalars", take_all=launch)
    out = array(1, dtype="float64")
    mod.take_all(out, *(value for _, value in SCALARS.values()))
    _, *values, scratch, profile = only(driver_stub).params
    wanted = SCALARS | {"bf16": ("2s", struct.pack("<f", 1.5)[2:])}
    assert values == [struct.pack(f"<{code}", value) for code, value in wanted.values()]
    assert scratch == profile == bytes(8)


def test_items_of_a_tuple_are_arguments(driver_stub, array):
    launch = compiled(kernels.from_tuple, ["*fp32", (1.5, 7), 5], grid="pair_1 + n")
    assert launch.params == "float* out, float pair_0, int32_t pair_1, int32_t n"
    mod = load("triton_tuple", from_tuple=launch)
    out = array(1)
    mod.from_tuple(out, 0.25, 3, 5)
    assert only(driver_stub).values("PfiiPP") == (out.data_ptr, 0.25, 3, 5, 0, 0)
    assert only(driver_stub).grid == (8, 1, 1)


def test_examples_of_descriptors_have_their_padding(driver_stub, array):
    descriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor

    class Tensor(Meta):
        def stride(self):
            return (64, 1)

    class Float32:
        itemsize, is_floating_point = 4, True

        def __str__(self):
            return "torch.float32"

    options = {"round_f32_to_tf32": True} if VERSION >= (3, 7) else {}
    x = descriptor(Tensor(Float32()), [128, 64], [64, 1], [16, 32], padding="nan", **options)
    launch = compiled(kernels.tile_sum, [x, Meta("float32")], constexprs={"ROWS": 16})
    assert launch.args["x"].oob_fill == "nan"
    assert launch.args["x"].dtype == ("tfloat32" if options else "float32")
    assert launch.params == "float* x: ndim=2, float* out"


# Kernels that Triton has compiled already, as functions of a module


SIGNATURE = {"x": "*fp32", "out": "*fp32", "stride": "constexpr", "n": "i32", "BLOCK": "constexpr"}
ATTRS = {(0,): [["tt.divisibility", 16]], (3,): [["tt.divisibility", 16]]}


@pytest.fixture(scope="module")
def kernel():
    """As `fn[grid](...)` would return it for a stride of 1, but compiled without a GPU."""
    constants = {(2,): 1, (4,): 64}
    source = triton.compiler.ASTSource(kernels.strided, SIGNATURE, constants, ATTRS)
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    return triton.compile(source, target=target, options={"num_warps": 2})


def test_a_compiled_kernel_is_launched_as_one_compiled_here(driver_stub, kernel):
    launch = tc.triton.from_compiled(kernel, grid="n // BLOCK")
    here = tc.triton.compile(
        kernels.strided,
        "*fp32:16, *fp32, i32:1, i32:16",
        grid="n // BLOCK",
        num_warps=2,
        arch="sm_90",
    )
    # Triton's name of the file may be another; all that is launched is the same.
    assert dataclasses.replace(launch, image=None) == dataclasses.replace(here, image=None)
    mod = load("triton_compiled", strided=launch)
    x = cuda_array(driver_stub, 128)
    mod.strided(x, x, 1, 128)
    assert only(driver_stub).values("PPiPP") == (x.data_ptr, x.data_ptr, 128, 0, 0)
    assert only(driver_stub).grid == (2, 1, 1)
    with pytest.raises(ValueError, match=r"\bstride\b"):
        mod.strided(x, x, 2, 128)


def test_a_kernel_of_an_old_triton_is_refused(kernel):
    old = SimpleNamespace(**kernel.metadata._asdict() | {"triton_version": "3.5.1"})
    with pytest.raises(tc.ToolchainError, match=r"Triton 3\.5\.1 is too old"):
        tc.triton.from_compiled(SimpleNamespace(metadata=old, asm=kernel.asm, src=kernel.src))
