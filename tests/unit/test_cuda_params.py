"""Parameters of functions and templates in CUDA source texts."""

from __future__ import annotations

import pytest
from cuda_items import only, params


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int x", "x"),
        ("unsigned x", "x"),
        ("unsigned long long", "unsigned long long _"),
        ("const Foo", "const Foo _"),
        ("Foo const", "Foo const _"),
        ("const Foo<A, (1 > 2)>& x", "x"),
        ("Foo<int>", "Foo<int> _"),
        ("Foo<int> x = Foo<int>{1, 2}", "x"),
        ("typename T::type", "typename T::type _"),
        ("typename T::template U<3>::type x", "x"),
        ("ns::T", "ns::T _"),
        ("::ns::T x", "x"),
        ("struct S s", "s"),
        ("struct S", "struct S _"),
        ("float* __restrict__ x", "x"),
        ("float* __restrict__", "float* __restrict__ _"),
        ("const __grid_constant__ CUtensorMap map", "map"),
        ("int* = nullptr", "int* _"),
        ("int x = a < b ? c : d", "x"),
        ("int x[3][N]", "x"),
        ("int [3]", "int _"),
        ("int (*p)[16]", "p"),
        ("int (*)[16]", "int (* _"),
        ("const T (&r)[3]", "r"),
        ("T (&&)[3]", "T (&& _"),
        ("void (*f)(int, float)", "f"),
        ("void (A::*m)(int) const", "m"),
        ("void f(int)", "f"),
        ("[[maybe_unused]] int x", "x"),
        ("alignas(16) T x", "x"),
        ("T x __attribute__((unused))", "x"),
        ("decltype(a + b) x", "x"),
        ("decltype(a)", "decltype(a) _"),
        ("auto x", "x"),
        ("C auto&& x", "x"),
        ("Ts... xs", "...xs"),
        ("Ts&&...", "...Ts&&... _"),
        ("const S<Ts>&... xs", "...xs"),
        ("std::function<void(int, int)> f", "f"),
    ],
)
def test_a_parameter_of_every_shape(text, name):
    assert params(f"void k({text});") == [name]
    assert params(f"void k(int a, {text}) {{}}")[1:] == [name]


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("void", 0), ("int, ...", 1), ("int a...", 1)]
)
def test_how_many_parameters_there_are(text, count):
    assert len(params(f"void k({text});")) == count


@pytest.mark.parametrize(
    ("text", "name", "is_pack"),
    [
        ("typename T", "T", False),
        ("class", "", False),
        ("typename = std::enable_if_t<(N > 1)>", "", False),
        ("typename T = A<int, 3>", "T", False),
        ("class... Ts", "Ts", True),
        ("typename...", "", True),
        ("int N = 3", "N", False),
        ("int", "", False),
        ("int... Ns", "Ns", True),
        ("typename T::type N", "N", False),
        ("typename T::type", "", False),
        ("std::enable_if_t<(N < 4), int> = 0", "", False),
        ("template <typename, int> class C", "C", False),
        ("template <typename> typename... Cs", "Cs", True),
        ("template <typename> class", "", False),
        ("auto V", "V", False),
        ("std::integral T", "T", False),
        ("float (*F)(float)", "F", False),
    ],
)
def test_a_template_parameter_of_every_shape(text, name, is_pack):
    for before in ("", "typename A0, "):
        source = f"template <{before}{text}> void k();"
        template = only(source).template
        assert template is not None
        param = template[-1]
        assert (param.name, param.is_pack) == (name, is_pack)
        assert source[slice(*param.span)] == text
        at = source.index(text) + len(text.split("=")[0].rstrip())
        if not name:
            assert param.name_at == at


def test_a_specialisation_has_no_template_parameters():
    assert only("template <> void k<int>();").template == ()
    assert only("void k();").template is None
