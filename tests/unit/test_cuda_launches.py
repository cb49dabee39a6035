"""Launches and device lambdas in CUDA source texts."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda_text import read


def launches(code: str) -> list[tuple[str, str, str]]:
    """Return callee, configuration and arguments of each launch in a function's body."""
    text = f"void f() {{ {code} }}"
    (item,) = read(text).items
    return [
        (text[slice(*one.callee)], text[slice(*one.config)], text[slice(*one.args)])
        for one in item.launches
    ]


@pytest.mark.parametrize(
    "callee",
    [
        "k",
        "::k",
        "ns::a::k",
        "k<float>",
        "ns::k<T, (N > 4)>",
        "k<A<B<int>>>",
        "A<T>::template k<4>",
        "this->k",
        "obj.fn",
        "p->q.table[i + f(2)]",
        "(*fp)",
        "(this->*member)",
        "(big ? k<1> : k<2>)",
        "get<int>(x)",
        "table[i][j]",
        "pick(a, b)[0]",
        "KERNEL(add)",
    ],
)
def test_whatever_a_launch_calls(callee):
    for before in (
        "",
        "x = 1; ",
        "if (x) ",
        "else ",
        "return ",
        "a, ",
        "for (;;) ",
        "c ? 1 : ",
        "{}",
    ):
        code = f"{before}{callee}<<<1, 2>>>(a, b);"
        assert launches(code) == [(callee, "1, 2", "a, b")], code


@pytest.mark.parametrize(
    "config",
    [
        "g, b, 0, stream",
        "dim3(1, 2), n < 4 ? 1 : 2",
        "f<A<B<int>>>(), b",
        "f<A<int>>{}, x >> 3",
        "n > 4, m >> 2",
        "(n >>> 2), b",
        "g, sizeof(A<B<C<int>>>)",
        "[&] { return 1; }(), b",
        " // a comment >>>(\n g, b",
        "g, f<1>",
        "f<f<f<1>>>",
    ],
)
def test_whatever_a_launch_is_configured_with(config):
    assert launches(f"k <<<{config}>>> (x);") == [("k", config, "x")]


def test_launches_within_launches_and_macro_arguments():
    code = (
        "CHECK((a<<<n<<<3, 4>>>(5), 2>>>(b<<<1, 1>>>(2)), DISPATCH(T, [&] { c<T><<<1, 2>>>(); })));"
    )
    assert [callee for callee, _, _ in launches(code)] == ["a", "n", "b", "c<T>"]


def test_shifts_and_the_operator_are_no_launches():
    assert launches('a << b; c <<= 1; x.operator<<<int>(y); s << "k<<<1, 2>>>(3)";') == []


def test_launches_in_macros_have_their_places_in_the_text():
    text = "#define RUN(k, ...) \\\n  do { k##_kernel<T><<<g, b>>>(__VA_ARGS__); } while (0)\n"
    (macro,) = read(text).macros
    (launch,) = macro.launches
    parts = [text[slice(*span)] for span in launch[:3]]
    assert parts == ["k##_kernel<T>", "g, b", "__VA_ARGS__"]
    assert launch.line == 2
    assert macro.params == ("k", "...")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("k<<<1, 2>>>;", "a launch without arguments behind its >>>"),
        ("k<<<1, 2;", "a launch without >>>"),
        ("= <<<1, 2>>>(x);", "a launch without a kernel before its <<<"),
    ],
)
def test_half_launches_are_problems(code, words):
    assert read(f"\nvoid f() {{ {code} }}").problems == ((2, words),)


def test_lambdas_that_have_execution_space_words():
    text = """#define HD __host__ __device__
void f() {
  auto a = [=] __device__ (int i) { return i; };
  auto b = g([x, &y] HD { }, [&](int i) { return t[i]; });
  auto c = [] __host__ __device__ (int) mutable {};
}
[[nodiscard]] __device__ int h();
"""
    first, second = read(text).items
    both = {"__host__", "__device__"}
    assert first.lambdas == ((3, {"__device__"}), (4, both), (5, both))
    assert second.lambdas == ()
