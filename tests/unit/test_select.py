"""Choosing a kernel by name, and declared parameters against an image."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.functions.choice import select
from tvmffi_cubin.functions.signature import KernelSignature, resolve_declared
from tvmffi_cubin.kernels.cubin import Kernel, Parameter
from tvmffi_cubin.kernels.demangle import demangle, take_apart
from tvmffi_cubin.kernels.types import parse_params
from tvmffi_cubin.probe import squeeze


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


NUMBERED = [signature(name, "float* x", 8) for name in ("main_kernel_1", "main_kernel", "init_1")]


@pytest.mark.parametrize(
    ("part", "symbol"),
    [
        ("main", "main_kernel"),
        ("kernel", "main_kernel"),
        ("main_kernel", "main_kernel"),
        ("kernel_1", "main_kernel_1"),
        ("init", "init_1"),
        (" ::main ", "main_kernel"),
    ],
)
def test_a_part_of_a_name_finds_its_kernel_before_the_numbered_ones(part, symbol):
    assert select(NUMBERED, part, parts=True).symbol == symbol


def test_numbers_alone_are_told_apart():
    numbered = [signature(f"k_{number}", "") for number in (1, 2, 10)]
    with pytest.raises(ValueError, match="'k' stands for 3 kernels") as error:
        select(numbered, "k", parts=True)
    assert 'k_10() [k_10]: kernel="k_10"' in str(error.value)
    with pytest.raises(ValueError, match="'_1' stands for 2 kernels"):
        select(numbered, "_1", parts=True)
    with pytest.raises(ValueError, match="'k' stands for 3 kernels"):
        select([*numbered, signature("k_1_2", "")], "k", parts=True)


# As CuTe's compiler names the kernels of TileLang: what they take follows the number.
TYPED = "kernel_cutlass_main_kernel{}_tensorptrf16gmemalign16_{}"


@pytest.mark.parametrize("first", ["", "_1"])
def test_a_number_behind_the_part_makes_a_variant(first):
    base, *others = (
        signature(TYPED.format(number, end), "") for number, end in ((first, 0), ("_2", 1))
    )
    for kernels in ([base, *others], [*others, base], [base]):
        if first == "" or kernels == [base]:
            assert select(kernels, "main_kernel", parts=True) is base
            continue
        with pytest.raises(
            ValueError, match=r"'main_kernel' stands for 2 kernels:(\n  kernel_cu.*){2}"
        ):
            select(kernels, "main_kernel", parts=True)


def test_of_several_kernels_without_a_number_none_is_chosen():
    kernels = [signature(TYPED.format(*pair), "") for pair in (("", 0), ("", "a"), ("_1", 2))]
    with pytest.raises(ValueError, match="'main_kernel' stands for 2 kernels") as error:
        select(kernels, "main_kernel", parts=True)
    assert "main_kernel_1" not in str(error.value)


def test_the_first_place_of_a_part_tells_whether_a_number_follows():
    one, two = signature("k_1_of_k_x", ""), signature("k_x_of_k_1", "")
    assert select([one, two], "k", parts=True) is two
    assert select([one], "k", parts=True) is one
    assert select([one, signature("k1", "")], "k", parts=True).symbol == "k1"


def test_a_part_of_a_symbol_finds_its_kernel_where_no_name_has_it():
    assert select(ALL, "fillIfLi4E", parts=True) is FILL_FLOAT
    kernels = [signature("Pf", ""), *(x for x in ALL if x.symbol == "_Z4overPf")]
    assert select(kernels, "P", parts=True).symbol == "Pf"


def test_a_part_may_reach_into_template_arguments_written_in_any_way():
    assert select(ALL, "fill<float, 4", parts=True) is FILL_FLOAT
    assert select(ALL, "<double", parts=True) is FILL_DOUBLE
    assert select(ALL, "ns::", declared=parse_params("double* x, int n"), parts=True).symbol == (
        FILL_DOUBLE.symbol
    )


def test_a_whole_name_comes_before_parts_of_others():
    kernels = [signature("add", ""), signature("add_rows", ""), signature("_ZN2ns3subEv", "")]
    assert select(kernels, "add", parts=True).symbol == "add"
    assert select([*kernels, signature("subtract", "")], "sub", parts=True).name == "sub"


def test_a_part_finds_nothing_where_only_names_count():
    with pytest.raises(ValueError) as error:
        select(NUMBERED, "main")
    assert "no kernel 'main'" in str(error.value)
    assert """did you mean 'main_kernel'? Launch(kernel="main") finds it""" in str(error.value)


def test_of_very_many_candidates_some_are_listed():
    many = [signature(f"k_{number}", "") for number in range(50)]
    with pytest.raises(
        ValueError, match=r"stands for 50 kernels:(\n  k_.*){20}\n  ... and 30 more"
    ):
        select(many, "k", parts=True)


WORDS = st.sampled_from(["main", "kernel", "main_kernel", "k", "add", "ma", "x1", "_1"])
BASES = st.builds(lambda word, tail: word + tail, WORDS, st.sampled_from(["", "_1", "_2", "_1_2"]))
SPACES = st.sampled_from(["", "ns::", "a::b::"])
ARGUMENTS = st.sampled_from(["", "<float>", "<double, 4>", "<unsigned int, (bool)1>", "<(n::E)0>"])
DISPLAYS = st.builds("{}{}{}".format, SPACES, BASES, ARGUMENTS)


def named(index: int, display: str, params: str) -> KernelSignature:
    """Return a kernel of any name; those without C++ in it are their own symbols."""
    qualified = display.partition("<")[0]
    plain = display.isidentifier() and not params
    return signature(display if plain else f"_Z{index}", params, *[8] * bool(params))._replace(
        name=qualified.rpartition("::")[2],
        qualified=qualified,
        display=display,
    )


@given(
    st.lists(st.tuples(DISPLAYS, st.sampled_from(["", "float* x"])), min_size=1, unique=True),
    st.one_of(DISPLAYS, WORDS, st.text("main_kernl12<,: ", min_size=1)),
    st.booleans(),
)
def test_a_kernel_is_found_or_each_candidate_has_a_name_that_finds_it(kernels, wanted, parts):
    signatures = [named(index, *kernel) for index, kernel in enumerate(kernels)]
    try:
        found = select(signatures, wanted, parts=parts)
    except ValueError as error:
        if "there is no kernel" in str(error):
            inside = squeeze(wanted).removeprefix("::")
            assert not parts or not inside or all(inside not in squeeze(x[0]) for x in kernels)
            assert not parts or not inside or all(inside not in x.symbol for x in signatures)
            return
        listed = re.findall(r'\[(\S+)\]: kernel="(.*)"$', str(error), re.M)
        count = int(re.search(r"stands for (\d+) kernels", str(error))[1])
        assert len(listed) == min(count, 20)
        for symbol, name in listed:
            assert select(signatures, name, parts=True).symbol == symbol
    else:
        assert squeeze(wanted).removeprefix("::") in (squeeze(found.display), found.symbol) or (
            squeeze(wanted).removeprefix("::") in squeeze(found.display)
            or (parts and squeeze(wanted).removeprefix("::") in found.symbol)
        )


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
    assert select(ALL, "over", declared=parse_params("int64_t* y")).symbol == "_Z4overPl"


def test_unknown_parameters_are_an_error_unless_declared():
    unknown = signature("k", "", 8, 12, problem="declare them")
    with pytest.raises(ValueError, match="declare them"):
        select([unknown], "k")
    declared = parse_params("float* x, MyStruct s")
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
