"""`host_object`: the object of a mixed unit's host side, an entry that only that side changes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..cache.entry import Entry, Product
from ..cache.key import Key, digest_of
from ..host import build, forwarders, precompiled
from ..host import units as host_unit
from ..host.steps import compilation
from ..host.tools import native_cpu
from ..sources import Source
from ..sources.expansion import without_marks
from ..sources.stubs import layouts, questions, stubs
from .headers import HeaderSearch
from .mixed_text import HOST, mixed_prefix
from .tools import Build

# Names of objects in entries; the dots keep them from being a module's own.
_OBJECT = "tvmffi_cubin.host.o"
_RUNTIME = "tvmffi_cubin.runtime.o"
_UNIT = "mixed_host.cc"
_TEXT = "mixed_host.cu"
# Flags with which an object says which line its code is of.
_LINES = re.compile(r"(?:^| )(?:-g(?!0)|--coverage|-fprofile|-ftest-coverage|-fsanitize)")
# What some compilers are given, by what they say of themselves.
_BY_COMPILER = {
    # CUB, CUTLASS and others give a member of a class the name of what it is: `using T = T`. nvcc
    # takes that, g++ with a flag that allows little else.
    r"(?m)^gcc version": "-fms-extensions",
    # Kinds of template parameters are in the names since clang 18, and few C++ runtimes read them.
    r"\bclang version (?:1[89]|[2-9]\d)\.": "-fclang-abi-compat=17",
}


class HostCode(NamedTuple):
    """Host code to compile: the user's, cut, behind headers of ours."""

    text: str
    uses_ffi: bool  # whether tvm-ffi's headers are before it, which take most of g++'s time
    headers: tuple[str, ...]  # further ones, as directives
    exports: tuple[tuple[str, str], ...]  # functions, and their docstrings
    variables: Sequence[str]  # device variables that it names
    classes: Sequence[str]  # those whose layouts the object tells
    output: str  # of an object that is yet to be linked with others, its name
    sources: Mapping[str, str]  # what was cut, by the names that messages have

    @property
    def plain(self) -> str:
        """The text without what says where its lines come from."""
        return without_marks(self.text)

    @property
    def tag(self) -> str:
        """What the unit is called where its table is looked for; no other is called so."""
        return digest_of([self.plain, self.exports, self.output])[:16]

    @property
    def unit(self) -> str:
        """The text of the unit, which includes the user's code."""
        lines = [
            mixed_prefix(self.exports) if self.uses_ffi else f"#include <{HOST}>",
            *self.headers,
            "#include <tvmffi_cubin/mixed/unit.h>",
            f"TVMFFI_CUBIN_MIXED_UNIT({self.tag})",
            f'#include "{_TEXT}"',
            *(f"TVMFFI_CUBIN_DEVICE_VARIABLE({name})" for name in self.variables),
            *host_unit.export_lines(self.exports),
            questions(self.classes, self.classes),
        ]
        return "\n".join(lines) + "\n"


def host_object(wanted: Build, code: HostCode) -> Entry:
    """Return the entry of an object, compiling it where there is none."""
    request, flags = wanted.request, _flags(wanted)
    key = _key("host object", wanted, flags, request.include_paths)
    # Moved to other lines, it is the same text.
    has_lines = _LINES.search(" ".join((*wanted.tools.compiler.options, *flags)))
    key.add("unit", code.unit).add("text", code.text if has_lines else code.plain)
    key.add("use_pch", request.use_pch)
    make = partial(_compile, wanted, code, flags)
    return wanted.cache.obtain(key.hexdigest(), make, name=f"{request.name} (host code)")


def runtime_object(wanted: Build, code: HostCode) -> str:
    """Return the path of the object that such code needs beside its own, compiled once."""
    tools = wanted.tools
    exports = ("-DTVMFFI_CUBIN_EXPORTS",) if code.uses_ffi else ()
    flags = ("-w", *exports, *_flags(wanted))
    # It includes nothing of the user's unless a flag does.
    is_user_s = any(flag.startswith(("-include", "--include", "-imacros")) for flag in flags)
    folders = wanted.request.include_paths if is_user_s else ()
    key = _key("mixed runtime", wanted, flags, folders)

    def make(folder: Path) -> Product:
        source = os.fspath(tools.include / "tvmffi_cubin" / "mixed" / "runtime.cc")
        step = compilation(source, (*tools.compiler.command, *flags), folders)
        build.run([step._replace(made=_RUNTIME)], folder, {})
        return tools.product(_RUNTIME)

    return os.fspath(wanted.cache.obtain(key.hexdigest(), make, name=_RUNTIME).so)


def _flags(wanted: Build) -> tuple[str, ...]:
    tools = wanted.tools
    cflags = HeaderSearch(wanted.request, tools).cuda_flags
    if any(flag.startswith("-flto") for flag in (*tools.compiler.options, *cflags)):
        # Of an object for the linker's optimiser no symbol would tell which kernels it uses.
        cflags = (*cflags, "-fno-lto")
    if wanted.request.bound_params:
        cflags = (host_unit.BOUND_PARAMS, *cflags)
    own = (flag for x, flag in _BY_COMPILER.items() if re.search(x, tools.host.compiler))
    return host_unit.host_flags(tools, (*own, *cflags))


def _key(kind: str, wanted: Build, flags: Sequence[str], folders: Sequence[str]) -> Key:
    tools, command = wanted.tools, wanted.tools.compiler.command
    key = Key(kind).add("tools", tools.versions).add("command", command)
    key.add("flags", host_unit.portable(flags, tools)).add("folders", folders)
    return key.add("cpu", native_cpu((*tools.compiler.options, *flags)))


def _compile(wanted: Build, code: HostCode, flags: Sequence[str], folder: Path) -> Product:
    request, tools, folders = wanted.request, wanted.tools, wanted.request.include_paths
    files = {**code.sources, _UNIT: code.unit, _TEXT: code.text}
    prefix = mixed_prefix(code.exports) if code.uses_ffi else ""
    step = compilation(_UNIT, (*tools.compiler.command, *flags), folders, prefix=prefix)
    listed = precompiled.run(
        [step._replace(made=_OBJECT)],
        folder,
        files,
        cache=wanted.cache,
        tools=tools,
        folders=folders,
        use_pch=request.use_pch,
    )
    read = HeaderSearch(request, tools).host(folder, listed, [Source(code.text)], request.cflags)
    made = (folder / _OBJECT).read_bytes()
    facts = {
        "name": request.name,
        "stubs": stubs(made),
        "layouts": dict(layouts(made, code.classes)),
        "calls_driver": forwarders.calls_driver(made),
    }
    return tools.product(_OBJECT, read, keep=(_UNIT, _TEXT), used=(_TEXT,), facts=facts)
