"""The tools beside CUDA: where they are looked for, what they are, what is said without them."""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from pathlib import Path

import pytest

from tvmffi_cubin.cache import files
from tvmffi_cubin.errors import ToolchainError
from tvmffi_cubin.host import tools
from tvmffi_cubin.host.tools import HostTools, find_host, find_host_compiler, native_cpu
from tvmffi_cubin.inline import tools as of_inline
from tvmffi_cubin.inline.tools import find_tools

COMPILER = '#!/bin/sh\necho "Using specs."; echo "Target: x-y"; echo "gcc version {version}"\n'


def program(path: Path, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def compiler(path: Path, *, version: str = "12") -> Path:
    return program(path, COMPILER.format(version=version))


def tool(path: Path, version: str) -> Path:
    return program(path, f"#!/bin/sh\necho '{path.name} {version}'\n")


@pytest.fixture
def bin_dir(tmp_path, monkeypatch) -> Path:
    """The only folder on PATH, empty; no CXX."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    files._answers.clear()
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    yield folder
    files._answers.clear()


# Where they are


def test_the_first_compiler_on_path_is_taken_or_cxx_with_a_launcher(bin_dir, monkeypatch):
    with pytest.raises(ToolchainError, match=r"apt install g\+\+.*conda install"):
        find_host_compiler().require()
    clang = program(bin_dir / "clang++")
    assert find_host_compiler().command == (str(clang),)
    gxx = program(bin_dir / "g++")
    assert find_host_compiler().command == (str(gxx),)
    ccache = program(bin_dir / "ccache")
    monkeypatch.setenv("CXX", "ccache g++ -m64 '-DNAME=a b'")
    found = find_host_compiler()
    assert found.command == (str(ccache), "g++", "-m64", "-DNAME=a b")
    assert found.files == (ccache, gxx)
    monkeypatch.setenv("CXX", "icpx -O1")
    with pytest.raises(ToolchainError, match=r"CXX='icpx -O1': cannot find 'icpx'"):
        find_host_compiler()


@pytest.mark.parametrize(
    ("find", "name", "package"),
    [
        (partial(tools.find_binutil, "ld"), "ld", r"apt install binutils \(or"),
        (partial(tools.find_binutil, "x86_64-gnu-ld"), "x86_64-gnu-ld", "binutils-x86-64-gnu"),
        (tools.find_ninja, "ninja", "pip install ninja"),
    ],
)
def test_a_program_is_found_on_path_or_named_with_its_package(
    bin_dir, tmp_path, monkeypatch, find, name, package
):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.delitem(sys.modules, "ninja", raising=False)
    importlib.invalidate_caches()
    with pytest.raises(ToolchainError, match=f"{name}.*{package}"):
        find()
    made = program(bin_dir / name)
    assert find() == str(made)
    if name == "ninja":
        beside = program(tmp_path / "python" / "bin" / "ninja")
        assert find() == str(beside)


# What they are


@pytest.fixture
def place(bin_dir) -> Path:
    """A folder that is alone on PATH, with an assembler, a linker and a compiler."""
    for name in ("as", "ld"):
        tool(bin_dir / name, "1")
    compiler(bin_dir / "c++")
    return bin_dir


def asked(command: str = "c++", **variables: str) -> HostTools:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"CXX": command, **variables}.items():
            patch.setenv(name, value)
        files._answers.clear()
        return known()


def known() -> HostTools:
    return find_host("", lambda: ([], []))[1]


def test_tools_are_known_by_what_they_are_wherever_they_lie(place, tmp_path):
    found = asked()
    assert found.compiler.startswith("Target: x-y\ngcc version 12\nc++")
    elsewhere = tmp_path / "elsewhere" / "bin"
    for name in ("c++", "as", "ld"):
        program(elsewhere / name, (place / name).read_text())
    assert asked(PATH=str(elsewhere)) == asked(str(elsewhere / "c++")) == found
    program(place / "c++", "#!/bin/sh\necho broken\nexit 3\n")
    with pytest.raises(ToolchainError, match=r"status 3: broken"):
        asked()


@pytest.mark.parametrize("changed", ["c++", "as", "ld", "first/c++", "first/ld"])
def test_a_change_of_a_tool_is_seen_and_nothing_else_is_asked_again(place, monkeypatch, changed):
    """Also one that appears before it, as when packages are installed from a notebook."""
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))
    monkeypatch.setenv("PATH", f"{place / 'first'}:{place}")
    first = known()
    for _ in ("memory", "disk"):
        with monkeypatch.context() as patch:
            patch.setattr(tools, "said", None)
            assert known() == first
        files._answers.clear()
    if changed.endswith("c++"):
        compiler(place / changed, version="13")
    else:
        tool(place / changed, "2")
    assert known() != first


def test_in_a_second_the_tools_are_looked_at_once(place, monkeypatch):
    monkeypatch.setattr(of_inline, "_RECENT", 3600.0)
    monkeypatch.setattr(of_inline, "_found", {})
    first = find_tools(needs_cuda=False)
    compiler(place / "c++", version="13")
    assert find_tools(needs_cuda=False) is first
    monkeypatch.setattr(of_inline, "_RECENT", 0.0)
    assert find_tools(needs_cuda=False).host != first.host


def test_a_script_that_stands_before_the_compiler_is_known_by_its_content(place):
    launcher = program(place / "launch", '#!/bin/sh\nexec "$@"\n')
    first = asked("launch c++")
    assert first != asked()
    program(launcher, '#!/bin/sh\n# -DX\nexec "$@"\n')
    assert asked("launch c++") != first


# The processor

X86 = """processor\t: {number}
vendor_id\t: GenuineIntel
model\t\t: {model}
cpu MHz\t\t: {speed}
flags\t\t: fpu {flags}

"""


def test_the_processor_is_told_by_model_and_flags_and_nothing_that_differs_between_equal_ones(
    tmp_path, monkeypatch
):
    def read(**changes: object) -> str:
        values = {"number": 0, "model": 85, "speed": 2000.1, "flags": "avx"} | changes
        path = tmp_path / "cpuinfo"
        path.write_text(X86.format(**values) + X86.format(**{**values, "number": 1}))
        monkeypatch.setattr(tools, "_CPU_INFO", str(path))
        tools._processor.cache_clear()
        return native_cpu(["-march=native"])

    first = read()
    assert "avx" in first
    assert read(flags="avx avx512f") != first
    assert read(model=86) != first
    assert read(speed=3500.0, number=7) == first
    tools._processor.cache_clear()
