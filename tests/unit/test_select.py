"""Choosing a kernel by name, and declared parameters against an image."""

from __future__ import annotations

import pytest

from tvmffi_cubin import Cubin, Launch
from tvmffi_cubin.device.image import Image
from tvmffi_cubin.device.signature import KernelSignature, resolve_declared
from tvmffi_cubin.functions.choice import Kernels
from tvmffi_cubin.kernels.cubin import Kernel, Parameter
from tvmffi_cubin.kernels.demangle import demangle, take_apart
from tvmffi_cubin.kernels.types import parse_params


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


def select(signatures, wanted: str, *, declared=None, lowered_names=None, parts=False):
    """Return the kernel of a Launch(kernel=...) or, without parts, of a function of that name."""
    cubin = Cubin(b"", "sm_90", lowered_names or {})
    launch = Launch(kernel=wanted if parts else None, params=declared)
    kernels = Kernels([Image("given", cubin, tuple(signatures))])
    return kernels.choose(wanted, launch).signature


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


NUMBERED = [signature(name, "float* x", 8) for name in ("main_kernel_1", "main_kernel", "init_1")]


@pytest.mark.parametrize(
    ("part", "symbol"),
    [
        ("_1", None),
        ("main", "main_kernel"),
        ("main_kernel", "main_kernel"),
        ("kernel_1", "main_kernel_1"),
        ("nit", "init_1"),
    ],
)
def test_a_part_of_a_name_finds_its_kernel(part, symbol):
    if symbol is not None:
        assert select(NUMBERED, part, parts=True).symbol == symbol
        return
    with pytest.raises(ValueError, match="'_1' stands for 2 kernels") as error:
        select(NUMBERED, part, parts=True)
    assert "main_kernel_1(float* x) [main_kernel_1]" in str(error.value)


def test_a_number_behind_the_part_makes_a_variant():
    # As CuTe's compiler names the kernels of TileLang: what they take follows the number.
    typed = "kernel_cutlass_main_kernel{}_tensorptrf16gmemalign16_{}"
    base, other = (signature(typed.format(*x), "") for x in (("", 0), ("_2", 1)))
    for kernels in ([base, other], [other, base]):
        assert select(kernels, "main_kernel", parts=True) is base


def test_a_part_of_a_symbol_finds_its_kernel_where_no_name_has_it():
    assert select(ALL, "fillIfLi4E", parts=True) is FILL_FLOAT


def test_a_part_may_reach_into_template_arguments_written_in_any_way():
    assert select(ALL, "fill<float, 4", parts=True) is FILL_FLOAT
    assert select(ALL, "<double", parts=True) is FILL_DOUBLE
    assert select(ALL, "ns::", declared="double* x, int n", parts=True).symbol == (
        FILL_DOUBLE.symbol
    )


def test_a_whole_name_comes_before_parts_of_others():
    kernels = [signature("add", ""), signature("add_rows", ""), signature("_ZN2ns3subEv", "")]
    assert select(kernels, "add", parts=True).symbol == "add"
    assert select([*kernels, signature("subtract", "")], "sub", parts=True).name == "sub"


def test_no_match_lists_the_kernels_and_suggests_one():
    with pytest.raises(ValueError) as error:
        select(ALL, "saxpi")
    assert "there is no kernel 'saxpi' in the image; did you mean 'saxpy'?" in str(error.value)
    assert "ns::fill<float, 4>" in str(error.value)


def test_of_very_many_kernels_some_are_listed():
    many = [signature(f"k_{number}", "") for number in range(50)]
    with pytest.raises(
        ValueError, match=r"no kernel 'x' in the image; it has: (k_\d+, ){20}\.\.\. "
    ):
        select(many, "x")


def test_an_image_without_kernels_says_so():
    with pytest.raises(ValueError, match="of a template name an instance"):
        select([], "k")


def test_an_ambiguous_name_lists_the_candidates_and_what_to_declare():
    with pytest.raises(ValueError) as error:
        select(ALL, "over")
    text = str(error.value)
    assert "stands for 2 kernels" in text
    assert "over(float* x) [_Z4overPf]" in text
    assert text.endswith('declare its parameters: params="..."')


def test_declared_types_choose_between_overloads():
    assert select(ALL, "over", declared="float* y").symbol == "_Z4overPf"
    assert select(ALL, "over", declared="int64_t* y").symbol == "_Z4overPl"


def test_unknown_parameters_are_an_error_unless_declared():
    unknown = signature("k", "", 8, 12, problem="declare them")
    with pytest.raises(ValueError, match="declare them"):
        select([unknown], "k")
    declared = "float* x, MyStruct s"
    assert select([unknown], "k", declared=declared) is unknown


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
