"""The object that all generated launchers share: where it is kept, and that it is made once."""

from __future__ import annotations

import errno
import os
import resource
import sys
from pathlib import Path

import pytest
from processes import in_fork

import tvmffi_cubin
from tvmffi_cubin import launcher_object, package_folder, toolset
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.object_file import ObjectFile
from tvmffi_cubin.toolchain import HostCompiler

BESIDE = Path(tvmffi_cubin.__file__).parent / "__pycache__" / "launcher"


@pytest.fixture
def tools():
    return toolset.find(needs_cuda=True)


def test_it_lies_beside_the_package_whatever_the_cache_folder(tools, tmp_path):
    first = launcher_object.obtain(Cache(tmp_path / "one"), tools)
    second = launcher_object.obtain(Cache(tmp_path / "two"), tools)
    assert first.so == second.so
    assert BESIDE in first.so.parents
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("obstacle", ["rights", "room"])
def test_it_lies_in_the_cache_where_the_package_takes_no_files(
    obstacle, tools, tmp_path, monkeypatch, caplog
):
    def fail(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(package_folder, "path_beside", lambda name: tmp_path / "package" / name)
    if obstacle == "rights":
        monkeypatch.setattr(package_folder, "is_writable", lambda path: False)
    else:
        monkeypatch.setattr(package_folder, "check_room", fail)
    made = launcher_object.obtain(Cache(tmp_path / "cache"), tools)
    assert tmp_path / "cache" in made.so.parents
    assert launcher_object.obtain(Cache(tmp_path / "cache"), tools).so == made.so
    assert not caplog.records


def test_one_that_who_installed_the_package_had_made_is_used(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(package_folder, "path_beside", lambda name: tmp_path / "package" / name)
    made = launcher_object.obtain(Cache(tmp_path / "theirs"), tools)
    assert tmp_path / "package" in made.so.parents
    assert (tmp_path / "package" / "launcher").stat().st_mode & 0o055 == 0o055
    monkeypatch.setattr(package_folder, "is_writable", lambda path: False)
    ours = Cache(tmp_path / "ours", roots=tools.roots)
    assert launcher_object.obtain(ours, tools).so == made.so


def test_it_depends_on_no_header_of_the_system(tools, tmp_path):
    read = launcher_object.obtain(Cache(tmp_path), tools).facts["dependencies"]
    assert any(path.endswith("launcher/plan.h") for path in read)
    assert any(path.endswith("tvm/ffi/c_api.h") for path in read)
    assert not [path for path in read if path.startswith("/usr/include/stdio")]


@pytest.fixture
def beside_nothing(monkeypatch):
    """The package's own folder cannot be written."""
    monkeypatch.setattr(launcher_object, "home", lambda cache, tools: cache)


def with_compiler(folder: Path, tools, script: str):
    """Return tools with a shell script for a compiler; $CXX in it is the real one."""
    compiler = folder / "compiler"
    compiler.write_text(f"#!/bin/sh\nCXX='{tools.compiler.path}'\n{script}\n")
    compiler.chmod(0o755)
    return tools._replace(compiler=HostCompiler(compiler))


def refusal(folder: Path, tools, script: str) -> str:
    """Return the error where this script is the compiler."""
    with pytest.raises(BuildError) as caught:
        launcher_object.obtain(Cache(folder / "cache"), with_compiler(folder, tools, script))
    return str(caught.value)


def symbols(entry) -> tuple[set[str], set[str]]:
    """Return the symbols of ours that an object defines for others, and those that it lacks."""
    own = [x for x in ObjectFile.read(entry.so.read_bytes()).symbols if "tvmffi_cubin" in x.name]
    return {x.name for x in own if x.section and x.info >> 4 == 1}, {
        x.name for x in own if not x.section
    }


def test_its_two_parts_are_one_object_the_same_to_the_byte_each_time(tools, tmp_path, request):
    kept = launcher_object.obtain(Cache(tmp_path), tools)
    request.getfixturevalue("beside_nothing")
    again = launcher_object.obtain(Cache(tmp_path), tools)
    assert again.so != kept.so
    assert again.so.read_bytes() == kept.so.read_bytes()
    defined, lacking = symbols(kept)
    assert not lacking
    # One of either part: a call with options, and preloading.
    assert [name for name in defined if "15CallWithOptions" in name]
    assert [name for name in defined if "7Preload" in name]
    read = [os.path.basename(path) for path in kept.facts["dependencies"]]
    assert {"hot.cc", "cold.cc", "failure.cc", "instances.h"} <= set(read)
    assert len(read) == len(set(kept.facts["dependencies"]))


def test_where_objects_cannot_be_merged_it_is_compiled_in_one(tools, tmp_path, request):
    merged = launcher_object.obtain(Cache(tmp_path), tools)
    request.getfixturevalue("beside_nothing")
    script = 'case "$*" in *"-r -nostdlib"*) echo no; exit 1;; esac; exec "$CXX" "$@" -O0'
    whole = launcher_object.obtain(Cache(tmp_path), with_compiler(tmp_path, tools, script))
    assert symbols(whole) == symbols(merged)
    assert "launcher.cc" in {os.path.basename(path) for path in whole.facts["dependencies"]}


@pytest.mark.usefixtures("beside_nothing")
@pytest.mark.parametrize("failing", ["hot.cc", "cold.cc", ".cc"])
def test_what_is_wrong_with_a_part_is_told_once(failing, tools, tmp_path):
    script = (
        f'case "$*" in *{failing}) echo x.h:1:2: error: bad; exit 1;; esac; exec "$CXX" "$@" -O0'
    )
    message = refusal(tmp_path, tools, script)
    assert message.count("error: bad") == 1
    assert message.count("a C++17 compiler is needed") == 1


@pytest.mark.usefixtures("beside_nothing")
@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("c++: error: unrecognized command line option '-std=c++17'", "a C++17 compiler is needed"),
        ("launcher.cc:3:10: error: 'string_view' is not in std", "a C++17 compiler is needed"),
        ("launcher.cc:1:10: fatal error: string.h: No such file or directory", "libc6-dev"),
        ("launcher.cc:1:10: fatal error: 'string.h' file not found", "libc6-dev"),
        ("g++: error trying to exec 'cc1plus': execvp: No such file or directory", "apt install g"),
        (
            "c++: fatal error: Killed signal terminated program cc1plus",
            "the compiler itself failed",
        ),
        (
            "x.cc:9:1: fatal error: error writing to /tmp/x.s: No space",
            "the compiler itself failed",
        ),
        ("", "the compiler itself failed"),
    ],
)
def test_a_compiler_that_fails_is_quoted_with_the_remedy_for_what_it_said(
    said, remedy, tools, tmp_path
):
    message = refusal(tmp_path, tools, f"cat <<'END'\n{said}\nEND\nexit 1")
    assert f"(exit status 1):\n{said or 'it printed nothing'}\n" in message
    assert remedy in message.splitlines()[-1]


@pytest.mark.usefixtures("beside_nothing")
def test_a_limit_of_file_sizes_is_no_want_of_a_compiler(tools, tmp_path, monkeypatch):
    # Python keeps modules' bytecode that such a limit has cut off, and fails to read it for ever.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    # In a child: this process may be at work in the background.
    def limited() -> str:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        with pytest.raises(BuildError, match=r"File size limit(.|\n)*\(ulimit -a\)") as caught:
            launcher_object.obtain(Cache(tmp_path), tools)
        return str(caught.value)

    text = in_fork(limited)
    assert isinstance(text, str), text
    assert "C++17" not in text
