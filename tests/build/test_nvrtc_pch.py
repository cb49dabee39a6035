"""Headers that NVRTC precompiles: the same images, sooner; and never old headers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nvrtc_pch_kit import INCLUDE, KERNEL, folders, ptx, said, source, stored

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import program
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.device import nvrtc_pch, nvrtc_pch_store

pytestmark = [
    pytest.mark.usefixtures("own_nvrtc_headers"),
    pytest.mark.skipif(
        not program.load(find_cuda().nvrtc).has_pch, reason="needs NVRTC 12.8 or newer"
    ),
]


# Use


def test_the_first_compilation_makes_one_and_the_next_use_it(caplog):
    assert [stored(source(value)) for value in (41, 42)] == [41, 42]
    assert said(caplog) == ["made", "used"]
    assert stored(source(43, kernel=f"\n// edited\n{KERNEL}")) == 43
    assert said(caplog) == ["used"]


@pytest.mark.parametrize("options", [(), ("-lineinfo",), ("-std=c++20", "-use_fast_math")])
def test_images_are_the_same_as_without(options, caplog):
    kernel = """
    // The lines and the file's name are part of the image.
    extern "C" __global__ void k(int* y, cuda::std::array<int, 3> x) {
      y[0] = x[1] + __LINE__ + __FILE__[0] + sizeof(__FILE__);
      if (y[1] > VALUE) asm volatile("trap;");
    }"""
    text = source(7, kernel=kernel, include=f"/* first */\n\n{INCLUDE}")
    plain = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu", use_pch=False)
    assert said(caplog) == []
    for word in ("made", "used"):
        cubin = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu")
        assert said(caplog) == [word]
        assert cubin.image == plain.image
        assert cubin.log == plain.log == ""


def test_instances_and_probes_use_it_too(caplog):
    text = INCLUDE + "template <class T> __global__ void fill(T* x) { *x = %d; }"
    for number, word in enumerate(("made", "used")):
        cubin = nvrtc.compile(text % number, arch="sm_90", name_expressions=["fill<float>"])
        assert said(caplog) == [word]
        assert list(cubin.lowered_names) == ["fill<float>"]


def test_load_inline_uses_it(caplog):
    for word in ("made", "used"):
        path = tc.build_inline("pch", source(1, kernel=KERNEL + f"// {word}"), arch="sm_90")
        assert said(caplog) == [word]
        assert os.path.isfile(path)


def test_sources_that_are_linked_use_it_for_what_they_share(caplog):
    def built(value: int, **options) -> str:
        kernels = [
            f'extern "C" __global__ void {name}(int* y) {{ y[0] = {value}; }}' for name in "ab"
        ]
        return tc.build_inline("linked", [INCLUDE, *kernels], arch="sm_90", **options)

    built(1)
    assert said(caplog) == ["made", "used"]
    built(2)
    assert said(caplog) == ["used", "used"]
    built(3, use_pch=False)
    assert said(caplog) == []


def test_another_option_architecture_or_include_has_its_own(caplog):
    assert stored(source("MACRO"), options=["-DMACRO=1"]) == 1
    assert stored(source("MACRO"), options=["-DMACRO=2"]) == 2
    assert stored(source(3), arch="sm_80") == 3
    other = INCLUDE + "#include <cuda/std/utility>\n"
    assert stored(source(4, include=other)) == 4
    assert stored(source("BEFORE", include=f"#define BEFORE 5\n{INCLUDE}")) == 5
    assert stored(source("BEFORE", include=f"#define BEFORE 6\n{INCLUDE}")) == 6
    assert said(caplog) == ["made"] * 6


def test_what_reads_fast_is_not_precompiled(caplog):
    stored(source(1, include="#include <cuda_fp16.h>\n#include <cstdint>\n"))
    stored(source(1, include=""))
    assert said(caplog) == []
    assert not nvrtc_pch_store._stores


def test_where_all_that_is_included_reads_fast_nothing_is_imported_for_it():
    code = f"""
import sys
from tvmffi_cubin import nvrtc
for include in ("#include <cuda_fp16.h>", "#include <cuda_fp16.h>\\n#include <optional>"):
    nvrtc.compile(include + "\\n#define VALUE 1\\n" + {KERNEL!r}, arch="sm_90")
    print("tvmffi_cubin.device.nvrtc_pch" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\nTrue\n"


def test_a_header_of_ones_own_may_be_what_takes_long(tmp_path, caplog):
    (tmp_path / "mine.h").write_text(INCLUDE)
    for _ in range(2):
        ptx(source(1, include='#include "mine.h"\n'), include_paths=[tmp_path])
    assert said(caplog) == ["made", "used"]


def test_so_may_one_that_an_option_includes(tmp_path, caplog):
    (tmp_path / "mine.h").write_text(INCLUDE)
    text = source(1, include="#include <cuda_fp16.h>\n")
    for _ in range(2):
        ptx(text, options=[f"--pre-include={tmp_path}/mine.h"])
    assert said(caplog) == ["made", "used"]


# Headers that change


def write(path: Path, value: int, *, like: Path | None = None) -> None:
    """Write a header; with the times of another file, as two edits within one tick have."""
    path.write_text(f"{INCLUDE}#define OWN {value}\n")
    if like is not None:
        stat = like.stat()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("same_times", [False, True])
def test_a_changed_header_is_read_anew(same_times, tmp_path, caplog):
    header, reference = tmp_path / "own.h", tmp_path / "reference"
    reference.touch()
    like = reference if same_times else None
    text = source("OWN", include='#include "own.h"\n')
    write(header, 1, like=like)
    assert stored(text, include_paths=[tmp_path]) == 1
    assert stored(text, include_paths=[tmp_path]) == 1
    write(header, 2, like=like)
    assert stored(text, include_paths=[tmp_path]) == 2
    assert stored(text, include_paths=[tmp_path]) == 2
    assert said(caplog).count("made") == 2
    assert len(folders()) == 1


def test_a_header_that_appears_before_another_is_read(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    write(second / "own.h", 2)
    text = source("OWN", include="#include <own.h>\n")
    assert stored(text, include_paths=[first, second]) == 2
    write(first / "own.h", 1)
    assert stored(text, include_paths=[first, second]) == 1


def test_a_changed_header_of_a_package_is_read_anew(tmp_path, monkeypatch, caplog):
    cuda = find_cuda()
    cuda = cuda._replace(parts={**cuda.parts, "curand": str(tmp_path)})
    monkeypatch.setattr(nvrtc, "find_cuda", lambda: cuda)
    write(tmp_path / "packaged.h", 1)
    text = source("OWN", include="#include <packaged.h>\n#include <cuda/std/array>\n")
    assert [stored(text), stored(text)] == [1, 1]
    write(tmp_path / "packaged.h", 2)
    assert [stored(text), stored(text)] == [2, 2]
    assert said(caplog).count("made") == 2


def test_headers_beside_the_source_are_found_and_watched(tmp_path):
    name = str(tmp_path / "kernel.cu")
    text = source("OWN", include='#include "own.h"\n')
    for value in (1, 2):
        write(tmp_path / "own.h", value)
        assert stored(text, name=name, source_include=True) == value


def test_a_header_that_changes_as_soon_as_the_compilation_has_begun_is_not_trusted(
    tmp_path, monkeypatch, caplog
):
    header = tmp_path / "own.h"
    write(header, 1)
    observe = nvrtc_pch._Search.observe

    def change_it(*args):
        write(header, 2)
        return observe(*args)

    text = source("OWN", include='#include "own.h"\n')
    with monkeypatch.context() as context:
        context.setattr(nvrtc_pch._Search, "observe", change_it)
        assert stored(text, include_paths=[tmp_path]) in (1, 2)
    assert stored(text, include_paths=[tmp_path]) == 2
    assert said(caplog) == ["made", "made"]
