"""`HostTools`: what a compiler, its assembler and its linker are, whatever folder they lie in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from . import identity, toolchain
from .environment import compiler_environment, variables
from .errors import ToolchainError
from .identity import Answer
from .key import file_digest
from .toolchain import HostCompiler

__all__ = [
    "HostTools",
    "Question",
    "compiler_version",
    "library_folders",
    "linker_names",
    "native_cpu",
    "run",
]

_Path = str | os.PathLike[str]

_ASSEMBLER, _LINKER = "as", "ld"
_SEPARATOR = "\0"
# Folders of which one is in every prefix that gcc or clang is installed to.
_OWN_FOLDERS = ("lib/gcc", "lib64/gcc", "libexec/gcc", "lib/clang", "lib64/clang")
_SYSTEM = ("/", "/usr", "/usr/local")
_CONFIGURED = "Configuration file: "
# What decides where a compiler finds its programs, and they their libraries: clang may be one.
_SEARCH = ("COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_LIBRARY_PATH")
# What tells ccache, and the compilers of MPI, which compiler they are to start.
_CHOSEN = (
    *("CCACHE_COMPILER", "CCACHE_PATH", "I_MPI_CC", "I_MPI_CXX"),
    *("MPICH_CC", "MPICH_CXX", "OMPI_CC", "OMPI_CXX"),
)
# What compiles, in gcc and in clang. Where a script or ccache stands before the compiler, these are
# all that changes when it is upgraded.
_WORKERS = ("cc1plus", "cc1", "clang")
_COMPILERS = ("g++", "gcc", "clang")
# What a script may start by these names, which may be another script.
_STARTED = ("c++", "cc", "clang", "clang++", "g++", "gcc")
_NATIVE = "=native"

_CPU_INFO = "/proc/cpuinfo"
# The kernel writes this file as it is read, a page for some processors: the first is enough.
_FIRST_PROCESSOR = 16_384
# What of it code depends on, on x86, Arm, Power and RISC-V; the rest differs between equal ones.
_PROCESSOR = (
    *(b"vendor_id", b"cpu family", b"model", b"stepping", b"cache size", b"flags"),
    *(b"CPU ", b"Features", b"cpu\t", b"revision", b"isa", b"mvendorid", b"marchid", b"mimpid"),
)


class HostTools(NamedTuple):
    """What the tools of the host say they are; the same texts on every machine that has them.

    Attributes
    ----------
    compiler : str
        Target and version of the compiler, the names that it is called by, and the digests of
        scripts that stand before it.
    assembler, linker : str
        The versions of those on PATH, and of the compiler's own; empty where there are none.
    prefix : str
        The folder that the compiler is installed to, where that is none of the system's.
    native : str
        An option, where scripts or configuration files ask for code for this machine's processor.
    """

    compiler: str
    assembler: str
    linker: str
    prefix: str
    native: str = ""


class Question(NamedTuple):
    """What asks a compiler what it and the programs beside it are; `identity` remembers it."""

    compiler: HostCompiler
    programs: Mapping[str, Path | None]
    by_path: bool = False

    @classmethod
    def about(cls, compiler: HostCompiler, linkers: Sequence[str] = (_LINKER,)) -> Question:
        """Ask about a compiler of C++ or C, and linkers, as `linker_names` has them."""
        return cls(compiler, {name: toolchain.on_path(name) for name in (_ASSEMBLER, *linkers)})

    @property
    def files(self) -> tuple[Path, ...]:
        """Every program that the answer is about."""
        return (*self._starting, *filter(None, self.programs.values()))

    @property
    def _starting(self) -> tuple[Path, ...]:
        started = map(toolchain.on_path, _STARTED) if self.by_path else ()
        return tuple(dict.fromkeys((*self.compiler.files, *filter(None, started))))

    @property
    def what(self) -> str:
        """The question as a text."""
        names = (*_SEARCH, *_CHOSEN, "PATH") if self.by_path else _SEARCH
        search = (os.environ.get(name, "") for name in names)
        return _SEPARATOR.join(("host tools", *self.compiler.command, *self.programs, *search))

    def remembered(
        self, ask: Callable[[Question], Answer], *, files: Sequence[_Path] = ()
    ) -> list[str]:
        """Return the texts of the answer that `ask` gives to this question, or to one by PATH.

        Raises
        ------
        ToolchainError
            As `ask`.
        """

        def known() -> Answer:
            # Which, PATH says, too: then it is part of another question.
            is_known = self.by_path or self.compiler.missing
            is_unsure = not is_known and _starts_another(self.compiler.path)
            return Answer("") if is_unsure else ask(self)

        text = identity.remember((*self.files, *files), known, what=self.what)
        if text:
            return text.split(_SEPARATOR)
        return self._replace(by_path=True).remembered(ask, files=files)

    def ask(self) -> tuple[HostTools, tuple[str, ...]]:
        """Return the answer, and further files that it depends on; spawns processes.

        Raises
        ------
        ToolchainError
            The compiler cannot be run, or fails.
        """
        compiler = self.compiler
        said = "" if compiler.missing else _said(compiler)
        lines = [_version_of(said), *map(_called, compiler.programs)]
        files = [
            x.removeprefix(_CONFIGURED) for x in said.splitlines() if x.startswith(_CONFIGURED)
        ]
        texts = [*(str(path) for path in self._starting if _is_script(path)), *files]
        lines += map(file_digest, texts)
        native = f"-march{_NATIVE}" if any(map(_says_native, texts)) else ""
        files += filter(None, (_own_program(compiler, name) for name in _WORKERS))
        versions = []
        for name, path in self.programs.items():
            # A compiler in a prefix of its own has programs of its own, too.
            own = _own_program(compiler, name)
            files += filter(None, [own])
            found = dict.fromkeys(os.path.realpath(x) for x in (path, own) if x)
            versions.append("\n".join(dict.fromkeys(map(_program_version, found))))
        linker = "\n".join(filter(None, versions[1:]))
        tools = HostTools("\n".join(lines), versions[0], linker, _prefix(compiler), native)
        return tools, tuple(files)


def compiler_version(compiler: HostCompiler) -> str:
    """Return the compiler's target and version; spawns a process.

    Raises
    ------
    ToolchainError
        It cannot be run, or fails.
    """
    return _version_of(_said(compiler))


def _version_of(said: str) -> str:
    lines = said.splitlines()
    kept = [line for line in lines if line.startswith("Target:") or " version " in line]
    return "\n".join(kept or lines)


def _said(compiler: HostCompiler) -> str:
    command = [*compiler.command, "-v"]
    try:
        status, text = run(command)
        if status != 0:
            # Given -static-libstdc++, g++ tries to link.
            second = run([*command, "-c"])
            status, text = second if second[0] == 0 else (status, text)
    except OSError as error:
        raise ToolchainError(
            f"the host compiler {' '.join(command)!r} cannot be run: {error}"
        ) from error
    if status != 0:
        raise ToolchainError(
            f"{' '.join(command)!r} failed with status {status}: "
            f"{text.strip() or 'it printed nothing'}; set {compiler.variable} to a compiler"
        )
    return text


def run(command: Sequence[str]) -> tuple[int, str]:
    """Return exit status and output of a tool, in English; raises OSError."""
    from . import tool_process

    return tool_process.run(command, environment={**variables(), "LC_ALL": "C"})


def _called(word: str) -> str:
    # g++ and gcc are one program to all that it says, and link differently.
    return os.path.basename(word) if toolchain.on_path(word) is not None else word


def _program_version(path: str) -> str:
    try:
        status, text = run([path, "--version"])
    except OSError:
        status, text = -1, ""
    # What says nothing of itself is known by its content.
    return text.partition("\n")[0] if status == 0 and text else file_digest(path)


def _own_program(compiler: HostCompiler, name: str) -> str:
    if compiler.missing:
        return ""
    path = run([*compiler.command, f"-print-prog-name={name}"])[1].strip()
    return path if os.path.isabs(path) and os.path.isfile(path) else ""


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except PermissionError:
        return False  # who may run a script may read it


def _says_native(path: str) -> bool:
    with open(path, "rb") as file:
        return _NATIVE.encode() in file.read()


def _starts_another(path: Path) -> bool:
    """Whether a program may be none of the compilers, and look for one on PATH."""
    name = os.path.basename(os.path.realpath(path))
    return not any(compiler in name for compiler in _COMPILERS) or _is_script(path)


def _prefix(compiler: HostCompiler) -> str:
    for path in compiler.files:
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(path)))
        if prefix not in _SYSTEM and any(os.path.isdir(f"{prefix}/{x}") for x in _OWN_FOLDERS):
            return prefix
    return ""


def linker_names(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the linkers that flags ask for, after the usual one."""
    option = "-fuse-ld="
    asked = (flag[len(option) :] for flag in flags if flag.startswith(option))
    more = {f"ld.{name}" for name in asked if name and "/" not in name}
    return (_LINKER, *sorted(more))


def library_folders(compiler: HostCompiler) -> tuple[str, ...]:
    """Return the folders in which a compiler's linker looks for libraries last; asks it."""
    said = run([*compiler.command, "-print-search-dirs"])[1]
    start = "libraries: ="
    lines = (x.removeprefix(start) for x in said.splitlines() if x.startswith(start))
    folders = (os.path.realpath(x) for line in lines for x in line.split(":") if os.path.isabs(x))
    return tuple(dict.fromkeys(filter(os.path.isdir, folders)))


def native_cpu(flags: Iterable[str]) -> str:
    """Return what this machine's processor is where code for it is asked for, else nothing.

    By flags, or by the variables that compilers read.
    """
    said = " ".join(compiler_environment().values()).split()
    # What is in a file of flags is not looked at. On Arm features may follow: -mcpu=native+crypto.
    if any(_NATIVE in flag or flag.startswith("@") for flag in (*flags, *said)):
        return _processor()
    return ""


@lru_cache(maxsize=1)
def _processor() -> str:
    with open(_CPU_INFO, "rb", buffering=0) as file:
        first = file.read(_FIRST_PROCESSOR).partition(b"\n\n")[0]
    lines = (line for line in first.split(b"\n") if line.startswith(_PROCESSOR))
    return b"\n".join(lines).decode("utf-8", "replace")
