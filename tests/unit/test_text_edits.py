"""Edited texts: what they hold, and where what is in them came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.text_edits import Edit, apply, blank, copied

TEXT = "int a;\n__global__ void k() { f(); }\nint b;\n"
BODY = (TEXT.index("{"), TEXT.index("}") + 1)


def of(text: str, part: str) -> tuple[int, int]:
    """Return line and column of a part of a text."""
    before = text[: text.index(part)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def test_a_place_before_and_behind_an_edit_on_the_same_line():
    edited = apply(TEXT, [Edit(*BODY, "STUB(1, 2, 3, 4, 5, 6, 7);"), Edit(7, 7, "/*  */ ")])
    assert edited.text == "int a;\n/*  */ __global__ void k() STUB(1, 2, 3, 4, 5, 6, 7);\nint b;\n"
    assert edited.place(*of(edited.text, "void")) == of(TEXT, "void")
    assert edited.place(*of(edited.text, "b;")) == of(TEXT, "b;")
    assert edited.place(2, len("/*  */ __global__ void k() STUB(1, 2, 3, 4, 5, 6, 7);") + 1) == (
        2,
        len("__global__ void k() { f(); }") + 1,
    )


def test_a_place_within_a_replacement_is_where_that_begins():
    edited = apply(TEXT, [Edit(*BODY, "STUB(1, 2, 3);"), Edit(0, 0, "x\n")])
    assert edited.place(*of(edited.text, "2, 3")) == of(TEXT, "{")
    assert edited.place(1, 1) == (1, 1)


def test_a_place_within_a_replacement_of_the_same_length_is_its_own():
    edited = apply(TEXT, [Edit(*BODY, "[ g(); ]")])
    assert edited.place(*of(edited.text, "g()")) == of(TEXT, "f()")


def test_a_place_within_a_copy_is_that_of_what_was_copied():
    text = "  k<T><<<grid,  // how many\n   block>>>(x);"
    start, end = text.index("grid"), text.index(">>>(")
    edits = [
        Edit(2, 2, "(Launch("),
        copied(text, start, end, at=2),
        Edit(2, 2, "), "),
        *blank(text, start - 3, end + 3),
        Edit(len(text) - 1, len(text) - 1, ")"),
    ]
    edited = apply(text, edits)
    assert edited.text.split("\n")[0].split() == ["(Launch(grid,", "block),", "k<T>"]
    assert edited.text.split("\n")[1].split() == ["(x));"]
    assert edited.place(*of(edited.text, "block")) == (2, 4)
    assert edited.place(*of(edited.text, "grid")) == (1, 10)
    assert edited.place(*of(edited.text, "k<T>")) == (1, 3)
    assert edited.place(*of(edited.text, "(x)")) == (2, 12)


def test_places_go_through_several_rounds_of_edits():
    first = apply(TEXT, [Edit(0, 0, "long_word "), Edit(*BODY, "{}")])
    second = first.then([Edit(first.text.index("void"), first.text.index("void") + 4, "auto f =")])
    third = second.then([Edit(0, 0, "one\ntwo\n")])
    assert third.source == TEXT
    assert third.place(*of(third.text, "k()")) == of(TEXT, "k()")
    assert third.place(*of(third.text, "f =")) == of(TEXT, "void")
    assert third.place(*of(third.text, "b;")) == of(TEXT, "b;")
    assert third.place(*of(third.text, "a;")) == of(TEXT, "a;")


def test_places_outside_the_text_are_at_its_ends():
    edited = apply(TEXT, [Edit(len(TEXT), len(TEXT), "more\nlines\n")])
    assert edited.place(5, 3) == edited.place(90, 1) == (4, 1)
    assert edited.place(1, 99) == (1, 7)
    assert edited.place(0, 5) == (1, 5)
    assert edited.place(2, 0) == (2, 0)


def test_edits_that_overlap_or_are_outside_are_refused():
    with pytest.raises(ValueError, match="overlaps or is outside"):
        apply(TEXT, [Edit(0, 4, ""), Edit(3, 5, "")])
    with pytest.raises(ValueError, match="overlaps or is outside"):
        apply(TEXT, [Edit(0, len(TEXT) + 1, "")])


def test_insertions_at_one_place_keep_their_order_and_come_before_what_replaces():
    assert apply("abc", [Edit(1, 2, "-"), Edit(1, 1, "x"), Edit(1, 1, "y")]).text == "axy-c"


def test_blanking_keeps_line_breaks_tabs_and_directives():
    text = "a;\r\n\tf(1,\t2);\n  #  if X \\\n  || Y /* no\n end */\n  g();\n#endif\nh();"
    edited = apply(text, blank(text, 0, len(text)))
    wanted = "  \r\n\t    \t   \n  #  if X \\\n  || Y /* no\n end */\n      \n#endif\n    "
    assert edited.text == wanted


@pytest.mark.parametrize(
    "text",
    ["/* \n#if 1\n */", 'R"x(\n#if 1\n)x"', '"\\\n#if 1"', "// \\\n#if 1", "a # b", "1'0 '\"'"],
)
def test_what_only_looks_like_a_directive_is_blanked(text):
    assert apply(text, blank(text, 0, len(text))).text.strip(" \n") == ""


@pytest.mark.parametrize(
    "pragma", ["unroll 4", "nounroll", "GCC ivdep", "clang loop x(1)", "omp for"]
)
def test_pragmas_of_loops_are_blanked_and_others_stay(pragma):
    text = f"{{\n # pragma {pragma}\n#pragma GCC diagnostic push\n#pragma unrolled\nf();}}"
    lines = apply(text, blank(text, 0, len(text))).text.splitlines()
    assert [line.strip() for line in lines] == [
        *("", "", "#pragma GCC diagnostic push", "#pragma unrolled", "")
    ]


PIECES = st.lists(
    st.sampled_from(
        ["\n", "\r\n", "\t", " ", "#if 1", "x", "'", '"', "//", "/*", "*/", 'R"(', ')"', "\\", "é"]
    )
)


@given(PIECES.map("".join), st.integers(0, 30), st.integers(0, 30))
def test_blanking_keeps_the_number_of_lines_and_columns(text, one, two):
    start, end = sorted((min(one, len(text)), min(two, len(text))))
    edited = apply(text, blank(text, start, end))
    assert [len(line) for line in edited.text.split("\n")] == list(map(len, text.split("\n")))
    for line, row in enumerate(text.split("\n"), 1):
        assert edited.place(line, len(row) + 1) == (line, len(row) + 1)
