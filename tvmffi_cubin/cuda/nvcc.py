"""nvcc, for ``compiler="nvcc"``: its path, its identity and the flags for it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import config
from ..cache.files import remember
from ..errors import ToolchainError
from ..host.tools import on_path, said
from ..host.units import own_statics
from .arch import is_ptx, resolve_archs
from .libraries import TOOLKIT, find_program
from .options import read, values

if TYPE_CHECKING:
    from ..inline.tools import Toolset

_RUNTIME = "libcudart_static.a"


class Nvcc(NamedTuple):
    """An nvcc and what it reports about itself."""

    path: str
    identity: str  # its build, the same text on every machine
    version: str
    root: str  # where it is installed; empty for a system folder
    includes: Sequence[str]  # cuda.h's folder comes first
    libraries: str  # the folder of its runtime library
    host: str = ""  # the identity of its host compiler, if that is not the build's


def locate() -> Path:
    """Return the path of nvcc: from the variable, else the first in the places below."""
    named = config.get("TVMFFI_CUBIN_NVCC")
    path = on_path(named) if named else find_program("nvcc")
    if path is None:
        places = f"CUDA_HOME, CUDA_PATH, on PATH, in NVIDIA's wheels or in {TOOLKIT}"
        where = f"TVMFFI_CUBIN_NVCC={named!r}" if named else places
        raise ToolchainError(
            f"nvcc not found in {where}; run: pip install 'tvmffi-cubin[nvcc]' (CUDA 13's)"
        )
    return path


def find_nvcc() -> Nvcc:
    """Return the nvcc to use; what it reports is cached until its file changes."""
    path = locate()
    return Nvcc(*remember(f"nvcc at {path}", lambda: (_ask(path), [path])))


def _ask(path: Path) -> Nvcc:
    remedy = "set TVMFFI_CUBIN_NVCC to another nvcc"
    about = said((str(path), "--version"), remedy)
    version = "".join(re.findall(r"release (\d+\.\d+)", about))
    build = [x for x in about.splitlines() if x.startswith(("Cuda compilation", "Build "))]
    # A dry run prints all paths and compiles nothing.
    dry = said((str(path), "--dryrun", "-E", "-x", "cu", os.devnull), remedy)
    settings = dict(re.findall(r"^#\$ (\w+)=(.*)$", dry, re.MULTILINE))
    top = os.path.realpath(settings.get("TOP") or path.resolve().parents[1])
    flags = " ".join(settings.get(x, "") for x in ("INCLUDES", "SYSTEM_INCLUDES", "LIBRARIES"))
    found = [(x.name, os.path.normpath(x.value)) for x in read(shlex.split(flags))]
    includes = [folder for name, folder in found if name != "-L"] or [f"{top}/include"]
    libraries = [*(folder for name, folder in found if name == "-L"), f"{top}/lib64", f"{top}/lib"]
    folder = next((x for x in libraries if os.path.isfile(f"{x}/{_RUNTIME}")), libraries[0])
    root = "" if top in ("/", "/usr", "/usr/local") else top
    return Nvcc(str(path), "\n".join(build), version, root, includes, folder)


def caller_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the flags of the caller and of nvcc's variables, for nvcc in a build's folder."""
    variables = (f"NVCC_{name}" for name in ("CCBIN", "PREPEND_FLAGS", "APPEND_FLAGS"))
    host, *around = (os.environ.get(name, "") for name in variables)
    before, behind = map(shlex.split, around)
    found: list[str] = []
    for name, value, items in read((*(["-ccbin", host] if host else ()), *before, *flags, *behind)):
        if name == "-dc":
            found.append("-rdc=true")
        elif name in ("-I", "-isystem", "-include", "-L", "-ccbin") and os.path.exists(value):
            found += (name, os.path.abspath(value))
        elif (name, value) != ("-arch", "native"):  # the default
            found += items
    return tuple(found)


def names_archs(flags: Sequence[str]) -> bool:
    """Return whether the caller's flags name architectures; if so, none are added."""
    return not values(flags).keys().isdisjoint(("-arch", "-gencode"))


def is_separate(flags: Sequence[str]) -> bool:
    """Return whether the flags ask for relocatable device code, which needs a device link."""
    return values(flags).get("-rdc") == "true"


def command(
    tools: Toolset, flags: Sequence[str], archs: Sequence[str], *, is_link: bool = False
) -> tuple[str, ...]:
    """Return the nvcc command that compiles a unit, or links relocatable device code."""
    assert tools.nvcc is not None
    names = values(flags).keys()
    ours, host = [], own_statics(tools.nvcc.host or tools.host.compiler)
    if "-ccbin" not in names:  # -ccbin takes one program: omit ccache
        ours, host = ["-ccbin", tools.compiler.programs[-1]], (*host, *tools.compiler.options)
    escaped = (option.replace(",", r"\,") for option in (*host, "-fPIC"))
    ours += (f"-Xcompiler={option}" for option in escaped)
    if "-std" not in names:
        ours.append("-std=c++17")
    if names.isdisjoint(("-O", "-optimize")):
        ours.append("-O2")
    if not archs and not names_archs(flags):
        archs = resolve_archs()
    kind = "sm"
    if "-dlto" in names and archs and not is_link:  # nvcc rejects -dlto with -gencode
        flags = [item for option in read(flags) if option.name != "-dlto" for item in option.items]
        kind = "lto"
    for arch in archs:
        number = arch.partition("_")[2]
        code = arch if is_ptx(arch) else f"{kind}_{number}"
        ours.append(f"-gencode=arch=compute_{number},code={code}")
    headers = ("-I", str(tools.include), "-isystem", tools.tvm_ffi.include)
    last = ("-dlink",) if is_link else (*headers, "-x", "cu")
    return (tools.nvcc.path, *ours, *flags, *last)


def runtime(nvcc: Nvcc, flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the libraries and the linker flags to link what nvcc compiles."""
    # The static runtime, which nvcc also links by default: no other version can interfere.
    names = ("libcudadevrt.a", _RUNTIME) if is_separate(flags) else (_RUNTIME,)
    found = filter(os.path.isfile, (f"{nvcc.libraries}/{name}" for name in names))
    return tuple(found), (f"-L{nvcc.libraries}", "-ldl", "-lpthread", "-lrt")
