"""What a compiler, its assembler and its linker are, played with scripts."""

from pathlib import Path

import pytest

from tvmffi_cubin.cache import files, memo
from tvmffi_cubin.host import tools as host_tools
from tvmffi_cubin.host.toolchain import HostCompiler, find_host_compiler
from tvmffi_cubin.host.tools import HostTools, identify, linker_names, native_cpu

COMPILER = """#!/bin/sh
echo "Target: x-y"; echo "gcc version {version}"
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def compiler(path: Path, *, version: str = "12") -> Path:
    return program(path, COMPILER.format(version=version))


def tool(path: Path, version: str) -> Path:
    return program(path, f"#!/bin/sh\necho '{path.name} {version}'\n")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder that is alone on PATH beside the system's shell, with an assembler and a linker."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    memo._answers.clear()
    folder = tmp_path / "bin"
    tool(folder / "as", "1")
    tool(folder / "ld", "1")
    monkeypatch.setenv("PATH", str(folder))
    yield folder
    memo._answers.clear()


def asked(command: str = "c++", flags: tuple[str, ...] = (), **variables: str) -> HostTools:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"CXX": command, **variables}.items():
            patch.setenv(name, value)
        memo._answers.clear()
        found = find_host_compiler()
        return identify(found, linker_names((*found.options, *flags)))[0]


def test_the_versions_of_compiler_assembler_and_linker_are_told(place):
    compiler(place / "c++")
    found = asked()
    assert found.compiler.startswith("Target: x-y\ngcc version 12\nc++")
    assert (found.assembler, found.linker, found.prefix) == ("as 1", "ld 1", "")


@pytest.mark.parametrize("changed", ["c++", "as", "ld"])
def test_another_version_of_any_is_another_answer(place, changed):
    compiler(place / "c++")
    before = asked()
    if changed == "c++":
        compiler(place / "c++", version="13")
    else:
        tool(place / changed, "2")
    assert asked() != before


def test_a_change_of_a_tool_is_seen_and_nothing_else_is_asked_again(place, monkeypatch):
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))
    compiler(place / "c++")

    def linker() -> str:
        return identify(HostCompiler(place / "c++"))[0].linker

    assert linker() == "ld 1"
    with monkeypatch.context() as patch:
        patch.setattr(host_tools, "run", None)
        assert linker() == "ld 1"
    tool(place / "ld", "2")
    assert linker() == "ld 2"


def test_where_the_tools_lie_does_not_matter(place, tmp_path):
    compiler(place / "c++")
    first = asked()
    elsewhere = tmp_path / "elsewhere" / "bin"
    for name in ("c++", "as", "ld"):
        program(elsewhere / name, (place / name).read_text())
    assert asked(PATH=str(elsewhere)) == first
    assert asked(str(elsewhere / "c++")) == first


def test_a_script_that_stands_before_the_compiler_is_known_by_its_content(place):
    compiler(place / "c++")
    launcher = program(place / "launch", '#!/bin/sh\nexec "$@"\n')
    first = asked("launch c++")
    assert first != asked()
    program(launcher, '#!/bin/sh\n# -DX\nexec "$@"\n')
    assert asked("launch c++") != first


@pytest.mark.parametrize("name", ["COMPILER_PATH", "GCC_EXEC_PREFIX"])
def test_a_compiler_is_asked_anew_where_it_may_be_made_of_other_parts(name, place, monkeypatch):
    monkeypatch.delenv(name, raising=False)
    program(place / "c++", f'#!/bin/sh\necho "gcc version 1 ${name}"\n')
    said = [identify(HostCompiler(place / "c++"))[0].compiler]
    monkeypatch.setenv(name, "/x")
    said.append(identify(HostCompiler(place / "c++"))[0].compiler)
    assert ["/x" in text for text in said] == [False, True]


def test_the_linker_that_flags_ask_for_counts(place):
    compiler(place / "c++")
    tool(place / "ld.lld", "5")
    assert asked().linker == "ld 1"
    for found in (asked(flags=("-fuse-ld=lld",)), asked("c++ -fuse-ld=lld")):
        assert found.linker == "ld 1\nld.lld 5"


def test_a_compiler_in_a_prefix_of_its_own_has_that_as_its_root(place, tmp_path):
    path = compiler(tmp_path / "conda" / "bin" / "c++")
    assert asked(str(path)).prefix == ""
    (tmp_path / "conda" / "lib" / "gcc").mkdir(parents=True)
    assert asked(str(path)).prefix == str(tmp_path / "conda")
    link = place / "c++"
    link.symlink_to(path)
    assert asked().prefix == str(tmp_path / "conda")


# The processor

X86 = """processor\t: {number}
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: {model}
model name\t: Some CPU
stepping\t: 4
cpu MHz\t\t: {speed}
cache size\t: 36608 KB
flags\t\t: fpu {flags}
bogomips\t: {speed}

"""


@pytest.fixture
def cpu(tmp_path, monkeypatch):
    """Sets what the kernel says of the processors, and returns what is made of it."""

    def read(**changes: object) -> str:
        values = {"number": 0, "model": 85, "speed": 2000.1, "flags": "avx"} | changes
        path = tmp_path / "cpuinfo"
        path.write_text(X86.format(**values) + X86.format(**{**values, "number": 1}))
        monkeypatch.setattr(host_tools, "_CPU_INFO", str(path))
        host_tools._processor.cache_clear()
        return native_cpu(["-march=native"])

    yield read
    host_tools._processor.cache_clear()


def test_the_processor_is_told_by_model_and_flags(cpu):
    first = cpu()
    assert "avx" in first
    assert cpu(flags="avx avx512f") != first
    assert cpu(model=86) != first


def test_what_differs_between_equal_processors_is_not_told(cpu):
    assert cpu(speed=3500.0, number=7) == cpu()
