"""Symbols to readable names, and names to their parts."""

from __future__ import annotations

import pytest

from tvmffi_cubin.kernels.demangle import (
    FunctionName,
    demangle,
    function_name,
    split_list,
    take_apart,
)


def test_a_mangled_symbol_becomes_readable():
    assert demangle("_Z4fillIfLi4EEvPT_S0_i") == "void fill<float, 4>(float*, float, int)"


@pytest.mark.parametrize("name", ["saxpy", "f", "i", "", "_Znonsense", "_Z", "_Zé"])
def test_other_names_stay_as_they_are(name):
    assert demangle(name) == name


def test_names_of_any_letters_are_read():
    assert demangle("_Z4añoPf") == "año(float*)"


def test_many_calls_keep_giving_the_same():
    assert {demangle("_Z1kPf") for _ in range(1000)} == {"k(float*)"}


@pytest.mark.parametrize(
    ("text", "display", "qualified", "params"),
    [
        ("saxpy", "saxpy", "saxpy", None),
        ("k()", "k", "k", ()),
        ("k(float*, int)", "k", "k", ("float*", "int")),
        ("void ns::k<float, 4>(float*)", "ns::k<float, 4>", "ns::k", ("float*",)),
        ("ns::(anonymous namespace)::k(int)", "ns::k", "ns::k", ("int",)),
        ("k(int (*) [16], void (*)(int, int))", "k", "k", ("int (*) [16]", "void (*)(int, int)")),
        ("void k<(E)1>(V<int, 2>)", "k<(E)1>", "k", ("V<int, 2>",)),
        ("void k<P<(1>2)> >(int)", "k<P<(1>2)> >", "k", ("int",)),
        ("k((anonymous namespace)::Q)", "k", "k", ("(anonymous namespace)::Q",)),
        ("If<(sizeof (int))==(4), void>::type ns::k<int>(int*)", "ns::k<int>", "ns::k", ("int*",)),
        ("unsigned long (anonymous namespace)::k<A<1, 2> >()", "k<A<1, 2> >", "k", ()),
        ("A::operator unsigned int()", "A::operator unsigned int", "A::operator unsigned int", ()),
        ("void k<f()::{lambda(int)#1}>(int)", "k<f()::{lambda(int)#1}>", "k", ("int",)),
    ],
)
def test_a_function_name_is_taken_apart(text, display, qualified, params):
    name = take_apart(text)
    assert (name.display, name.qualified, name.params) == (display, qualified, params)
    assert name.is_instance == ("<" in display)


def test_a_list_is_split_at_its_outermost_commas():
    assert split_list("A<int, 2>, int (*)(int, int), B") == ["A<int, 2>", "int (*)(int, int)", "B"]
    assert split_list("  ") == []


@pytest.mark.parametrize(
    ("symbol", "qualified"),
    [
        # An enumerator's type that refers to what is no substitution.
        ("_ZN7cutlass6KernelIS9_EEvNT_6ParamsE", "cutlass::Kernel"),
        ("_Z4fillIS9_EvT_", "fill"),
        ("_ZN12_GLOBAL__N_14fillIS9_EvT_", "fill"),
        ("_ZN1a1b1cIS9_EvT_", "a::b::c"),
    ],
)
def test_a_symbol_that_breaks_the_rules_still_has_a_name(symbol, qualified):
    assert demangle(symbol) == symbol
    assert function_name(symbol) == FunctionName(symbol, qualified, None)


@pytest.mark.parametrize("symbol", ["_Z", "_ZN", "_Z9ab", "_Z99999999a", "k", ""])
def test_what_has_no_name_to_begin_with_is_its_own(symbol):
    assert function_name(symbol).qualified == symbol


def test_a_symbol_is_taken_apart_as_its_readable_form():
    assert function_name("_ZN2ns4fillIfEEvPT_i") == take_apart("void ns::fill<float>(float*, int)")
