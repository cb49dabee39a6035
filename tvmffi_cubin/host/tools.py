"""The host's tools: locations of compilers, ninja, tvm-ffi and headers; identities of the tools."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import config
from ..cache.files import build_id, file_digest, remember
from ..config import compiler_environment
from ..errors import ToolchainError

_CPU_INFO = "/proc/cpuinfo"
# The kernel generates this file as it is read, one page per few processors: the first is enough.
_FIRST_PROCESSOR = 16_384
# Lines that code depends on, on x86 and Arm; the others differ even between equal processors.
_PROCESSOR = (b"model", b"flags", b"CPU ", b"Features")


# Locations


class HostCompiler(NamedTuple):
    """The host compiler."""

    programs: tuple[str, ...]  # the program's path; if it is a launcher, then the compiler
    options: tuple[str, ...] = ()  # what follows, before any other argument
    missing: str = ""  # how to install a compiler if there is none

    def require(self) -> None:
        """Raise ToolchainError if there is no compiler."""
        if self.missing:
            raise ToolchainError(self.missing)

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its own arguments, to put before a compilation's arguments."""
        return (*self.programs, *self.options)

    @property
    def files(self) -> tuple[Path, ...]:
        """All programs of the command: stat them to see whether the compiler changed."""
        words = () if self.missing else self.command
        return tuple(x for word in words if word[:1] != "-" and (x := on_path(word)))


class TvmFfiPaths(NamedTuple):
    """Locations of tvm-ffi's C++ parts."""

    include: str
    library: str


def find_host_compiler() -> HostCompiler:
    """Return the C++ compiler: ``$CXX`` with its arguments, else the first on PATH, if any.

    Raises ToolchainError if ``$CXX`` names a program that does not exist.
    """
    text = config.get("CXX")
    if text is None:
        for name in ("c++", "g++", "clang++"):
            if (found := on_path(name)) is not None:
                return HostCompiler((str(found),))
        install = "apt install g++ (or: conda install -c conda-forge gxx)"
        missing = f"CXX is not set and no C++ compiler is on PATH; run: {install}"
        return HostCompiler(("c++",), missing=missing)
    import shlex

    program, *words = shlex.split(text)
    found = on_path(program)
    if found is None:
        raise ToolchainError(
            f"CXX={text!r}: cannot find {program!r}; unset CXX or set it to another compiler"
        )
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    return HostCompiler((str(found), *words[:first]), tuple(words[first:]))


def find_binutil(name: str) -> str:
    """Return the path of a binutils tool; raises ToolchainError if it is not on PATH."""
    found = on_path(name)
    if found is None:
        install = "binutils (or: conda install -c conda-forge binutils)"
        if machine := name.rpartition("-")[0]:  # for another processor, as in aarch64-linux-gnu-ld
            install = f"binutils-{machine.replace('_', '-')}"
        raise ToolchainError(f"{name!r} is not on PATH; run: apt install {install}")
    return str(found)


def find_ninja() -> str:
    """Return the path of ninja: the PyPI package's, else the one on PATH; raises ToolchainError."""
    scripts = [Path(sys.executable or "/").parent / "ninja", Path(sys.prefix, "bin", "ninja")]
    found = next(filter(_is_program, scripts), None) or on_path("ninja")
    if found is None:
        raise ToolchainError("ninja is missing; run: pip install ninja")
    return str(found)


def tvm_ffi_paths() -> TvmFfiPaths:
    """Return tvm-ffi's include folder and library, without importing it."""
    spec = importlib.util.find_spec("tvm_ffi")
    assert spec is not None
    package = os.path.dirname(spec.origin or "")
    if os.path.isdir(f"{package}/include/tvm"):
        return TvmFfiPaths(f"{package}/include", f"{package}/lib/libtvm_ffi.so")
    # An editable checkout of tvm-ffi has both elsewhere, and knows where.
    from tvm_ffi import libinfo

    return TvmFfiPaths(libinfo.find_include_path(), libinfo.find_libtvm_ffi())


def include_dir() -> Path:
    """Return the folder of this package's C++ headers, in a wheel or in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inner = f"{package}/include"
    return Path(inner if os.path.isdir(inner) else f"{os.path.dirname(package)}/include")


def on_path(name: str) -> Path | None:
    """Return the path of a program given by name or by path, or None if there is none."""
    # Not shutil.which: importing shutil costs more than the search.
    if os.sep in name:
        return Path(os.path.abspath(name)) if _is_program(name) else None
    found = (f"{folder}/{name}" for folder in search_path())
    return next((Path(path) for path in found if _is_program(path)), None)


def search_path() -> list[str]:
    """Return the folders of PATH, each once."""
    # Not os.get_exec_path, which imports warnings.
    named = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [*dict.fromkeys(x if x[:1] == "/" else os.path.abspath(x) for x in named if x)]


def _is_program(path: str | Path) -> bool:
    # In this order: access reports a missing file without raising an error internally.
    return os.access(path, os.X_OK) and os.path.isfile(path)


# Identities


class HostTools(NamedTuple):
    """Identities of the host's tools; the same texts on every machine that has these tools."""

    compiler: str  # target, version, the names that it is called by, digests of scripts before it
    assembler: str  # the build IDs or digests of those on PATH
    linker: str


def find_host(
    state: str, describe: Callable[[], tuple[Iterable[str], Iterable[str]]]
) -> tuple[HostCompiler, HostTools, list[str]]:
    """Return the compiler, the identities of the tools, and the texts that `describe` returns.

    The result is cached while the tools, the folders of PATH and the files behind those texts are
    unchanged. `describe` returns the texts and the files, and runs while the compiler answers.
    `state` says which these are, and what else they depend on. Raises as `find_host_compiler` does.
    """
    command, folders = config.get("CXX") or "", search_path()
    # In another folder, a relative path would name another program.
    command = os.path.abspath(command) if os.sep in command else command

    def ask() -> tuple[list[Any], list[str | Path]]:
        from .process import Later

        compiler = find_host_compiler()
        identity = Later(lambda: compiler_identity(compiler))
        named = [on_path(name) for name in ("as", "ld")]
        texts, files = describe()
        known = ["" if program is None else identity_of(program) for program in named]
        answer = [*compiler, identity.result(), *known, [*texts]]
        # Folders where a tool that comes first may appear, and the files that are there.
        return answer, [*folders, *compiler.files, *filter(None, named), *files]

    question = "\n".join(("host tools", state, command, *folders))
    programs, options, missing, *tools, texts = remember(question, ask)
    compiler = HostCompiler(tuple(programs), tuple(options), missing)
    return compiler, HostTools(*tools), texts


def identity_of(path: str | Path) -> str:
    """Return the identity of a program or library: its build ID, else its content's digest."""
    return build_id(path) or file_digest(path)


def compiler_identity(compiler: HostCompiler) -> str:
    """Return target, version, names and scripts of a compiler: see `HostTools`."""
    scripts = (str(path) for path in compiler.files if _is_script(path))
    version = "" if compiler.missing else compiler_version(compiler)
    # g++ and gcc report the same identity, but link differently.
    names = (os.path.basename(x) if on_path(x) else x for x in compiler.programs)
    return "\n".join((version, *names, *map(file_digest, scripts)))


def said(command: Sequence[str], remedy: str) -> str:
    """Return what a command prints, in English; raises ToolchainError if it fails."""
    from . import process

    status, text = process.run(command)
    if status != 0:
        raise ToolchainError(
            f"{' '.join(command)!r} failed with exit status {status}: "
            f"{text.strip() or 'no output'}; {remedy}"
        )
    return text


def compiler_version(compiler: HostCompiler) -> str:
    """Return the compiler's target and version; raises ToolchainError."""
    # Without its options: given -static-libstdc++, g++ tries to link.
    lines = said([*compiler.programs, "-v"], "set CXX to a compiler").splitlines()
    kept = [line for line in lines if line.startswith("Target:") or " version " in line]
    return "\n".join(kept or lines)


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def native_cpu(flags: Iterable[str], environment: Mapping[str, str] | None = None) -> str:
    """Return this machine's processor if flags or variables ask for native code, else nothing."""
    environment = compiler_environment() if environment is None else environment
    said = " ".join(environment.values()).split()
    # Contents of flag files are not examined. On Arm, features may follow: -mcpu=native+crypto.
    if any("=native" in flag or flag.startswith("@") for flag in (*flags, *said)):
        return _processor()
    return ""


@lru_cache(maxsize=1)
def _processor() -> str:
    with open(_CPU_INFO, "rb", buffering=0) as file:
        first = file.read(_FIRST_PROCESSOR).partition(b"\n\n")[0]
    lines = (line for line in first.split(b"\n") if line.startswith(_PROCESSOR))
    return b"\n".join(lines).decode("utf-8", "replace")
