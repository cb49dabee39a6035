"""What a source begins with, as far as NVRTC can precompile it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin import include_scan
from tvmffi_cubin.device.nvrtc_prefix import find_prefix


def first_part(source: str) -> str:
    prefix = find_prefix(source)
    return "" if prefix is None else source[: prefix.end]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#include <a>\n", "int x;"),
        ("// c\n/* d\n */ #include <a>\n", "#define X 1\nint x;"),
        ("#define X 1\n#include <a>\n#undef X\n# include <b>\n", "#define Y\nint x;"),
        ("#if A\n#include <a>\n#else\n#include <b>\n#endif\n", "#define Y\nint x;"),
        ("#include <a>\n", "#ifdef B\nint x;\n#include <b>\n#endif\n"),
        ("#define M(x) \\\n  x\n#include <a>\n", "int x;\n#include <b>\n"),
        ("#include <a> /* one\n two */\n#include <b> // three \\\n four\n", "int x;"),
        ("#include <a>\r\n#include <b>\r\n", "int x;"),
        ("#include <a>", ""),
        ("#/**/include <a>\n", "/* no end"),
        ("#include <a>\n", "#pragma once\nint x;"),
        ("#include <a>\n", "\\\nint x;"),
        ('#define GLOB "src/*.h"\n#include <a>\n', "int x = 1 /* one */ +\n 2;"),
        ('#include "a/*b.h"\n', "int x; /* c */\n"),
    ],
)
def test_it_ends_after_the_last_include_before_anything_else(before, after):
    assert first_part(before + after) == before
    prefix = find_prefix(before + after)
    assert prefix is not None
    assert prefix.lines == before.count("\n")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "int x;\n#include <a>\n",
        "#if A\nint x;\n#include <a>\n#endif\n",
        "#ifndef GUARD\n#define GUARD\n#include <a>\nint x;\n#endif\n",
        "#define X 1\nint x;",
        "/* no end #include <a>",
    ],
)
def test_there_may_be_none(source):
    assert first_part(source) == ""


@pytest.mark.parametrize("directive", ["#line 7", '# 7 "x.cu"', "#  line 7"])
def test_it_ends_where_lines_are_numbered_anew(directive):
    assert first_part(f"#include <a>\n{directive}\n#include <b>\nint x;") == "#include <a>\n"
    assert first_part(f"{directive}\n#include <b>\nint x;") == ""


def test_comments_make_no_difference_to_the_directives():
    plain, commented = (
        find_prefix(f"{text}#include <a>\n#define X 1\n#include <b>\nint x;")
        for text in ("", "/* a\n b */ // c\n\n")
    )
    assert plain is not None
    assert commented is not None
    assert plain.directives == commented.directives
    assert plain.directives == ("#include <a>", "#define X 1", "#include <b>")


DIRECTIVES = st.sampled_from(
    ["#include <a>\n", "#define X \\\n 1\n", "// c\n", "/* #if\n */\n", "\n", "#pragma p\n"]
)


@given(st.lists(DIRECTIVES), st.lists(st.sampled_from(["int x;\n", "#if Y\n", "#endif\n"])))
def test_it_is_whole_lines_and_balanced(directives, rest):
    source = "".join(directives) + "int first;\n" + "".join(rest)
    part = first_part(source)
    assert "".join(directives).startswith(part)
    assert part == "" or part.endswith("<a>\n")
    assert part.count("#include") == "".join(directives).count("#include")


def test_names_are_those_of_sources_and_files(tmp_path):
    (tmp_path / "x.h").write_text('#include "y.h"\n')
    source = "#include <a>\n#include M\n#if __has_include(<b>)\n#endif\n"
    found = include_scan.names([source], [str(tmp_path / "x.h"), str(tmp_path / "none")])
    assert found == {"a", "b", "M", "y.h"}
