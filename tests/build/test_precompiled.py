"""Headers that NVRTC precompiles: the same images, sooner; never old headers, never needed."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from processes import in_fork, together

from tvmffi_cubin import build_inline, nvrtc
from tvmffi_cubin.cuda import precompiled
from tvmffi_cubin.cuda.precompiled import leading_includes
from tvmffi_cubin.cuda.program import Nvrtc
from tvmffi_cubin.errors import CompileError

pytestmark = pytest.mark.skipif(nvrtc.version() < (12, 8), reason="needs NVRTC 12.8 or newer")

# The least of what is heavy: half a second without precompiled headers.
INCLUDE = "#include <cuda/std/array>\n"
KERNEL = """\
extern "C" __global__ void k(int* y) {
  y[0] = VALUE;
  asm volatile("// VALUE = %0" ::"n"(VALUE));
}
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch) -> Path:
    """A folder for temporary files in which nobody else works, and a process that keeps nothing."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(precompiled, "_made", {})
    return folder


@pytest.fixture
def calls(monkeypatch) -> list[str]:
    """A list that gets "made", "used" or "plain" for each compilation."""
    found = []
    compile_it = Nvrtc.compile

    def spy(self, program, *stop):
        option = program.options[-1].partition("=")[0]
        found.append({"-create-pch": "made", "-use-pch": "used"}.get(option, "plain"))
        return compile_it(self, program, *stop)

    monkeypatch.setattr(Nvrtc, "compile", spy)
    return found


def source(value: object, *, include: str = INCLUDE, kernel: str = KERNEL) -> str:
    return f"{include}#define VALUE {value}\n{kernel}"


def stored(text: str, **options) -> int:
    """Return the number that a source's VALUE is."""
    options = {"arch": "sm_90", "target_type": "ptx"} | options
    (found,) = re.findall(r"// VALUE = (\d+)", nvrtc.compile(text, **options).image.decode())
    return int(found)


def test_images_are_the_same_as_without(calls, temporary):
    options = ("-lineinfo", "-std=c++20", "-use_fast_math")
    kernel = """
    // The lines and the file's name are part of the image.
    extern "C" __global__ void k(int* y, cuda::std::array<int, 3> x) {
      y[0] = x[1] + __LINE__ + __FILE__[0] + sizeof(__FILE__);
      if (y[1] > VALUE) asm volatile("trap;");
    }"""
    text = source(7, kernel=kernel, include=f"/* first */\n\n{INCLUDE}")
    plain = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu", use_pch=False)
    for _ in range(2):
        cubin = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu")
        assert cubin.image == plain.image
        assert cubin.log == plain.log == ""
    assert calls == ["plain", "made", "used"]
    assert [*temporary.iterdir()] == []


def test_another_option_architecture_or_include_has_its_own_and_few_are_kept(calls):
    assert stored(source("MACRO"), options=["-DMACRO=1"]) == 1
    assert stored(source("MACRO"), options=["-DMACRO=2"]) == 2
    assert stored(source(3), arch="sm_80") == 3
    assert stored(source(4, include=INCLUDE + "#include <cuda/std/utility>\n")) == 4
    assert stored(source(5, include=f"#include <cuda/std/utility>\n{INCLUDE}")) == 5
    assert calls == ["made"] * 5
    assert len(precompiled._made) == 4
    assert stored(source("MACRO + 4"), options=["-DMACRO=2"]) == 6
    assert calls[5:] == ["used"]


def test_it_can_be_turned_off(monkeypatch, calls):
    assert stored(source(1), use_pch=False) == 1
    monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off")
    assert stored(source(1)) == 1
    assert calls == ["plain", "plain"]


def test_without_a_place_for_it_the_source_is_compiled_all_the_same(monkeypatch, calls):
    monkeypatch.setenv("TMPDIR", "/nowhere")  # NVRTC's own
    assert stored(source(1)) == 1
    assert calls == ["made", "plain"]
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert stored(source(1), options=["-DNEW"]) == 1
    assert calls[2:] == ["plain"]


@pytest.mark.parametrize(("is_beside", "order"), [(False, 1), (True, 1), (False, -1)])
def test_a_changed_header_is_read_anew(is_beside, order, tmp_path, calls):
    text = source("OWN", include="".join([INCLUDE, '#include "own.h"\n'][::order]))
    options = {"include_paths": [tmp_path]}
    if is_beside:
        options = {"name": str(tmp_path / "kernel.cu"), "source_include": True}
    for value in (1, 1, 2, 2, 1):
        (tmp_path / "own.h").write_text(f"{INCLUDE}#define OWN {value}\n")
        os.utime(tmp_path / "own.h", (1e9, 1e9))  # as edits within one tick have
        assert stored(text, **options) == value
    assert calls[1] == ("used" if order == 1 else "plain")


def test_a_library_of_the_users_own_and_a_header_that_comes_first_are_read_anew(tmp_path):
    path = tmp_path / "cuda" / "std" / "array"
    path.parent.mkdir(parents=True)
    for value in (1, 2):
        path.write_text(f"#define OWN {value}\n")
        assert stored(source("OWN"), include_paths=[tmp_path]) == value
        assert stored(source("OWN", include=f'#include "{path}"\n')) == value
        for option in ("-include", "--pre-include"):
            assert stored(source("OWN"), options=[f"{option}={path}"]) == value


def test_messages_have_the_users_lines_and_no_word_of_it(calls):
    unused = INCLUDE + "__global__ void k() { int unused; }"
    logs = [nvrtc.compile(unused, arch="sm_90").log for _ in range(2)]
    assert logs[0] == logs[1]
    assert "unused" in logs[0]
    assert "PCH" not in logs[0]
    text = f"{INCLUDE}\n#define VALUE 1\n{KERNEL}\nnonsense;\n"
    for _ in range(2):
        with pytest.raises(CompileError) as raised:
            nvrtc.compile(text, arch="sm_90", name="mine.cu")
        assert "mine.cu(9): error" in str(raised.value)
        assert "precompiled" not in str(raised.value) + raised.value.log
    assert calls == ["made", "used", "used", "used"]


def test_an_edited_kernel_of_a_mixed_source_uses_them(calls, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    for value in (1, 2):
        text = f"""{INCLUDE}
            __global__ void k(cuda::std::array<int, {value}> x) {{}}
            void run() {{ k<<<1, 1>>>({{}}); }}"""
        build_inline("mixed", text, functions=["run"], arch="sm_90")
    assert [call for call in calls if call != "plain"] == ["made", "used"]


def test_threads_share_what_one_makes(calls):
    results = {}
    together(4, lambda i: results.update({i: stored(source(i + 10))}))
    assert sorted(calls) == ["made", "used", "used", "used"]
    assert results == {i: i + 10 for i in range(4)}


def test_a_forked_child_uses_what_its_parent_made():
    assert stored(source(1)) == 1
    assert in_fork(lambda: stored(source(2))) == 2


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        ("#include <a>\nint x;", "a"),
        ("#pragma once\n#include <a>\n# include <b>\n#define X 1\n#include <c>\n", "ab"),
        ('#line 1 "x"\n#include <a>\n#line 7 "y"\n#include <b>\n#line 3 "x"\nint x;', "ab"),
        ("#include <a>\n#ifdef B\n#include <b>\n#endif\n", "a"),
        ("#include <a>\n#include B\n#include <b>\n", "a"),
        ("#include <a> /* one\n two */\n#include <b> // three \\\n four\nint x;", "ab"),
        ("int x;\n#include <a>\n", ""),
        ("#ifndef GUARD\n#define GUARD\n#include <a>\nint x;\n#endif\n", ""),
    ],
)
def test_leading_includes_end_before_code_conditions_and_macros(source, headers):
    assert "".join(leading_includes(source)) == headers
