"""What a compiler, its assembler and its linker are, played with scripts."""

import os
import shutil
from pathlib import Path

import pytest
from other_users import NOBODY, let_others_reach
from processes import in_fork

from tvmffi_cubin import host_tools, identity, stamp
from tvmffi_cubin.host_tools import HostTools, Question, linker_names, native_cpu
from tvmffi_cubin.identity import Answer
from tvmffi_cubin.toolchain import HostCompiler, find_host_compiler

COMPILER = """#!/bin/sh
case "$1" in
-v) echo "Target: x-y"; echo "gcc version {version}"; {more} ;;
-print-prog-name=ld) echo {linker} ;;
*) echo "${{1#*=}}" ;;
esac
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def compiler(path: Path, *, version: str = "12", linker: str = "ld", more: str = "true") -> Path:
    return program(path, COMPILER.format(version=version, linker=linker, more=more))


def tool(path: Path, version: str) -> Path:
    return program(path, f"#!/bin/sh\necho '{path.name} {version}'\n")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder that is alone on PATH beside the system's shell, with an assembler and a linker."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    identity.forget()
    folder = tmp_path / "bin"
    tool(folder / "as", "1")
    tool(folder / "ld", "1")
    monkeypatch.setenv("PATH", str(folder))
    yield folder
    identity.forget()


def asked(command: str = "c++", flags: tuple[str, ...] = (), **variables: str) -> HostTools:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"CXX": command, **variables}.items():
            patch.setenv(name, value)
        found = find_host_compiler()
        return Question.about(found, linker_names((*found.options, *flags))).ask()[0]


def test_a_compiler_that_would_link_where_it_is_asked_for_its_version_is_asked_otherwise(place):
    compiler(place / "c++", more='case "$*" in *-c) ;; *) echo "undefined main"; exit 1 ;; esac')
    assert asked().compiler.splitlines()[1] == "gcc version 12"


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


def test_a_change_of_assembler_or_linker_is_seen(place, monkeypatch):
    monkeypatch.setattr(stamp, "_SETTLED_NS", -(10**18))
    compiler(place / "c++")

    def version() -> str:
        question = Question.about(HostCompiler(place / "c++"))
        return identity.remember(question.files, lambda: question.ask()[0].linker)

    assert version() == "ld 1"
    tool(place / "ld", "2")
    assert version() == "ld 2"


def test_gcc_and_g_plus_plus_are_two_compilers_though_they_say_the_same(place):
    compiler(place / "gcc")
    os.link(place / "gcc", place / "g++")
    assert asked("gcc").compiler != asked("g++").compiler


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


def test_a_compiler_that_changes_behind_a_script_is_seen(place, tmp_path, monkeypatch):
    monkeypatch.setattr(stamp, "_SETTLED_NS", -(10**18))
    worker = program(tmp_path / "gcc" / "cc1plus", "")
    real = compiler(tmp_path / "gcc" / "g++")
    named = f"-print-prog-name=cc1plus) echo {worker} ;;\n*)"
    real.write_text(real.read_text().replace("*)", named, 1))
    script = program(place / "c++", f'#!/bin/sh\nexec {real} "$@"\n')

    def version() -> str:
        question = Question.about(HostCompiler(script))

        def ask() -> Answer:
            tools, files = question.ask()
            return Answer(tools.compiler, files)

        return identity.remember(question.files, ask)

    assert "gcc version 12" in version()
    real.write_text(real.read_text().replace("version 12", "version 13"))
    program(worker, "# newer")
    assert "gcc version 13" in version()


def test_what_may_start_a_compiler_by_path_is_asked_anew_under_another(place, monkeypatch):
    shutil.copy("/bin/true", place / "g++")
    (place / "c++").symlink_to(shutil.copy("/bin/true", place / "ccache"))
    (place / "cc").symlink_to(place / "g++")
    compiler(place / "gcc")
    names = ("g++", "cc", "c++", "gcc")
    asked_for = []

    def ask_about(name: str) -> None:
        def ask(_: Question) -> Answer:
            asked_for.append(name)
            return Answer(name)

        assert Question.about(HostCompiler(place / name)).remembered(ask) == [name]

    for name in (*names, *names):
        ask_about(name)
    assert asked_for == list(names)
    monkeypatch.setenv("PATH", f"{place}:/elsewhere")
    asked_for.clear()
    for name in (*names, *names):
        ask_about(name)
    assert asked_for == ["c++", "gcc"]
    # A compiler in the place of a script.
    (place / "gcc").unlink()
    shutil.copy("/bin/true", place / "gcc")
    asked_for.clear()
    ask_about("gcc")
    monkeypatch.setenv("PATH", f"{place}:/anywhere")
    ask_about("gcc")
    assert asked_for == ["gcc"]


def test_a_script_that_a_script_starts_by_path_is_seen_to_come_and_to_change(place, monkeypatch):
    early = place.parent / "early"
    early.mkdir()
    monkeypatch.setenv("PATH", f"{early}:{place}")
    compiler(place / "g++")
    script = program(place / "c++", '#!/bin/sh\nexec g++ "$@"\n')

    def known() -> str:
        question = Question.about(HostCompiler(script))
        return question.remembered(lambda about: Answer(about.ask()[0].compiler))[0]

    seen = [known(), known()]
    for flag in ("-DX", "-DY"):
        program(early / "g++", f'#!/bin/sh\nexec {place}/g++ {flag} "$@"\n')
        seen.append(known())
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_a_compiler_that_may_be_run_and_not_read_is_no_script(place, tmp_path):
    compiler_itself = Path(shutil.copy(shutil.which("true", path=os.defpath), place / "g++"))
    compiler_itself.chmod(0o111)
    let_others_reach(place)
    question = Question.about(HostCompiler(compiler_itself))

    def work() -> list[str]:
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        return question.remembered(lambda about: Answer(about.ask()[0].compiler))

    question.ask()  # imports what it takes
    assert in_fork(work) == ["\n" + str(compiler_itself.name)]


def test_a_wrapper_is_asked_anew_where_a_variable_chooses_another_compiler(place, monkeypatch):
    compiler(place / "g++")
    compiler(place / "g++-13", version="13")
    wrapper = program(place / "mpicxx", '#!/bin/sh\nexec "${OMPI_CXX:-g++}" "$@"\n')
    said = []
    for chosen in ("g++", "g++-13", "g++"):
        monkeypatch.setenv("OMPI_CXX", chosen)
        question = Question.about(HostCompiler(wrapper))
        said += question.remembered(lambda about: Answer(about.ask()[0].compiler))
    assert ["version 13" in text for text in said] == [False, True, False]


@pytest.mark.parametrize("name", ["COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_LIBRARY_PATH"])
def test_a_compiler_is_asked_anew_where_it_may_be_made_of_other_parts(name, place, monkeypatch):
    question = Question.about(HostCompiler(compiler(place / "c++")))
    monkeypatch.delenv(name, raising=False)
    before = question.what
    monkeypatch.setenv(name, "/x")
    assert question.what != before


def test_a_compiler_s_own_linker_counts(place, tmp_path):
    own = tool(tmp_path / "own" / "ld", "7")
    compiler(place / "c++", linker=str(own))
    assert asked().linker == "ld 1\nld 7"


def test_a_change_of_a_compiler_s_own_linker_is_seen(place, tmp_path):
    own = tool(tmp_path / "own" / "ld", "7")
    compiler(place / "c++", linker=str(own))
    _, files = Question.about(HostCompiler(place / "c++")).ask()
    assert files == (str(own),)


def test_a_configuration_file_of_clang_counts_by_its_content(place, tmp_path):
    file = tmp_path / "clang.cfg"
    file.write_text("-DX=1")
    compiler(place / "c++", more=f"echo 'Configuration file: {file}'")
    first = asked()
    assert str(file) not in first.compiler
    file.write_text("-DX=2")
    assert asked() != first


def test_the_linker_that_flags_ask_for_counts(place):
    compiler(place / "c++")
    tool(place / "ld.lld", "5")
    assert asked().linker == "ld 1"
    for found in (asked(flags=("-fuse-ld=lld",)), asked("c++ -fuse-ld=lld")):
        assert found.linker == "ld 1\nld.lld 5"


def test_a_tool_that_says_nothing_is_known_by_its_content(place):
    compiler(place / "c++")
    program(place / "ld", "#!/bin/sh\nexit 1\n")
    first = asked().linker
    assert len(first) == 64
    program(place / "ld", "#!/bin/sh\nexit 2\n")
    assert asked().linker != first


def test_tools_that_are_missing_are_nothing(place):
    compiler(place / "c++")
    for name in ("as", "ld"):
        (place / name).unlink()
    assert (asked().assembler, asked().linker) == ("", "")


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


@pytest.mark.parametrize(
    ("flags", "asks"),
    [
        (["-march=native"], True),
        (["-O2", "-mtune=native"], True),
        (["-mcpu=native"], True),
        (["-mcpu=native+crypto"], True),
        (["@flags"], True),
        (["-march=x86-64-v3"], False),
        (["-Dnative"], False),
        ([], False),
    ],
    ids=str,
)
def test_the_processor_counts_where_code_for_it_is_asked_for(cpu, flags, asks):
    cpu()
    assert bool(native_cpu(flags)) == asks


def test_the_processor_counts_where_a_script_asks_for_code_for_it(place):
    compiler(place / "g++")
    program(place / "c++", '#!/bin/sh\nexec g++ -march=native "$@"\n')
    assert native_cpu([asked().native])
    assert not asked("g++").native


def test_the_processor_counts_where_a_variable_asks_for_code_for_it(monkeypatch):
    monkeypatch.setenv("NIX_CFLAGS_COMPILE", "-O3 -march=native")
    assert native_cpu([])


def test_this_machine_s_processor_is_known():
    host_tools._processor.cache_clear()
    assert native_cpu(["-march=native"])
