"""Headers that NVRTC precompiles: unseen in messages, and never needed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from nvrtc_pch_kit import INCLUDE, KERNEL, folders, in_new_process, ptx, said, source, stored

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import program
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.device import nvrtc_pch_store
from tvmffi_cubin.errors import CompileError

pytestmark = [
    pytest.mark.usefixtures("own_nvrtc_headers"),
    pytest.mark.skipif(
        not program.load(find_cuda().nvrtc).has_pch, reason="needs NVRTC 12.8 or newer"
    ),
]


# What is said


def test_messages_have_the_users_lines_and_no_word_of_it(caplog):
    text = f"{INCLUDE}\n#define VALUE 1\n{KERNEL}\nnonsense;\n"
    for _ in range(2):
        with pytest.raises(CompileError) as raised:
            nvrtc.compile(text, arch="sm_90", name="mine.cu")
        assert "mine.cu(9): error" in str(raised.value)
        assert "precompiled" not in str(raised.value) + raised.value.log
        assert not [option for option in raised.value.options if option.startswith("-pch")]
    assert said(caplog) == ["made", "used"]


def test_an_error_among_the_includes_has_its_line():
    with pytest.raises(CompileError, match=r"mine\.cu\(2\): .*nowhere\.h"):
        nvrtc.compile(f"{INCLUDE}#include <nowhere.h>\n{KERNEL}", arch="sm_90", name="mine.cu")


def test_warnings_are_the_users_own():
    text = INCLUDE + 'extern "C" __global__ void k(int* y) { int unused; y[0] = 1; }'
    logs = [nvrtc.compile(text, arch="sm_90").log for _ in range(2)]
    assert logs[0] == logs[1]
    assert "unused" in logs[0]
    assert "PCH" not in logs[0]


def test_an_option_that_is_refused_is_still_the_users_mistake():
    with pytest.raises(ValueError, match="refuses an option") as raised:
        nvrtc.compile(source(1), arch="sm_90", options=["--no-such-option"])
    assert "-pch" not in str(raised.value)


# By-pass and fall-back


@pytest.mark.parametrize("option", ["variable", "argument"])
def test_it_can_be_turned_off(option, monkeypatch, caplog):
    if option == "variable":
        monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off")
    options = {"use_pch": False} if option == "argument" else {}
    assert stored(source(1), **options) == 1
    assert said(caplog) == []
    assert not nvrtc_pch_store._stores


def test_who_turns_it_off_gets_a_build_of_their_own_with_the_same_bytes():
    # Else a by-pass could not get around what a compiler's fault has left in the cache.
    paths = [tc.build_inline("own", source(1), arch="sm_90", use_pch=on) for on in (None, False)]
    assert paths[0] != paths[1]
    assert len({Path(path).read_bytes() for path in paths}) == 1


def test_a_source_with_options_of_its_own_for_it_is_left_alone(tmp_path, caplog):
    options = ["-pch", f"-pch-dir={tmp_path}"]
    for _ in range(2):
        ptx(source(1, include=INCLUDE, kernel=KERNEL), options=options)
    assert not nvrtc_pch_store._stores


@pytest.mark.parametrize("problem", ["no room", "no folder", "an old NVRTC"])
def test_it_is_done_without_where_it_cannot_be(problem, tmp_path, monkeypatch, caplog):
    if problem == "no room":
        monkeypatch.setattr(nvrtc_pch_store, "has_room", lambda folder: False)
    elif problem == "no folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    else:
        monkeypatch.setattr(program.Nvrtc, "has_pch", False)
    assert stored(source(1)) == 1
    assert said(caplog) == []


def test_it_is_done_without_where_files_may_not_be_large():
    code = f"""
import resource
from tvmffi_cubin import nvrtc
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
print(nvrtc.compile({source(1)!r}, arch="sm_90").kind)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("cubin\n", 0), done.stderr


def test_a_folder_that_is_gone_is_no_error():
    assert stored(source(1)) == 1
    for folder in folders():
        for path in (*folder.iterdir(), folder):
            path.unlink() if path.is_file() else path.rmdir()
    assert stored(source(2)) == 2


def test_too_little_memory_for_it_is_made_more():
    process = in_new_process(
        "program.load(find_cuda().nvrtc).grow_pch_heap(8 << 20)\n"
        "for value in range(3): compile_it(value)"
    )
    assert process.stdout is not None
    assert process.stdout.read().split("\n")[:-1] == [
        "NVRTC made a precompiled header for kernel.cu",
        "NVRTC used a precompiled header for kernel.cu",
    ]
    assert process.returncode == 0
