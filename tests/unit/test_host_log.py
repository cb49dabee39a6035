"""Logs of host compilers about edited text, told of the user's own."""

from __future__ import annotations

import re

from tvmffi_cubin.cuda_text import read
from tvmffi_cubin.host_log import translate
from tvmffi_cubin.launch_text import launch_edits
from tvmffi_cubin.text_edits import EditedText, apply

SOURCE = """\
__global__ void k(float* x, int) {}
void f(float* é) {
	k<<<1, n>>>(é);
}
"""
HEADER = "/x/include/tvmffi_cubin/mixed/kernel_launch.h"
OURS = f"{HEADER}:37:3"


def edited(source: str = SOURCE) -> EditedText:
    launches = [launch for item in read(source).items for launch in item.launches]
    return apply(source, [edit for one in launches for edit in launch_edits(source, one)])


def told(log: str, source: str = SOURCE) -> str:
    return translate(log, {"a.cu": edited(source)})


def _as_in_utf8(words: str) -> str:
    """Return words with the quotes that g++ has there."""
    return re.sub("'(.*?)'", "\u2018\\1\u2019", words)


def column(part: str, line: int = 3, *, in_bytes: bool = True) -> int:
    """Return the column of a part of the edited text, as compilers count."""
    text = edited().text.split("\n")[line - 1]
    before = text[: text.index(part)]
    return len(before.encode() if in_bytes else before) + 1


def test_lines_and_columns_are_the_users_and_so_is_what_is_quoted():
    log = f"a.cu: In function 'void f(float*)':\na.cu:3:{column('n)')}: error: no 'n' here"
    assert told(log).split("\n") == [
        "a.cu: In function 'void f(float*)':",
        "a.cu:3:9: error: no 'n' here",
        "    3 | \tk<<<1, n>>>(é);",
        "      | \t       ^",
    ]


def test_columns_are_in_characters():
    # Behind an é, which takes two bytes.
    log = f"a.cu:3:{column('));')}: error: too few arguments to function 'void k(float*, int)'"
    assert told(log).split("\n")[0].startswith("a.cu:3:15: error: too few")


def test_a_compiler_that_has_quoted_the_file_counts_tabs_as_they_are_shown():
    # The tab is seven more; the é in what is quoted, which is the shorter line, is one less.
    column_shown = column("n)") + 7 - 1
    log = f"a.cu:3:{column_shown}: error: no n\n    3 |  k<<<1, n>>>(é);\n      |      ^"
    assert told(log).split("\n")[0] == "a.cu:3:9: error: no n"
    assert told(log).count("|") == 2
    of_clang = f"a.cu:3:{column('n)')}: error: no n\n  (::tvmffi\n   ^\n1 error generated.\n"
    assert told(of_clang).split("\n")[0] == "a.cu:3:9: error: no n"
    assert "::tvmffi" not in told(of_clang)
    assert told(of_clang).endswith("\n1 error generated.\n")


def test_a_message_without_a_column_shows_its_line():
    assert told("a.cu:3: warning: x").split("\n") == [
        "a.cu:3: warning: x",
        "    3 | \tk<<<1, n>>>(é);",
    ]


def test_lines_that_say_how_the_compiler_got_there_are_the_users_too():
    log = f"a.cu:3:{column('k(')}:   required from here\nb.h:1:2: error: x\n    1 | y\n      | ^"
    wanted = "a.cu:3:2:   required from here\nb.h:1:2: error: x\n    1 | y\n      | ^"
    assert told(log) == wanted
    log = f"    inlined from 'void f()' at a.cu:3:{column('k(')}:\nb.h:1:2: error: x"
    assert told(log) == "    inlined from 'void f()' at a.cu:3:2:\nb.h:1:2: error: x"


def test_how_our_unit_includes_the_text_is_left_out():
    own = "In file included from unit.cc:7:\n"
    assert told(f"{own}a.cu:3: error: x").startswith("a.cu:3: error: x\n")
    users = "In file included from a.cu:1,\n                 from unit.cc:7:\nb.h:2:3: error: x"
    assert told(users) == "In file included from a.cu:1:\nb.h:2:3: error: x"
    others = "In file included from c.h:1,\n                 from unit.cc:7:\nb.h:2:3: error: x"
    assert told(others) == others


def test_what_is_ours_is_left_out_of_words():
    log = "a.cu:1:17: note: candidate: 'void k(float*, int tvmffi_cubin_p1)'"
    assert told(log).startswith("a.cu:1:17: note: candidate: 'void k(float*, int)'\n")
    log = "a.cu:1:17: note: 'tvmffi_cubin::v0_1::Dim3'"
    assert told(log).startswith("a.cu:1:17: note: 'tvmffi_cubin::Dim3'\n")


def test_notes_on_our_headers_and_macros_are_left_out():
    log = (
        f"In file included from unit.cc:1:\n{OURS}: note: candidate: x\n   37 |   y\n      |   ^\n"
        "a.cu:1:34: note: in expansion of macro 'TVMFFI_CUBIN_STUB'\n    1 | x\n      | ^\n"
        f"{OURS}: warning: no return statement\nninja: build stopped: subcommand failed."
    )
    assert told(log) == "ninja: build stopped: subcommand failed."


def test_a_configuration_that_is_none_is_an_error_at_the_launch():
    called = "'tvmffi_cubin::v0_1::KernelLaunch::KernelLaunch(int, int, int, int&)'"
    words = f"no matching function for call to {called}"
    log = f"a.cu:3:{column('), k')}: error: {words}\n{OURS}: note: x"
    assert told(log).split("\n") == [
        "a.cu:3:3: error: no <<<...>>> can be had with (int, int, int, int&): it takes grid and "
        "block, each a number or a dim3, then, if wanted, bytes of dynamic shared memory and a "
        "stream",
        "    3 | \tk<<<1, n>>>(é);",
        "      | \t ^",
    ]


def test_an_error_in_our_headers_is_told_where_the_users_text_led_to_it():
    log = (
        f"In file included from {HEADER}:10:\n{HEADER}: In instantiation of 'x':\n"
        f"{HEADER}:55:50:   required from 'y'\na.cu:3:{column('), k')}:   required from here\n"
        f"{OURS}: error: static assertion failed: the grid of <<<grid, block>>> is a number\n"
        f"{OURS}: error: no return statement\n"
    )
    assert told(log).split("\n") == [
        "a.cu:3:3: error: the grid of <<<grid, block>>> is a number",
        "    3 | \tk<<<1, n>>>(é);",
        "      | \t ^",
        "",
    ]
    macro = "in expansion of macro 'TVMFFI_CUBIN_STUB'"
    log = f"{OURS}: error: x\n   37 | y\na.cu:1:34: note: {macro}\n{OURS}: error: z\n"
    log += f"a.cu:1:34: note: {macro}\n"
    assert told(log).count("error") == 1
    assert told(log).startswith("a.cu:1:34: error: x\n    1 | __global__")


def test_an_error_that_is_only_ours_stays():
    log = f"In file included from unit.cc:1:\n{OURS}: error: x\n   37 |   y\n      |   ^\n"
    assert told(log) == log


def test_a_kernel_that_returns_something_is_told_so():
    what = "invalid 'static_cast' from type 'int (*)(int)' to type 'void (*)(int)'"
    log = told(f"a.cu:1:34: error: {what}")
    assert log == told(f"a.cu:1:34: error: {_as_in_utf8(what)}")
    assert log.startswith("a.cu:1:34: error: a kernel returns void, not 'int'\n")


def test_a_call_of_a_device_function_is_told_in_either_compiler_s_words():
    what = "a __device__ function, which host code cannot call"
    for words in (
        f"call to 'n::f.constprop.isra' declared with attribute error: {what}",
        f"call to 'n::f' declared with 'error' attribute: {what}",
    ):
        assert told(f"a.cu:1:34: error: {words}").startswith(
            f"a.cu:1:34: error: 'n::f' is {what}\n"
        )


def test_all_else_stays_as_it_is():
    log = "FAILED: [code=1] host.o\ng++ -c a.cu:3\n\ncompilation terminated.\n"
    assert told(log) == log


def test_a_text_that_is_no_utf8_is_shown_too():
    source = "\udce9 n\n"
    assert told("a.cu:1:3: error: x", source) == f"a.cu:1:3: error: x\n    1 | {source}      |   ^"
