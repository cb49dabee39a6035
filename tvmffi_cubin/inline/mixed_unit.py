"""`UnitBuilder`: a mixed unit preprocessed, cut, and compiled, one side beside the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..cache.entry import Entry
from ..cache.store import Cache
from ..device.image import Image
from ..device.units import of_names, with_hints
from ..errors import BuildError, CompileError
from ..host.inputs import Inputs
from ..host.process import Later
from ..kernels.demangle import demangle
from ..launches.values import bound_param
from ..sources.device_side import DeviceSide, device_side
from ..sources.expansion import Expansion
from ..sources.facts import read
from ..sources.host_side import HostSide, host_side
from ..sources.source import Source
from ..sources.stubs import Instance, named
from ..sources.torch import torch_hints
from .mixed_device import DeviceCode, DeviceCompiler
from .mixed_host import CUB, HostCode, HostCompiler
from .mixed_text import expand
from .request import Request
from .tools import Toolset

_NVCC = 'nvcc takes some code that NVRTC refuses: if it takes this, compiler="nvcc" builds it'
_OF_MMA = ("#include <cuda_fp16.h>", "#include <cuda_bf16.h>")
_OF_FFI = re.compile(r"^(?!#line ).*(?:\btvm|TVM|\bk?DL[A-Z])", re.MULTILINE)
_UNRESOLVED = re.compile(r"Unresolved extern \w+ '(\w+)'")
_OWN_CODE = (
    "each file with kernels and host functions has device code of its own: define it in a header "
    "that both include, or compile with compiler=\"nvcc\" and extra_cuda_cflags=['-rdc=true']"
)
# How often device code is compiled with less, each time of what the last time has brought up.
_TRIES = 8
_NVRTC_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error\b", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_FUNCTION = re.compile(
    r"^mixed_host\.cc:[\d:]+ error: (?:['\u2018](?:::)?(\w+)['\u2019] was not declared"
    r"|use of undeclared identifier '(\w+)')",
    re.MULTILINE,
)
_LAYOUT = re.compile(r"tvmffi_cubin: (?P<what>[^\n\"]*?) is laid out")


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
    device: Image | None  # None where the unit has no kernel
    host: Entry  # the object of the host side
    runtime: str  # the path of the one that it needs beside
    exported: tuple[str, ...]
    tag: str  # the end of its table's symbol, which no other unit's has
    symbols: dict[str, str]  # see `registration`
    files: tuple[Inputs, ...]
    device_texts: tuple[str, ...]
    names: frozenset[str]  # what its sources declare
    defined: tuple[str, ...]  # kernels
    launches: tuple[str, ...]  # as messages name them


class UnitBuilder(NamedTuple):
    """Compiles a unit; `known_kernels` are the names of those in other sources and images."""

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    cache: Cache
    known_kernels: frozenset[str]
    unit: MixedUnit

    def run(self) -> MixedParts:
        """Preprocess both sides, cut them, and compile one beside the other.

        Raises
        ------
        BuildError, CompileError, ToolchainError, TypeError, ValueError
            See `tvmffi_cubin.load_inline`.
        """
        expanding = [Later(partial(self._expand, arch)) for arch in self.archs]
        host_text = self._expand("")
        texts = {arch: later.result() for arch, later in zip(self.archs, expanding, strict=True)}
        host = host_side(host_text.text, [bound_param(x).name for x in self.request.bound_params])
        sides = {arch: device_side(text.text) for arch, text in texts.items()}
        first = sides[self.archs[0]]
        code = self._host_code(host, host_text)
        runtime = Later(partial(HostCompiler(self.request, self.tools, self.cache).runtime, code))
        compiled, early = self._compile_host(code, host, sides)
        if host.launches and not (first.has_code or self._may_be_elsewhere):
            raise ValueError(
                f"{host.launches[0]} launches a kernel, and none of the sources and of the headers "
                "beside them and in extra_include_paths defines one"
            )
        instances = named(compiled.facts["stubs"])
        asked = self._asked(instances, host)
        image, files = None, Inputs()
        device_texts = tuple(x.text for x in self.unit.device)
        if asked or first.has_code or not self._may_be_elsewhere:
            if early is not None and not instances:
                image, files = early.result()
            else:
                sides, image, files = self._without_accidents(texts, asked)
            device_texts += tuple(dict.fromkeys(x.text for x in sides.values()))
        lowered = {} if image is None else image.cubin.lowered_names
        return MixedParts(
            unit=self.unit,
            device=image,
            host=compiled,
            runtime=runtime.result(),
            exported=tuple(name for name, _ in code.exports),
            tag=code.tag,
            symbols={x.stub: lowered[name] for x, name in asked.items() if name in lowered},
            files=(
                files,
                Inputs.of(compiled, self.tools.roots),
                self._read(host_text, *texts.values()),
            ),
            device_texts=device_texts,
            names=first.names,
            defined=tuple(host.kernels),
            launches=host.launches,
        )

    # ---- Texts ----

    def _expand(self, arch: str) -> Expansion:
        names = [self._name(source) for source in self.unit.sources]
        return expand(self.request, self.tools, self.cache, self.unit.sources, names, arch)

    def _name(self, source: Source) -> str:
        if source.path is not None:
            return source.path
        # As a source that is alone is called.
        alone = len((*self.unit.sources, *self.unit.device)) == 1
        return f"{self.request.name}.cu" if alone else source.name

    def _read(self, *texts: Expansion) -> Inputs:
        from .headers import HeaderSearch

        search = HeaderSearch(self.request, self.tools)
        own = {self._name(source) for source in self.unit.sources if source.path is None}
        read = dict.fromkeys(file for text in texts for file in text.read if file not in own)
        return Inputs(tuple(read), search.hiding(read, self.unit.sources))

    # ---- The host's side ----

    def _host_code(self, host: HostSide, text: Expansion) -> HostCode:
        exports = self._exports(host)
        # tvm-ffi's own load_inline has its headers before every string.
        is_text = self.unit.sources[0].path is None
        uses_ffi = is_text or _OF_FFI.search(text.text) is not None
        headers: tuple[str, ...] = ()
        has_cub = any(name.startswith("cub/") for name, _ in text.libraries)
        if has_cub and re.search(r"\bcub\b", host.text):
            headers = (CUB,)
        if any(name == "mma.h" for name, _ in text.libraries):
            headers += _OF_MMA  # which is not for the host, and brings them
        output = self.request.output if self.request.is_object else ""
        shown = {self._name(x): x.text for x in self.unit.sources if x.path is None}
        return HostCode(host.text, uses_ffi, headers, exports, host.variables, output, shown)

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

    def _compile_host(
        self, code: HostCode, host: HostSide, sides: Mapping[str, DeviceSide]
    ) -> tuple[Entry, Later[tuple[Image, Inputs]] | None]:
        """Return the host's object, and what NVRTC does meanwhile, if it need not wait for that."""
        compiler = HostCompiler(self.request, self.tools, self.cache)
        if (known := compiler.find(code)) is not None:
            return known, None
        early = None
        if not host.kernels and not host.variables and sides[self.archs[0]].has_code:
            early = Later(partial(self._compile_device, sides, {}))
        try:
            return compiler.obtain(code), early
        except BuildError as error:
            raise self._host_error(error) from None

    def _host_error(self, error: BuildError) -> BuildError:
        hints = dict.fromkeys(
            f"functions names {name!r}, and the source has no function {name}"
            for found in _NO_FUNCTION.findall(error.output)
            for name in filter(None, found)
        )
        text = "\n".join((str(error), *(f"Hint: {hint}" for hint in hints)))
        return BuildError(
            text, command=error.command, output=error.output, directory=error.directory
        )

    # ---- The device's side ----

    @property
    def _may_be_elsewhere(self) -> bool:
        """Whether kernels that are only declared may be another unit's, or another object's."""
        linked = self.request.is_object or self.request.files.binaries
        return bool(linked) or not self.unit.is_alone

    def _asked(self, instances: Sequence[Instance], host: HostSide) -> dict[Instance, str]:
        """Return the kernels and variables that host code uses, and how NVRTC is asked for each."""
        names = {}
        for instance in instances:
            name = instance.expression
            if not instance.is_variable:
                qualified = instance.qualified
                if host.kernels.get(qualified, 0) > 1 and instance.params is not None:
                    params = (*instance.params, *host.bound.get(qualified, ()))
                    name = instance._replace(params=params).cast
            names[instance] = name
        return names

    def _without_accidents(
        self, texts: Mapping[str, Expansion], asked: Mapping[Instance, str]
    ) -> tuple[dict[str, DeviceSide], Image, Inputs]:
        """Compile the device side; again without what it may have got by accident."""
        words = _WORD.findall(" ".join(asked.values()))
        sides = {arch: device_side(text.text, words) for arch, text in texts.items()}
        found: set[tuple[str, int]] = set()
        first: CompileError | None = None
        for rest in reversed(range(_TRIES)):
            try:
                return sides, *self._compile_device(sides, asked)
            except CompileError as error:
                first = first or error
                found |= _places(error)
                less = {arch: device_side(text.text, words, found) for arch, text in texts.items()}
                if less == sides or rest == 0:
                    # An error elsewhere is one of what was left out, which was no accident.
                    told = error if _places(error) <= _places(first) else first
                    raise self._device_error(told) from None
                sides = less
        raise AssertionError

    def _compile_device(
        self, sides: Mapping[str, DeviceSide], asked: Mapping[Instance, str]
    ) -> tuple[Image, Inputs]:
        request = self.request
        if not self.unit.is_alone:
            request = of_names(request, sides[self.archs[0]].names)
        if any(side.uses_runtime for side in sides.values()):
            request = _with_device_runtime(request)
        first = self.unit.sources[0]
        label = self._name(first)
        own = {
            arch: Source(_named_in_utf_8(side.text), first.path, first.real_folder, label)
            for arch, side in sides.items()
        }
        code = DeviceCode(own, self.unit.device, "".join(map(_check, asked, asked.values())))
        compiler = DeviceCompiler(request, self.tools, self.cache)
        return compiler.obtain(code, tuple(asked.values()))

    def _device_error(self, error: CompileError) -> CompileError:
        hints = torch_hints(error.log)
        if missing := _UNRESOLVED.search(error.log):
            name = demangle(missing[1])
            hints.append(
                f"{name} has no device code: define it, as a __device__ function if it is one"
                if self.unit.is_alone
                else _OWN_CODE
            )
        if "\nHint: " not in str(error) and not hints and not _LAYOUT.search(error.log):
            hints = [_NVCC]
        return with_hints(error, hints)


def _places(error: CompileError) -> set[tuple[str, int]]:
    """Return the files and lines that NVRTC names as those of errors."""
    return {(match[1], int(match[2])) for match in _NVRTC_ERROR.finditer(error.log)}


def _named_in_utf_8(text: str) -> str:
    """Return a text whose marks of lines NVRTC takes; no name of a file needs to be UTF-8."""
    plain = re.compile("(?m)^#line .*[\udc80-\udcff].*$")
    return plain.sub(lambda match: match[0].encode("utf-8", "replace").decode(), text)


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
