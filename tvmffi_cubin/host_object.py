"""The object of a mixed module's host code: an entry of the cache that only that side changes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import host_instances
from .cache.entry import Entry, Product
from .cache.key import Key
from .cache.store import Cache, outside
from .host import forwarders, precompiled, toolchain
from .host.flags import find_for, incbin_files
from .host.plan import BuildPlan, Cxx, Merge, object_name
from .host.tools import native_cpu
from .host.units import BOUND_PARAMS, host_flags
from .inline.headers import HeaderSearch
from .part_files import PartFiles
from .side_text import without_lines
from .sources.source import Source

if TYPE_CHECKING:
    from .inline.request import Request
    from .inline.tools import Toolset

__all__ = ["OBJECT", "HostCode", "HostCompiler", "objects_of"]

OBJECT = "tvmffi_cubin.host.o"
"""The object's name in an entry; the dots keep it from being a module's own."""

TEXT = "mixed_host.cu"
"""The file with the user's code, which the unit includes."""

# What precompiled headers leave to link. To merge it takes longer than to link it from two files.
_FURTHER = "tvmffi_cubin.cold.o"
_UNIT = "mixed_host.cc"
_HEADERS = "mixed_headers"
# Flags with which an object says which line its code is of.
_LINES = re.compile(r"(?:^| )(?:-g(?!0)|--coverage|-fprofile|-ftest-coverage|-fsanitize)")
# They give members of classes the names of what these are; of that g++ 13 can be silenced alone.
# Older ones take that with this flag, which allows next to nothing else; -fpermissive would make
# warnings of the user's mistakes.
_LEAVE = "-fms-extensions"
_NEEDS_LEAVE = re.compile(r"^gcc version (?:[1-9]|1[0-2])\.", re.MULTILINE)
# Kinds of template parameters are in the names since clang 18, and few C++ runtimes read them.
_PLAIN_NAMES = "-fclang-abi-compat=17"
_NEEDS_PLAIN_NAMES = re.compile(r"\bclang version (?:1[89]|[2-9]\d)\.")


@dataclass(frozen=True)
class HostCode:
    """Host code to compile.

    Attributes
    ----------
    unit : str
        Text of the unit; it includes `TEXT`.
    prefix, common_prefix : str
        What the unit begins with that stays the same from build to build, and what all units do.
    text : str
        The user's code, cut.
    headers : mapping of str to str
        The user's headers, cut: names and texts.
    sources : tuple of Source
        The parts of both, which say where they look for headers.
    tells_lines : bool
        Whether macros of headers may tell in which line of `text` they stand.
    tag : str
        What the unit is called where its table is looked for.
    has_stand_ins : bool
        Whether headers of CUDA's that were written for nvcc are in the prefix.
    """

    unit: str
    prefix: str
    common_prefix: str
    text: str
    headers: Mapping[str, str]
    sources: tuple[Source, ...]
    tells_lines: bool
    tag: str
    has_stand_ins: bool = False


def objects_of(host: Entry) -> tuple[str, ...]:
    """Return what is to be linked of an entry: its object, and what its headers only declare."""
    return (os.fspath(host.so), *(os.fspath(host.path / name) for name in host.facts["further"]))


@dataclass(frozen=True)
class HostCompiler:
    """What a request's host code is compiled with, and the cache for it."""

    request: Request
    tools: Toolset
    cache: Cache

    def find(self, code: HostCode) -> Entry | None:
        """Return the entry of what was compiled before, None where there is none."""
        found = self.cache.find(self._key(code))
        return found if isinstance(found, Entry) else None

    def obtain(self, code: HostCode) -> Entry:
        """Return the entry of the object, compiling it where there is none.

        Raises
        ------
        BuildError
            It does not compile.
        ToolchainError
            A tool is missing.
        """
        return self.cache.obtain(
            self._key(code),
            lambda folder: self._compile(code, folder),
            name=f"{self.request.name} (host code)",
        )

    def _flags(self, code: HostCode) -> tuple[str, ...]:
        cflags = HeaderSearch(self.request, self.tools).cuda_flags
        if any(flag.startswith("-flto") for flag in (*self.tools.options, *cflags)):
            # Of an object for the linker's optimiser no symbol would tell which kernels it uses.
            cflags = (*cflags, "-fno-lto")
        if self.request.bound_params:
            cflags = (BOUND_PARAMS, *cflags)
        if code.has_stand_ins and _NEEDS_LEAVE.search(self.tools.host.compiler):
            cflags = (_LEAVE, *cflags)
        if _NEEDS_PLAIN_NAMES.search(self.tools.host.compiler):
            cflags = (_PLAIN_NAMES, *cflags)
        return host_flags(self.tools, cflags)

    def _key(self, code: HostCode) -> str:
        request, tools, flags = self.request, self.tools, self._flags(code)
        key = Key("host object").add("tools", tools.versions).add("machine", os.uname().machine)
        # What moves it is no other text.
        has_lines = code.tells_lines or _LINES.search(" ".join((*tools.options, *flags)))
        text = code.text if has_lines else without_lines(code.text)
        key.add("unit", code.unit).add("text", text).add("headers", code.headers)
        key.add("command", tools.compiler.command).add("flags", flags)
        key.add("folders", request.include_paths).add("cpu", native_cpu((*tools.options, *flags)))
        key.add("use_pch", request.use_pch)
        return key.hexdigest()

    def _compile(self, code: HostCode, folder: Path) -> Product:
        tools, command = self.tools, self.tools.compiler.command
        files = {_UNIT: code.unit, TEXT: code.text}
        files.update((f"{_HEADERS}/{name}", text) for name, text in code.headers.items())
        include_dirs = ((_HEADERS,) if code.headers else ()) + self.request.include_paths
        unit = Cxx(_UNIT, command, self._flags(code), include_dirs, code.common_prefix)
        link = Merge(os.fspath(toolchain.find_linker()), apart=_FURTHER)
        plan = BuildPlan(self.request.name, (unit,), link=link, output=OBJECT)
        headers = precompiled.run(
            plan, folder, files, cache=self.cache, tools=tools, use_pch=self.request.use_pch
        )
        found = self._read(code, folder, headers)
        # Not of the whole, which has what is in all of them.
        made = (folder / object_name(unit)).read_bytes()
        further = [_FURTHER] if (folder / _FURTHER).exists() else []
        return Product(
            so=OBJECT,
            keep=(_UNIT, TEXT, *further),
            used=(TEXT, *further),
            dependencies=found.read,
            absent=found.absent,
            outdated=tools.outdated,
            facts={
                "name": self.request.name,
                "further": further,
                "files": found.facts(tools),
                "stubs": host_instances.stubs(made),
                "calls_driver": forwarders.calls_driver(made),
            },
            versions=tools.versions,
        )

    def _read(self, code: HostCode, folder: Path, precompiled: Sequence[str]) -> PartFiles:
        """Return what the compiler read outside its folder, and what it would have."""
        search = HeaderSearch(self.request, self.tools)
        told = outside((*precompiled, *search.read(folder)), os.fspath(folder))
        scan = search.host(code.sources, search.cuda_flags)
        flags = (*self.tools.options, *self.request.cflags)
        named = find_for(self.tools.compiler, flags)
        embedded, not_embedded = incbin_files((code.text, *code.headers.values()))
        return PartFiles(
            self.tools.unknown((*told, *scan.files, *named.files, *embedded)),
            (*scan.absent, *search.hiding(told), *named.absent, *not_embedded),
        )
