"""Whatever a text is, it is read without an exception, and what is found lies within it."""

from __future__ import annotations

import pytest
from cuda_items import everything
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.cuda_item import CudaText, Item, Span
from tvmffi_cubin.cuda_text import expand, read

TEXT = """
template < > typename class T ... = , ; ( ) { } [ ] : :: * & && -> ~ # ## <<< >>> << 1 'a' "s" //
/* */ \\ R"( )" operator () requires noexcept try catch struct enum union namespace using typedef
friend public extern "C" static_assert asm __global__ __device__ __host__ constexpr void int k x M
N alignas __attribute__ decltype auto new @ $ é
"""
LINES = """
#if A
#ifdef __CUDACC__
#if 0
#else
#elif B
#endif
#define M __device__
#define M <<<1, 2>>>
#define M(x) M(x) M(N)
#define M }
#undef M
#define N(x) M x {
#define N() namespace a {
#define N(x, ...) __global__ void x##k(__VA_ARGS__) { #x }
#include <a>
#
#define
#include
"""
PIECES = st.one_of(
    st.sampled_from(TEXT.split()),
    st.sampled_from([f"\n{line}\n" for line in LINES.strip().split("\n")]),
    st.sampled_from(["\n", "\r\n", "\t", "N(x)", "N(M, x)", "k<<<1, 2>>>(x);", "void k(int) {"]),
)
SOURCES = st.lists(PIECES, max_size=40).map(" ".join)


def is_within(span: Span, outer: Span) -> bool:
    return outer.start <= span.start <= span.end <= outer.end


def check(found: CudaText) -> None:
    check_items(found.items, Span(0, len(found.text)))
    count = found.text.count("\n") + 1
    assert all(1 <= item.line <= count for item in everything(found.items))
    assert all(1 <= line <= count for line, _ in found.problems)
    for macro in found.macros:
        for launch in macro.launches:
            assert all(is_within(span, macro.span) for span in launch[:3])


def check_items(items: tuple[Item, ...], outer: Span) -> None:
    done = outer.start
    for item in items:
        assert is_within(item.span, outer)
        assert item.span.start >= done
        done = item.span.end
        inner = [param.span for param in (item.template or ()) + (item.params or ())]
        inner += [span for launch in item.launches for span in launch[:3]]
        inner += [item.body] if item.body is not None else []
        assert all(is_within(span, item.span) for span in inner)
        if item.kind != "include":
            assert item.span.start <= item.declarator_end <= item.span.end
        for param in (item.template or ()) + (item.params or ()):
            assert param.span.start <= param.name_at <= param.span.end
        check_items(item.children, item.span if item.body is None else item.body)


@given(SOURCES)
def test_any_sequence_of_tokens(text):
    check(read(text))
    edited = expand(text)
    assert edited.text.count("\n") == text.count("\n")
    check(read(edited.text))


@given(st.text())
def test_any_text(text):
    check(read(text))


@pytest.mark.parametrize(
    "piece", ["namespace a {", "struct A {", "(", "a<", "k<<<", "#if A\n", "[", "f("]
)
def test_text_nested_as_deeply_as_can_be(piece):
    check(read(piece * 600))
    assert expand(piece * 600).text == piece * 600
