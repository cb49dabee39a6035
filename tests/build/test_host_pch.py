"""Precompiled headers of wrappers: used, and complete in their dependencies."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from pathlib import Path

import pytest
import wrapper_sources
from host_pch_builder import ANSWER, PREFIX, VALUE, Builder, uses
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import host_pch, pch_maker
from tvmffi_cubin.cache.record import read_record
from tvmffi_cubin.cache.store import Cache
from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.inline.tools import find_tools

pytestmark = pytest.mark.usefixtures("own_headers")


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")


@pytest.fixture
def build(tmp_path) -> Builder:
    return Builder(Cache(tmp_path / "cache"), tmp_path)


# Use


def test_the_first_build_has_them_made_and_the_next_uses_them(build, caplog):
    assert build.settled() == 42
    assert uses(caplog) == []
    assert build(ANSWER.replace("42", "43")) == 43
    assert uses(caplog) == ["used"]
    assert len(build.kept) == 1


def test_they_are_used_from_folders_with_odd_names(tmp_path, caplog):
    odd = tmp_path / "a b'\"ü$HOME:%s{#}~;&|=@,*?[x]"
    (odd / "include").mkdir(parents=True)
    (odd / "include" / "value.h").write_text("#define VALUE 7\n")
    build = Builder(Cache(odd / "cache"), odd)
    options = {"include_dirs": [odd / "include"], "prefix": "#include <value.h>\n"}
    assert build.settled(VALUE, **options) == 7
    assert build(f"{VALUE}//", **options) == 7
    assert uses(caplog) == ["used"]
    assert str(odd / "include" / "value.h") in build.read


def test_a_build_that_finds_them_under_way_does_not_wait(build, caplog, monkeypatch):
    may_go_on = threading.Event()
    make = pch_maker.make

    def make_later(*args, **options):
        assert may_go_on.wait(60)
        return make(*args, **options)

    monkeypatch.setattr(pch_maker, "make", make_later)
    assert build() == 42
    assert build(ANSWER.replace("42", "43")) == 43
    may_go_on.set()
    host_pch.settle()
    assert build(ANSWER.replace("42", "44")) == 44
    assert uses(caplog) == ["used"]


def test_other_flags_macros_and_prefixes_have_their_own(build, caplog):
    source = 'extern "C" int answer() { return VALUE; }'
    for value in ("1", "2"):
        flags = (f"-DVALUE={value}",)
        assert build.settled(source, flags=flags) == int(value)
        assert build(source, flags=flags) == int(value)
    prefix = f"#define VALUE 3\n{PREFIX}"
    assert build.settled(source, prefix=prefix) == 3
    assert build(source, prefix=prefix) == 3
    assert uses(caplog) == ["used"] * 3
    assert len(build.kept) == 3


def test_a_wrapper_gives_the_same_results_and_the_same_dependencies(tmp_path, monkeypatch, caplog):
    def built(value, **options):
        source = f"#include <memory>\nint64_t answer(int64_t x) {{ return x + {value}; }}"
        functions = {"answer": "Adds."}
        mod = tc.load_inline("pch", cpp_sources=source, functions=functions, **options)
        assert mod.answer(1) == 1 + value
        assert mod.answer.__doc__ is None or "Adds." in mod.answer.__doc__
        host_pch.settle()

    read = []
    for name, use_pch in (("with", None), ("without", False)):
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / name))
        for value in (1, 2):
            built(value, use_pch=use_pch)
        files = (tmp_path / name / "records").glob("*.json")
        read.append([set(read_record(str(file))[0].names) for file in files])
    assert uses(caplog) == ["used"]
    first, second = read[0]
    assert first == second == read[1][0]
    assert "$TVM_FFI/tvm/ffi/function.h" in first
    assert "$TVM_FFI/tvm/ffi/any.h" in first
    assert not (tmp_path / "without" / "headers").exists()


@pytest.mark.parametrize("compiler", ["", "clang++"])
@pytest.mark.parametrize("dialect", ["DRIVER", "RUNTIME"])
def test_what_is_compiled_beside_them_works_as_what_a_wrapper_compiles(
    dialect, compiler, driver_stub, tmp_path, monkeypatch, caplog
):
    if compiler:
        if shutil.which(compiler) is None:
            pytest.skip(f"needs {compiler}")
        monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    image = tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")
    source = getattr(wrapper_sources, dialect)
    second = source[source.index("namespace loader") :].replace('"add_one"', '"absent"')
    source += second.replace("AddOne", "Absent").replace("(add_one, ", "(absent, ")
    x, y = cuda_array(driver_stub, (1000,)), cuda_array(driver_stub, (1000,))
    errors = []
    for suffix in ("", "//"):
        mod = tc.load_inline(dialect, source + suffix, embed_cubin={"kernels": image})
        mod.add_one(x, y)
        with pytest.raises(tc.LaunchError, match="no kernel .absent.; it has .*mul_two") as caught:
            mod.absent(x, y)
        errors.append(str(caught.value))
        host_pch.settle()
    assert [launch.kernel for launch in driver_stub.launches()] == ["add_one"] * 2
    assert errors[0] == errors[1]
    assert uses(caplog) == ["used"]


def test_a_header_of_the_users_still_decides_what_follows_it(shadow, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    (shadow / "config.h").write_text("#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 1\n")
    source = """#include <config.h>
    #include <tvm/ffi/extra/cuda/cubin_launcher.h>
    #include <type_traits>
    bool is_driver() { return std::is_same_v<tvm::ffi::cuda_api::ResultType, CUresult>; }
    """
    for suffix in ("", "//"):
        mod = tc.load_inline(
            "config",
            cpp_sources=source + suffix,
            functions="is_driver",
            extra_include_paths=[shadow],
        )
        assert mod.is_driver()
        host_pch.settle()


def test_messages_show_the_users_own_lines(build, caplog):
    build.settled()
    with pytest.raises(BuildError, match=r"mine\.cc:2:1: error:"):
        build("\nnonsense;")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_compiler_behind_a_launcher_has_them_too(build, caplog, monkeypatch):
    compiler = find_tools(needs_cuda=False).compiler
    monkeypatch.setenv("CXX", f"env LAUNCHED=1 {' '.join(compiler.command)}")
    build.settled()
    assert build() == 42
    assert uses(caplog) == ["used"]


# What they were made from


def write(path: Path, value: int) -> None:
    path.write_text(f"#include_next <string.h>\n#undef VALUE\n#define VALUE {value}\n")


def test_a_header_that_changes_is_read_anew(build, shadow, caplog):
    write(shadow / "string.h", 1)
    assert build.settled(VALUE, include_dirs=[shadow]) == 1
    assert build(VALUE, include_dirs=[shadow]) == 1
    assert os.fspath(shadow / "string.h") in build.read
    write(shadow / "string.h", 2)
    assert build.settled(VALUE, include_dirs=[shadow]) == 2
    assert build(VALUE, include_dirs=[shadow]) == 2
    assert uses(caplog) == ["used"] * 2


def test_a_header_that_appears_before_another_is_read(build, shadow, caplog):
    assert build.settled(VALUE, include_dirs=[shadow]) == 0
    assert build(VALUE, include_dirs=[shadow]) == 0
    assert uses(caplog) == ["used"]
    write(shadow / "string.h", 1)
    assert build(VALUE, include_dirs=[shadow]) == 1


def test_a_module_is_built_anew_when_a_precompiled_header_changes(shadow, tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))

    def answer(suffix=""):
        mod = tc.load_inline(
            "module",
            cpp_sources=f"int64_t answer() {{ return VALUE; }}{suffix}",
            functions="answer",
            extra_include_paths=[shadow],
        )
        host_pch.settle()
        return mod.answer()

    write(shadow / "string.h", 1)
    assert [answer(), answer("//"), answer("//")] == [1, 1, 1]
    write(shadow / "string.h", 2)
    assert [answer("//"), answer()] == [2, 2]


def test_the_common_part_of_a_prefix_is_precompiled_first_and_the_whole_after_it(build, caplog):
    whole = f"{PREFIX}#include <string>\n"
    options = {"prefix": whole, "common_prefix": PREFIX}
    assert build.settled(**options) == 42  # both are made
    assert uses(caplog) == []
    assert len(build.kept) == 2
    assert build(**options) == 42
    assert any(path.endswith("/string") for path in build.read)
    assert build() == 42
    assert uses(caplog) == ["used"] * 2


def test_a_unit_uses_the_common_part_of_its_prefix_until_the_whole_is_precompiled(build, caplog):
    assert build.settled() == 42
    options = {"prefix": f"{PREFIX}#include <string>\n", "common_prefix": PREFIX}
    assert build.settled(**options) == 42
    assert len(build.kept) == 2
    assert build(**options) == 42
    assert uses(caplog) == ["used"] * 2
    assert any(path.endswith("/string") for path in build.read)


def test_what_is_set_for_the_next_build_is_nothing_to_what_the_last_one_began(
    build, shadow, caplog, monkeypatch
):
    write(shadow / "string.h", 1)
    may_go_on = threading.Event()
    make = pch_maker.make

    def make_later(*args, **options):
        assert may_go_on.wait(60)
        return make(*args, **options)

    monkeypatch.setattr(pch_maker, "make", make_later)
    assert build(VALUE) == 0
    with monkeypatch.context() as patch:
        patch.setenv("CPATH", str(shadow))
        may_go_on.set()
        host_pch.settle()
    assert build(VALUE) == 0
    assert uses(caplog) == ["used"]
