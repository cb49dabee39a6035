"""Symbols to readable names, and names to their parts."""

from __future__ import annotations

import pytest

from tvmffi_cubin.kernels.demangle import demangle, function_name, split_list, take_apart


def test_a_mangled_symbol_becomes_readable():
    assert demangle("_Z4fillIfLi4EEvPT_S0_i") == "void fill<float, 4>(float*, float, int)"


@pytest.mark.parametrize("name", ["saxpy", "f", "i", "", "_Znonsense", "_Z", "_Zé"])
def test_other_names_stay_as_they_are(name):
    assert demangle(name) == name


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
        ("k((anonymous namespace)::Q)", "k", "k", ("Q",)),
        ("If<(sizeof (int))==(4), void>::type ns::k<int>(int*)", "ns::k<int>", "ns::k", ("int*",)),
        ("unsigned long (anonymous namespace)::k<A<1, 2> >()", "k<A<1, 2> >", "k", ()),
        ("A::operator unsigned int()", "A::operator unsigned int", "A::operator unsigned int", ()),
        ("operator<<(X&, Y)", "operator<<(X&, Y)", "operator<<(X&, Y)", None),
        ("void k<f()::{lambda(int)#1}>(int)", "k<f()::{lambda(int)#1}>", "k", ("int",)),
    ],
)
def test_a_function_name_is_taken_apart(text, display, qualified, params):
    name = take_apart(text)
    assert (name.display, name.qualified, name.params) == (display, qualified, params)


def test_a_list_is_split_at_its_outermost_commas():
    assert split_list("A<int, 2>, int (*)(int, int), B") == ["A<int, 2>", "int (*)(int, int)", "B"]
    assert split_list("  ") == []


def test_a_symbol_is_taken_apart_as_its_readable_form():
    assert function_name("_ZN2ns4fillIfEEvPT_i") == take_apart("void ns::fill<float>(float*, int)")
