"""`MixedBuild`: a mixed unit cut, and each side compiled, beside the other where that can be."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .cache.entry import Entry
from .cache.files import remove
from .cache.key import digest_of
from .cache.store import Cache
from .cuda import nvrtc, preprocessor
from .cuda.nvrtc import line_directive
from .device.image import Image
from .device.instances import of_names
from .device_object import DeviceCode, DeviceCompiler
from .errors import BuildError, CompileError
from .host import units as host_unit
from .host.include_scan import Scan
from .host.later import Later
from .host_hints import lacks_header
from .host_object import TEXT, HostCode, HostCompiler
from .inline.headers import HeaderSearch
from .launches.values import bound_name
from .mixed_errors import NO_KERNEL, Tried, unnamed
from .mixed_program import MixedSource, Program
from .mixed_symbols import asked_names, declared_names, kernel_symbols
from .mixed_unit import MixedParts, MixedUnit
from .part_files import PartFiles
from .side_text import (
    headers_tell_lines,
    moved_lines,
    parts,
    trimmed,
    without_lines,
    written_headers,
)
from .sources.reader import read
from .sources.source import Source
from .split import Split, split
from .uncut_kernels import refuse_uncut

if TYPE_CHECKING:
    from .inline.request import Request
    from .inline.tools import Toolset

__all__ = ["MixedBuild"]

_TAG = 16
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class MixedBuild:
    """Compiles a mixed unit of a request.

    Attributes
    ----------
    request, archs, tools, cache
        What is built, for which architectures, with which tools, and where it is kept.
    unit : MixedUnit
        Its sources.
    known_kernels : frozenset of str
        Names of kernels in other sources and images.
    """

    request: Request
    unit: MixedUnit
    archs: tuple[str, ...]
    tools: Toolset
    cache: Cache
    known_kernels: frozenset[str]

    def run(self) -> MixedParts:
        """Cut the sources and compile both sides.

        What the compilers refuse is compiled again without the items that one side may go without,
        if the errors are in such items.

        Raises
        ------
        BuildError, CompileError
            A side does not compile.
        ToolchainError, TypeError, ValueError
            See `tvmffi_cubin.load_inline`.
        """
        cut = split(self._program())
        headers = self._scan_headers()
        refuse_uncut(cut, headers.files)
        # The compilers are given copies of those that are cut.
        read = PartFiles(self.tools.unknown(headers.files), headers.absent)
        tried = Tried(self.request.name)
        while True:
            try:
                parts = self._compile(cut, read)
            except (BuildError, CompileError) as error:
                cut = tried.again(cut, error)
                continue
            except ValueError as error:
                tried.done()
                # Instances may name what the device text had to go without, because of errors.
                raise tried.device_error or unnamed(error) from None
            if isinstance(parts, MixedParts):
                tried.done()
                return parts
            cut = parts

    def _program(self) -> Program:
        search = HeaderSearch(self.request, self.tools)
        flags = preprocessor.parse(self.request.cuda_cflags)
        own = (self.tools.include, self.tools.tvm_ffi.include)
        return Program(
            sources=tuple(
                MixedSource(
                    self._name(source), source.text.removeprefix("\ufeff"), source.folder or ""
                )
                for source in self.unit.sources
            ),
            include_dirs=(*flags.folders, *self.request.include_paths),
            device_dirs=search.device_folders,
            host_dirs=tuple(map(os.fspath, own)),
            defines=tuple(flags.macros.items()),
            launches_on_device=any("cudadevrt" in x.name for x in self.request.device_libraries),
            linked_dirs=tuple(x for source in self.unit.sources for x in source.further_folders),
            bound=tuple(map(bound_name, self.request.bound_params)),
        )

    def _scan_headers(self) -> Scan:
        """Return the user's headers, those that are cut and those that are not."""
        search = HeaderSearch(self.request, self.tools)
        return search.host(self.unit.sources, search.cuda_flags)

    def _name(self, source: Source) -> str:
        if source.path is not None:
            return source.path
        # As a source that is alone is called.
        alone = len((*self.unit.sources, *self.unit.device)) == 1
        return f"{self.request.name}.cu" if alone else source.name

    def _compile(self, cut: Split, read: PartFiles) -> MixedParts | Split:
        """Compile both sides; or cut anew, since the device text lacks what instances name."""
        device = _Device(self._device_compiler(cut), self._device_code(cut), cut.variables)
        exports = self._exports(cut)
        output = self.request.output if self.request.is_object else ""
        code = _host_code(cut, exports, output)
        host, early = self._compile_host(code, cut, device)
        if cut.launches and not (cut.kernels or self._may_be_elsewhere):
            raise ValueError(NO_KERNEL.format(launch=cut.launches[0]))
        asked = asked_names(host, cut)
        wanted = tuple(name for instance, name in asked.items() if instance.is_template)
        if more := cut.with_needed(_WORD.findall(" ".join(wanted))):
            return more
        image, files, kernels = None, PartFiles((), ()), {}
        if asked or cut.kernels or cut.variables or not self._may_be_elsewhere:
            image, files = early.result() if early else device.compile(wanted)
            kernels = kernel_symbols(image, asked, cut.program.bound)
            if missing := [name for x, name in asked.items() if x.stub not in kernels]:
                # NVRTC leaves out what nothing outside can name, unless it is asked for.
                image, files = device.compile((*wanted, *missing))
                kernels = kernel_symbols(image, asked, cut.program.bound)
        lowered = image.cubin.lowered_names if image else {}
        return MixedParts(
            unit=self.unit,
            cut=cut,
            device=image,
            host=host,
            exported=tuple(name for name, _ in exports),
            tag=code.tag,
            kernels=kernels,
            variables={name: lowered[f"&{name}"] for name in cut.variables},
            lines=moved_lines((host.path / TEXT).read_text("utf-8", "surrogateescape"), code.text),
            files=(files, PartFiles.of(host, self.tools), read),
            device_texts=tuple(source.text for source in device.code.sources),
        )

    @property
    def _may_be_elsewhere(self) -> bool:
        """Whether kernels that are only declared may be another unit's, or another object's."""
        linked = self.request.is_object or self.request.files.binaries
        return bool(linked) or not self.unit.is_alone

    def _compile_host(
        self, code: HostCode, cut: Split, device: _Device
    ) -> tuple[Entry, Later[_Compiled] | None]:
        """Return the host's object, and what NVRTC does meanwhile, if it need not wait for that."""
        host = HostCompiler(self.request, self.tools, self.cache)
        if (known := host.find(code)) is not None:
            return known, None
        # Which instances of templates there are only the object tells.
        is_sure = bool(cut.kernels) and not any(x.is_template for x in cut.kernels)
        early = Later(partial(device.compile, ())) if is_sure else None
        try:
            return host.obtain(code), early
        except BuildError as error:
            if early is not None:
                try:
                    early.result()  # of what is wrong for both, NVRTC says less
                except CompileError as of_device:
                    if lacks_header(error.output) and "open source file" not in of_device.log:
                        raise error from None  # NVRTC was not given it, and lacks what it has
                    remove(error.directory)
                    raise
            raise

    def _device_compiler(self, cut: Split) -> DeviceCompiler:
        archs = self.archs or nvrtc.resolve_archs(options=self.request.cuda_cflags)
        request = self.request
        if not self.unit.is_alone:
            request = of_names(request, declared_names(cut))
        return DeviceCompiler(request, archs, self.tools, self.cache)

    def _device_code(self, cut: Split) -> DeviceCode:
        first, *others = cut.device.sources
        # What is precompiled must not begin with a #line.
        texts = [trimmed(first), *(line_directive(x.file) + trimmed(x) for x in others)]
        own = self.unit.sources[0]._replace(text="\n".join(texts))
        own = own if own.path else own._replace(label=first.file)
        scanned = (*self.unit.device, *parts(cut.device))
        return DeviceCode(
            (*self.unit.device, own),
            written_headers(cut.device),
            scanned,
            headers_tell_lines(cut.files),
        )

    def _exports(self, cut: Split) -> tuple[tuple[str, str], ...]:
        """Return the functions that mixed sources export, with docstrings."""
        if self.unit.sources[0].path is not None:
            return ()  # a file does so itself
        facts = [read(source.text) for source in self.unit.device]
        kernels = {kernel.name for found in facts for kernel in found.kernels}
        kernels |= {kernel.name.rpartition("::")[2] for kernel in cut.kernels}
        cpp = [read(source.text).functions for source in self.request.cpp_sources]
        others = {found.qualified for functions in cpp for found in functions if found.defined}
        none = kernels | others | self.known_kernels
        return tuple(
            (export.name, export.doc)
            for export in self.request.functions or ()
            if export.instances is None and export.name not in none
        )


_Compiled = tuple[Image, PartFiles]


class _Device(NamedTuple):
    """Device code, what compiles it, and the variables that host code names."""

    compiler: DeviceCompiler
    code: DeviceCode
    variables: tuple[str, ...]

    def compile(self, instances: tuple[str, ...]) -> _Compiled:
        names = (*instances, *(f"&{name}" for name in self.variables))
        return self.compiler.obtain(self.code, names)


def _host_code(cut: Split, exports: Sequence[tuple[str, str]], output: str) -> HostCode:
    first = cut.host.sources[0].edited.text
    prefix = host_unit.mixed_prefix(first, exports, cut.stand_ins)
    text = "\n".join(line_directive(x.file) + trimmed(x) for x in cut.host.sources) + "\n"
    headers = written_headers(cut.host)
    # No other unit of the library is of the same text; of objects that are yet to be linked with
    # others, one may.
    tag = digest_of([without_lines(text), headers, exports, output])[:_TAG]
    unit = host_unit.mixed_unit(prefix, TEXT, tag=tag, variables=cut.variables, exports=exports)
    return HostCode(
        unit,
        prefix,
        host_unit.common_mixed_prefix(exports),
        text,
        headers,
        parts(cut.host),
        headers_tell_lines(cut.files),
        tag=tag,
        has_stand_ins=bool(cut.stand_ins),
    )
