"""From a compiled kernel's facts to its parameters, by what each version of Triton's passes."""

from types import SimpleNamespace

import pytest

from tvmffi_cubin.cubin import Kernel, Parameter
from tvmffi_cubin.cxx_type import parse_params
from tvmffi_cubin.triton.element_types import POINTERS, SCALARS, descriptor, kernel_type
from tvmffi_cubin.triton.facts import Argument, Facts
from tvmffi_cubin.triton.hints import Hinted, parse_hinted, split
from tvmffi_cubin.triton.parameters import parameters
from tvmffi_cubin.triton.wanted import Options

FP4 = {"swizzle": 3, "elem_size": 1, "elem_type": 14, "block_size": [64, 128], "fp4_padded": True}
TILED = {"swizzle": 1, "elem_size": 4, "elem_type": 7, "block_size": [16, 8], "fp4_padded": False}


def facts(*arguments: Argument, version: str = "3.9.0", metas=(), **metadata) -> Facts:
    fields = {"instrumentation_mode": "", "profile_scratch_size": 0, **metadata}
    known = SimpleNamespace(triton_version=version, tensordesc_meta=list(metas), **fields)
    names = tuple(x.name for x in arguments)
    return Facts("k", b"", "k(...)", names, arguments, {}, known)


def kernel(*sizes: int) -> Kernel:
    slots = tuple(Parameter(i, 0, size) for i, size in enumerate((*sizes, 8, 8)))
    return Kernel("k", slots, 16, 0, 0, 1024)


@pytest.mark.parametrize("name", [*SCALARS, *(f"*{x}" for x in POINTERS), "*kfp32"])
def test_every_type_of_triton_s_has_one_in_cxx(name):
    (param,) = parse_params(f"{kernel_type(name)} x")
    if name.startswith("*"):
        assert param.type.size == 8
    else:
        bits = int(name.lstrip("iufpb"))
        assert param.type.size == max(8, bits) // 8


def test_the_scratch_pointers_come_last_under_names_of_their_own():
    x, taken = Argument("x", (0,), "*fp32"), Argument("global_scratch", (1,), "i32")
    made = parameters(facts(x, taken), kernel(8, 4))
    assert made.signature == (
        "float* x, int32_t global_scratch, void* _global_scratch, void* profile_scratch"
    )
    assert made.scratch == "_global_scratch"
    assert made.args == {"_global_scratch": None, "profile_scratch": None}


def test_names_may_have_letters_of_any_script():
    made = parameters(
        facts(Argument("λ", (0,), "fp32"), Argument("new", (1,), "i32")), kernel(4, 4)
    )
    assert made.exported == ["float λ", "int32_t new"]
    assert [x.name for x in parse_params(made.signature)][:2] == ["λ", "new"]


VERSIONS = [("3.6.0", "x.shape[1] * 2"), ("3.7.1", "x.shape[1]")]


@pytest.mark.parametrize(("version", "last"), VERSIONS)
def test_the_shape_of_padded_fp4_is_doubled_as_the_version_does(version, last):
    x = Argument("x", (0,), "tensordesc<u8[64,128]>")
    made = parameters(facts(x, version=version, metas=[FP4]), kernel(128, 4, 4, 8, 8))
    assert made.args["x_shape_0"] == "x.shape[0]"
    assert made.args["x_shape_1"] == last
    assert made.args["x"].dtype == "16u4_align16b"


def test_descriptors_have_their_own_maps_in_order():
    metas = [TILED, {**TILED, "elem_type": 10, "swizzle": 0}]
    x = Argument("x", (0,), "tensordesc<fp32[16,8]>", options=Options("nan", tf32=True))
    y = Argument("y", (1,), "tensordesc<bf16[16,8]>")
    sizes = (128, 4, 4, 8, 8)
    made = parameters(facts(x, y, metas=metas), kernel(*sizes, *sizes))
    one, two = made.args["x"], made.args["y"]
    assert (one.dtype, one.oob_fill, one.swizzle) == ("tfloat32", "nan", "32B")
    assert (two.dtype, two.oob_fill, two.swizzle) == ("bfloat16", "zeros", "none")
    assert one.box_dim == (16, 8)
    assert made.exported == ["float* x: ndim=2", "__nv_bfloat16* y: ndim=2"]


@pytest.mark.parametrize(
    ("known", "sizes", "message"),
    [
        (facts(), (8,), "the kernel takes 3 parameters, 3 more than its arguments; known are 2"),
        (facts(instrumentation_mode="gsan"), (8, 8, 8), "compile it without"),
        (facts(profile_scratch_size=8), (), "compiled for a profiler"),
        (facts(Argument("x", (0,), "i32")), (8,), "parameter 1 of the kernel has 8 bytes, int32_t"),
        (
            facts(Argument("t_0", (0,), "i32"), Argument("t_0", (1, 0), "i32")),
            (4, 4),
            "'t_0' would be two parameters",
        ),
        (facts(Argument("const", (0,), "i32")), (4,), "'const' is a word of C.. that no parameter"),
        (
            facts(Argument("x", (0,), "tensordesc<i32[8]>", options=Options("nan"))),
            (8, 8, 8, 1, 1, 4, 8),
            r"padding\['x'\] is 'nan', and tensordesc<i32\[8\]> has none: it is no float",
        ),
        (
            facts(
                Argument("x", (0,), "tensordesc<fp8e5[16,8]>", options=Options("nan")),
                metas=[{**TILED, "elem_type": 0}],
            ),
            (128, 4, 4, 8, 8),
            r"padding\['x'\] is 'nan', and maps of tensordesc<fp8e5\[16,8\]> have none",
        ),
        (
            facts(
                Argument("x", (0,), "tensordesc<fp32[8]>", options=Options(tf32=True)),
                version="3.6.0",
            ),
            (8, 8, 8, 1, 4, 8),
            "round_f32_to_tf32: 'x' cannot be rounded by a kernel without tensor maps",
        ),
        (facts(metas=[TILED]), (), "Triton tells of 1 tensor maps, the function has 0"),
        (
            facts(Argument("x", (0,), "tensordesc<fp32[16,8]>"), metas=[{**TILED, "is_im2col": 1}]),
            (128, 4, 4, 8, 8),
            "argument 'x' is an im2col descriptor",
        ),
        (
            facts(Argument("x", (0,), "tensordesc<fp32[16,8]>"), metas=[{**TILED, "swizzle": 9}]),
            (128, 4, 4, 8, 8),
            "Triton asks for a tensor map's mode 9",
        ),
    ],
)
def test_what_is_not_known_is_refused(known, sizes, message):
    with pytest.raises(ValueError, match=message):
        parameters(known, kernel(*sizes))


def test_types_with_hints_are_parsed_as_triton_s_own_tool_does():
    assert split("*fp32:16, tensordesc<fp16[64, 32]>, (i32, i64), 7") == [
        *("*fp32:16", "tensordesc<fp16[64, 32]>", "(i32, i64)", "7"),
    ]
    assert parse_hinted("x", "*fp32:16") == Hinted("*fp32", divisible=True)
    assert parse_hinted("x", " i64 : 1 ") == Hinted("i64", is_one=True)
    assert parse_hinted("x", "-3") == Hinted("constexpr", value=-3)
    assert parse_hinted("x", "1.5") == Hinted("constexpr", value=1.5)
    assert parse_hinted("x", "None") == Hinted("constexpr", value=None)
    assert parse_hinted("x", "True") == Hinted("constexpr", value=True)
    assert descriptor("tensordesc<fp16[64, 32]>") == ("fp16", (64, 32))
