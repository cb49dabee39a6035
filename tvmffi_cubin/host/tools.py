"""`HostTools`: what the host's compiler, assembler and linker say of themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..cache.files import build_id, file_digest, remember
from ..config import compiler_environment
from ..errors import ToolchainError
from . import toolchain
from .toolchain import HostCompiler

_SEPARATOR = "\0"

_CPU_INFO = "/proc/cpuinfo"
# The kernel writes this file as it is read, a page for some processors: the first is enough.
_FIRST_PROCESSOR = 16_384
# What of it code depends on, on x86 and Arm; the rest differs between equal ones.
_PROCESSOR = (
    *(b"vendor_id", b"cpu family", b"model", b"stepping", b"cache size", b"flags"),
    *(b"CPU ", b"Features"),
)


class HostTools(NamedTuple):
    """What the tools of the host are; the same texts on every machine that has them."""

    compiler: str  # target, version, the names that it is called by, digests of scripts before it
    assembler: str  # the builds of those on PATH
    linker: str


def identify(
    compiler: HostCompiler,
    *,
    more: Callable[[], Iterable[str]] = tuple,
    files: Sequence[str | os.PathLike[str]] = (),
    also: str = "",
) -> tuple[HostTools, list[str]]:
    """Return what tools are, from memory or disk while their programs are unchanged.

    `more` gives texts about further `files`, remembered with them; it is called while the compiler
    answers. `also` is that of `remember`.
    """
    programs = [toolchain.on_path(name) for name in ("as", "ld")]
    known = (*compiler.files, *filter(None, programs), *files)

    def ask() -> str:
        from .process import Later

        identity = Later(lambda: _compiler_identity(compiler))
        described = more()
        assembler, linker = ("" if x is None else identity_of(x) for x in programs)
        return _SEPARATOR.join((identity.result(), assembler, linker, *described))

    what = _SEPARATOR.join(("host tools", *compiler.command))
    text = remember(known, ask, what=what, also=also) if known else ask()
    first, assembler, linker, *described = text.split(_SEPARATOR)
    return HostTools(first, assembler, linker), described


def identity_of(path: Path) -> str:
    """Return the build of a program or a library: its ID, else the digest of its content."""
    return build_id(path) or file_digest(path)


def _compiler_identity(compiler: HostCompiler) -> str:
    scripts = (str(path) for path in compiler.files if _is_script(path))
    version = "" if compiler.missing else compiler_version(compiler)
    # g++ and gcc are one program to all that it says, and link differently.
    names = (os.path.basename(x) if toolchain.on_path(x) else x for x in compiler.programs)
    return "\n".join((version, *names, *map(file_digest, scripts)))


def compiler_version(compiler: HostCompiler) -> str:
    """Return the compiler's target and version; raises ToolchainError."""
    # Not with its options: given -static-libstdc++, g++ tries to link.
    command = [*compiler.programs, "-v"]
    try:
        status, text = run(command)
    except OSError as error:
        status, text = 127, str(error)
    if status != 0:
        raise ToolchainError(
            f"{' '.join(command)!r} failed with status {status}: "
            f"{text.strip() or 'it printed nothing'}; set CXX to a compiler"
        )
    lines = text.splitlines()
    kept = [line for line in lines if line.startswith("Target:") or " version " in line]
    return "\n".join(kept or lines)


def run(command: Sequence[str]) -> tuple[int, str]:
    """Return exit status and output of a tool, in English; raises OSError."""
    from . import process

    return process.run(command, environment={**os.environ, "LC_ALL": "C"})


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def native_cpu(flags: Iterable[str], environment: Mapping[str, str] | None = None) -> str:
    """Return what this machine's processor is where code for it is asked for, else nothing.

    By flags, or by the variables that compilers read, the `environment`.
    """
    environment = compiler_environment() if environment is None else environment
    said = " ".join(environment.values()).split()
    # What is in a file of flags is not looked at. On Arm features may follow: -mcpu=native+crypto.
    if any("=native" in flag or flag.startswith("@") for flag in (*flags, *said)):
        return _processor()
    return ""


@lru_cache(maxsize=1)
def _processor() -> str:
    with open(_CPU_INFO, "rb", buffering=0) as file:
        first = file.read(_FIRST_PROCESSOR).partition(b"\n\n")[0]
    lines = (line for line in first.split(b"\n") if line.startswith(_PROCESSOR))
    return b"\n".join(lines).decode("utf-8", "replace")
