"""Choosing a kernel by name, and declared parameters against an image."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cubin import Kernel, Parameter
from tvmffi_cubin.cxx_type import parse_params
from tvmffi_cubin.demangle import demangle, take_apart
from tvmffi_cubin.kernel_signature import KernelSignature, resolve_declared, select


def kernel(symbol: str, *sizes: int) -> Kernel:
    params = tuple(Parameter(index, 8 * index, size) for index, size in enumerate(sizes))
    return Kernel(symbol, params, 16, 0, 0, 1024)


def signature(symbol: str, params: str, *sizes: int, problem: str = "") -> KernelSignature:
    name = take_apart(demangle(symbol))
    return KernelSignature(
        symbol=symbol,
        name=name.qualified.rpartition("::")[2],
        qualified=name.qualified,
        display=name.display,
        params=parse_params(params),
        names_known=True,
        line=1,
        kernel=kernel(symbol, *sizes),
        problem=problem,
    )


FILL_FLOAT = signature("_ZN2ns4fillIfLi4EEEvPT_i", "float* x, int n", 8, 4)
FILL_DOUBLE = signature("_ZN2ns4fillIdLi4EEEvPT_i", "double* x, int n", 8, 4)
OVER_FLOAT = signature("_Z4overPf", "float* x", 8)
OVER_LONG = signature("_Z4overPl", "long* x", 8)
SAXPY = signature("saxpy", "float a, const float* x", 4, 8)
ALL = [FILL_FLOAT, FILL_DOUBLE, OVER_FLOAT, OVER_LONG, SAXPY]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("saxpy", SAXPY),
        ("::saxpy", SAXPY),
        ("_Z4overPf", OVER_FLOAT),
        ("ns::fill<float, 4>", FILL_FLOAT),
        ("ns::fill<double,4>", FILL_DOUBLE),
        ("fill< float,4 >", FILL_FLOAT),
    ],
)
def test_a_name_finds_its_kernel(wanted, found):
    assert select(ALL, wanted) is found


def test_lowered_names_find_what_text_does_not():
    lowered = {"ns::fill<F, N>": FILL_FLOAT.symbol}
    assert select(ALL, "ns::fill<F,N>", lowered_names=lowered) is FILL_FLOAT


def test_the_base_name_suffices_where_it_is_one_kernel():
    assert select([FILL_FLOAT, SAXPY], "fill") is FILL_FLOAT
    assert select([FILL_FLOAT, SAXPY], "ns::fill") is FILL_FLOAT


def test_no_match_lists_the_kernels_and_suggests_one():
    with pytest.raises(ValueError) as error:
        select(ALL, "saxpi")
    assert "there is no kernel 'saxpi' in the image; did you mean 'saxpy'?" in str(error.value)
    assert "ns::fill<float, 4>" in str(error.value)


def test_an_image_without_kernels_says_so():
    with pytest.raises(ValueError, match="the image has no kernels"):
        select([], "k")


def test_an_ambiguous_name_lists_the_candidates_and_what_to_declare():
    with pytest.raises(ValueError) as error:
        select(ALL, "over")
    text = str(error.value)
    assert "stands for 2 kernels" in text
    assert "over(float* x) [_Z4overPf]" in text
    assert 'params="float* x"' in text


def test_declared_types_choose_between_overloads():
    assert select(ALL, "over", declared=parse_params("float* y")).symbol == "_Z4overPf"
    chosen = select(ALL, "over", declared=parse_params("int64_t* y"))
    assert (chosen.symbol, chosen.params[0].name) == ("_Z4overPl", "y")


def test_unknown_parameters_are_an_error_unless_declared():
    unknown = signature("k", "", 8, 12, problem="declare them")
    with pytest.raises(ValueError, match="declare them"):
        select([unknown], "k")
    chosen = select([unknown], "k", declared=parse_params("float* x, MyStruct s"))
    assert [(param.name, param.type.size) for param in chosen.params] == [("x", 8), ("s", 12)]
    assert chosen.problem == ""


def test_declared_parameters_are_checked_against_the_image():
    assert [param.name for param in resolve_declared("float* x, int n", kernel("k", 8, 4))] == [
        "x",
        "n",
    ]
    with pytest.raises(ValueError) as error:
        resolve_declared("float* x, int n", kernel("k", 8, 8))
    assert str(error.value) == (
        "kernel 'k': parameter 1 ('n') is declared 'int', which has 4 bytes, but the image's has 8"
    )
    with pytest.raises(ValueError, match=r"the image has 2 parameters \(bytes: 8, 4\), but 1 are"):
        resolve_declared("float* x", kernel("k", 8, 4))
