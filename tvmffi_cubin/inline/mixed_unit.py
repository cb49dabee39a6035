"""`UnitBuilder`: a mixed unit preprocessed, cut, and compiled, first the host's side."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import partial
from typing import NamedTuple

from ..cache.entry import Entry
from ..cache.store import Cache
from ..device.image import Image
from ..device.units import of_names, with_hints
from ..errors import CompileError
from ..host.inputs import Inputs
from ..host.process import Later
from ..kernels.demangle import demangle
from ..launches.values import bound_param
from ..sources.device_side import DeviceCut, needs_device_runtime
from ..sources.expansion import Expansion
from ..sources.facts import read
from ..sources.host_side import HostSide, host_side
from ..sources.source import Source
from ..sources.stubs import Instance, named
from .mixed_device import DeviceCompiler
from .mixed_host import CUB, HostCode, HostCompiler
from .mixed_text import expand
from .request import Request
from .tools import Toolset

_NVCC = 'nvcc takes some code that NVRTC refuses: if it takes this, compiler="nvcc" builds it'
_OF_MMA = ("#include <cuda_fp16.h>", "#include <cuda_bf16.h>")
_OF_FFI = re.compile(r"^(?!#line ).*(?:\btvm|TVM|\bk?DL[A-Z])", re.MULTILINE)
_NO_CODE = (
    "{} has no device code: define it as a __device__ function, in a header if several files call "
    "it; or link device code with compiler=\"nvcc\" and extra_cuda_cflags=['-rdc=true']"
)
_UNRESOLVED = re.compile(r"Unresolved extern \w+ '(\w+)'")
_UNDEFINED = re.compile(r'error: identifier "(\w+)" is undefined')
# How often device code is compiled with less, each time of what the last time has brought up.
_TRIES = 8
_NVRTC_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error\b", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")


class MixedUnit(NamedTuple):
    """Mixed sources that are one translation unit, with statics and an image of their own.

    Each source sees the macros and names of those before it; device sources are linked with them.
    """

    sources: tuple[Source, ...]
    device: tuple[Source, ...]
    image: str  # its name
    is_alone: bool  # the module has no other such unit


class MixedParts(NamedTuple):
    """What a mixed unit was compiled to."""

    unit: MixedUnit
    code: HostCode
    host: Entry  # the object of that
    runtime: str  # the path of the one that it needs beside
    image: Image | None  # None where the unit has no kernel
    symbols: dict[str, str]  # see `registration`
    inputs: tuple[Inputs, ...]


class UnitBuilder(NamedTuple):
    """Compiles a unit; `known_kernels` are the names of those in other sources and images."""

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    cache: Cache
    known_kernels: frozenset[str]
    unit: MixedUnit

    def run(self) -> MixedParts:
        """Preprocess both sides, cut them, and compile each.

        Raises
        ------
        BuildError, CompileError, ToolchainError, TypeError, ValueError
            See `tvmffi_cubin.load_inline`.
        """
        expanding = [Later(partial(self._expand, arch)) for arch in self.archs]
        host_text = self._expand("")
        texts = {arch: later.result() for arch, later in zip(self.archs, expanding, strict=True)}
        host = host_side(host_text.text, [bound_param(x).name for x in self.request.bound_params])
        code = self._host_code(host, host_text)
        compiler = HostCompiler(self.request, self.tools, self.cache)
        runtime = Later(partial(compiler.runtime, code))
        reading = Later(lambda: {arch: DeviceCut(text.text) for arch, text in texts.items()})
        compiled, cuts = compiler.obtain(code), reading.result()
        asked = {x: _name(x, host) for x in named(compiled.facts["stubs"])}
        image, of_device, symbols = None, Inputs(), {}
        if asked or any(x.has_code for x in cuts.values()) or not self._may_be_elsewhere:
            image, of_device = self._without_accidents(cuts, asked)
            lowered = image.cubin.lowered_names
            symbols = {x.stub: lowered[name] for x, name in asked.items() if name in lowered}
        of_host = Inputs.of(compiled, self.tools.roots)
        inputs = (of_device, of_host, self._inputs(host_text, *texts.values()))
        return MixedParts(self.unit, code, compiled, runtime.result(), image, symbols, inputs)

    # ---- Texts ----

    def _expand(self, arch: str) -> Expansion:
        return expand(self.request, self.tools, self.cache, self.unit.sources, arch)

    def _inputs(self, *texts: Expansion) -> Inputs:
        from .headers import HeaderSearch

        search = HeaderSearch(self.request, self.tools)
        own = {source.name for source in self.unit.sources if source.path is None}
        files = dict.fromkeys(file for text in texts for file in text.read if file not in own)
        return search.looked_for(tuple(files), self.unit.sources)

    # ---- The host's side ----

    def _host_code(self, host: HostSide, text: Expansion) -> HostCode:
        exports = self._exports(host)
        # tvm-ffi's own load_inline has its headers before every string.
        is_text = self.unit.sources[0].path is None
        uses_ffi = is_text or _OF_FFI.search(text.text) is not None
        has_cub = any(name.startswith("cub/") for name in text.libraries)
        headers = [CUB] if has_cub and re.search(r"\bcub\b", host.text) else []
        if "mma.h" in text.libraries:
            headers += _OF_MMA  # which is not for the host, and brings them
        output = self.request.output if self.request.is_object else ""
        shown = {x.name: x.text for x in self.unit.sources if x.path is None}
        return HostCode(host.text, uses_ffi, tuple(headers), exports, host.variables, output, shown)

    def _exports(self, host: HostSide) -> tuple[tuple[str, str], ...]:
        """Return the functions that mixed sources export, with docstrings."""
        if self.unit.sources[0].path is not None:
            return ()  # a file does so itself
        kernels = {x.name for source in self.unit.device for x in read(source.text).kernels}
        kernels |= {name.rpartition("::")[2] for name in host.kernels}
        cpp = [read(source.text).functions for source in self.request.cpp_sources]
        others = {found.qualified for functions in cpp for found in functions if found.defined}
        none = kernels | others | self.known_kernels
        return tuple(
            (export.name, export.doc)
            for export in self.request.functions or ()
            if export.instances is None and export.name not in none
        )

    # ---- The device's side ----

    @property
    def _may_be_elsewhere(self) -> bool:
        """Whether kernels that are only declared may be another unit's, or another object's."""
        linked = self.request.is_object or self.request.files.binaries
        return bool(linked) or not self.unit.is_alone

    def _without_accidents(
        self, cuts: Mapping[str, DeviceCut], asked: Mapping[Instance, str]
    ) -> tuple[Image, Inputs]:
        """Compile the device side; again without what it may have got by accident."""
        words = _WORD.findall(" ".join(asked.values()))
        sides = {arch: cut.code(words) for arch, cut in cuts.items()}
        found: set[tuple[str, int]] = set()
        errors: list[CompileError] = []
        while True:
            try:
                return self._compile_device(cuts, sides, asked)
            except CompileError as error:
                errors.append(error)
                found |= _places(error)
                before, sides = sides, {x: cut.code(words, found) for x, cut in cuts.items()}
                if sides == before or len(errors) == _TRIES:
                    # An error elsewhere is one of what was left out, which was no accident.
                    told = error if _places(error) <= _places(errors[0]) else errors[0]
                    raise _explained(told, cuts[self.archs[0]].host_functions) from None

    def _compile_device(
        self,
        cuts: Mapping[str, DeviceCut],
        sides: Mapping[str, str],
        asked: Mapping[Instance, str],
    ) -> tuple[Image, Inputs]:
        request = self.request
        if not self.unit.is_alone:
            request = of_names(request, cuts[self.archs[0]].names)
        if any(map(needs_device_runtime, sides.values())):
            request = _with_device_runtime(request)
        first, checks = self.unit.sources[0], "".join(map(_check, asked, asked.values()))
        own = {arch: first._replace(text=f"{text}{checks}") for arch, text in sides.items()}
        compiler = DeviceCompiler(request, self.tools, self.cache)
        return compiler.obtain(own, self.unit.device, tuple(asked.values()))


def _name(instance: Instance, host: HostSide) -> str:
    """Return how NVRTC is asked for a kernel or a variable that host code uses."""
    if instance.is_variable or instance.params is None:
        return instance.expression
    qualified = instance.qualified
    if host.kernels.get(qualified, 0) < 2:
        return instance.expression
    return instance._replace(params=(*instance.params, *host.bound.get(qualified, ()))).cast


def _explained(error: CompileError, host_functions: Container[str]) -> CompileError:
    missing = [demangle(name) for name in _UNRESOLVED.findall(error.log)]
    missing += (name for name in _UNDEFINED.findall(error.log) if name in host_functions)
    if not missing and ("\nHint: " in str(error) or "tvmffi_cubin: " in error.log):
        return error
    return with_hints(error, [_NO_CODE.format(missing[0]) if missing else _NVCC])


def _places(error: CompileError) -> set[tuple[str, int]]:
    """Return the files and lines that NVRTC names as those of errors."""
    return {(match[1], int(match[2])) for match in _NVRTC_ERROR.finditer(error.log)}


def _with_device_runtime(request: Request) -> Request:
    """Return a request with CUDA's device runtime, which device code that launches needs."""
    from .images import device_libraries

    if any("cudadevrt" in x.name for x in request.device_libraries):
        return request
    return request._replace(
        device_libraries=(*request.device_libraries, *device_libraries(["cudadevrt"]))
    )


def _check(instance: Instance, name: str) -> str:
    """Return the assertions that the device lays out what it is handed as the host does."""
    space = "tvmffi_cubin_layout"
    if instance.is_variable:
        types = f"{space}::kOf<decltype({name[1:]})>, {instance.layouts[0]}ull"
        text = f"tvmffi_cubin: {name[1:]} is laid out otherwise in device code than in host code"
        return f'static_assert({space}::AreSame({types}), "{text}");\n'
    kernel = f"decltype({name if name.startswith('(') else '&' + name})"
    return "".join(
        f"static_assert({space}::Kernel<{kernel}>::IsAs({number}, {layout}ull), "
        f'"tvmffi_cubin: parameter {number + 1} of {instance.qualified} is laid out otherwise in '
        'device code than in host code");\n'
        for number, layout in enumerate(instance.layouts)
    )
