"""`compile_mixed`: mixed units, preprocessed, cut and compiled, each side by its compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

from ..cuda import nvrtc
from ..cuda.hints import NVCC
from ..cuda.program import Call, in_parallel
from ..device.image import Image
from ..device.units import of_names, with_hints
from ..errors import CompileError
from ..functions.assembly import registration
from ..host.inputs import Inputs
from ..host.process import Later
from ..kernels.demangle import demangle, take_apart
from ..launches.values import bound_param
from ..sources.device_side import DeviceCut
from ..sources.facts import read
from ..sources.host_side import HostCut
from ..sources.items import walk
from ..sources.sort import Sources
from ..sources.stubs import Instance, check_layouts, named, questions
from .headers import host_headers
from .mixed_sides import HostCode, device_code, host_object, runtime_object
from .mixed_text import expand
from .request import DEVICE_IMAGE, Request, Source
from .tools import Build

_NVCC = f"nvcc accepts some code that NVRTC rejects: to try it, pass {NVCC}"
# CUB for host code, which asks for the sizes of its types.
_OF_CUB = "#include <tvmffi_cubin/mixed/cub.h>"
_FLOATS = ("#include <cuda_fp16.h>", "#include <cuda_bf16.h>")
_OF_FFI = re.compile(r"^(?!#line ).*(?:\btvm|TVM|\bk?DL[A-Z])", re.MULTILINE)
# Code that needs CUDA's device runtime: launches, and setting a graph's conditional nodes.
_OF_DEVICE_RUNTIME = re.compile(r"<<\s*<|\bcudaGraphSetConditional\b")
_NO_CODE = (
    "{} has no device code: define it as a __device__ function, in a header if several files call "
    f"it, or link device code with extra_cuda_cflags=['-rdc=true'] and {NVCC}"
)
_UNRESOLVED = re.compile(r"Unresolved extern \w+ '(\w+)'")
_UNDEFINED = re.compile(r'error: (?:identifier|class "[^"]+" has no member) "(\w+)"')
_NO_SLIP = r"error: (?!expected an? )"
# The most compilations of device code, each without the code of the errors so far.
_TRIES = 8
_NVRTC_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error\b", re.MULTILINE)


class Compiled(NamedTuple):
    """The results of compiling mixed units, and the files that were read."""

    images: dict[str, Image]  # by name
    tables: dict[str, str]  # assembly texts, by image name
    objects: tuple[str, ...]  # paths
    exported: frozenset[str]  # functions
    calls_driver: bool  # some code calls the driver by name
    inputs: tuple[Inputs, ...]


def compile_mixed(wanted: Build, sources: Sources, given: Sequence[Image]) -> Compiled:
    """Compile the mixed sources of a request, all units in parallel."""
    if not wanted.archs:
        wanted = wanted._replace(archs=nvrtc.resolve_archs(options=wanted.request.cuda_cflags))
    units = _units(wanted, sources, given)
    device = None
    if sources.device and len(units) > 1:
        names = frozenset(x.name for one in sources.device for x in read(one.text).kernels)
        beside = wanted._replace(request=of_names(wanted.request, names))
        *others, last = sources.device
        device = Later(partial(device_code, beside, dict.fromkeys(wanted.archs, last), others))
    made = in_parallel(MixedUnit.compile, units)
    images, inputs = {}, [x for one in made for x in one.inputs]
    if device is not None:
        images[DEVICE_IMAGE], of_device = device.result()
        inputs.append(of_device)
    return Compiled(
        images | {name: x for one in made for name, x in one.images.items()},
        {name: x for one in made for name, x in one.tables.items()},
        tuple(dict.fromkeys(x for one in made for x in one.objects)),
        frozenset().union(*(one.exported for one in made)),
        any(one.calls_driver for one in made),
        tuple(inputs),
    )


def _units(wanted: Build, sources: Sources, given: Sequence[Image]) -> list[MixedUnit]:
    image = _image_name(wanted.request, sources)
    if len(sources.mixed) == 1:
        unit = sources.mixed[0]
        if len((*unit, *sources.device)) == 1:  # messages name it like any single source
            unit = (unit[0]._replace(label=f"{wanted.request.name}.cu"),)
        return [MixedUnit(wanted, given, unit, sources.device, image, True)]
    units = []
    for number, unit in enumerate(sources.mixed, 2 if sources.device else 1):
        name = image if number == 1 else f"{image}_{number}"
        units.append(MixedUnit(wanted, given, unit, (), name, False))
    return units


def _image_name(request: Request, sources: Sources) -> str:
    """Return the image's name, after the object if possible, so that objects can be linked."""
    host = {*sources.host_functions, *(sources.exported_by_files or ())}
    named = {export.name for export in request.functions or ()} - host
    if not request.is_object or named or request.names_images:
        return DEVICE_IMAGE
    return f"{DEVICE_IMAGE}_{re.sub(r'[^0-9A-Za-z_]', '_', request.output.rpartition('.')[0])}"


class MixedUnit(NamedTuple):
    """Mixed sources that form one translation unit, with its own statics and image.

    Each source sees the macros and names of those before it; device sources are linked with them.
    """

    wanted: Build
    given: Sequence[Image]
    sources: tuple[Source, ...]
    device: tuple[Source, ...]
    image: str  # its name
    is_alone: bool  # the module's only mixed unit

    def compile(self) -> Compiled:
        """Preprocess, cut and compile both sides."""
        wanted, sources = self.wanted, self.sources
        expanding = {arch: Later(partial(expand, wanted, sources, arch)) for arch in wanted.archs}
        text, files = expand(wanted, sources, "")
        expanded = {arch: x.result() for arch, x in expanding.items()}
        bound = [bound_param(x).name for x in wanted.request.bound_params]
        host = HostCut(text, bound)
        code = self._host_code(host, files)
        runtime = Later(partial(runtime_object, wanted, code))
        cuts = Later(lambda: {arch: DeviceCut(x) for arch, (x, _) in expanded.items()})
        begun = None
        if foreseen := host.foreseen:  # both compilers work in parallel
            begun = Call(lambda: self._device(cuts.result(), foreseen, host.classes))
        try:
            compiled = host_object(wanted, code)
        except BaseException:
            if begun is not None:
                begun.stop[0] = b"\1"
            raise
        # Kernels that are only declared may be defined in another object.
        is_whole = self.is_alone and not (wanted.request.is_object or wanted.request.files.binaries)
        asked = {x: _name(x, host) for x in named(compiled.facts["stubs"])}
        names, made = tuple(asked.values()), None
        if begun is not None and {*foreseen}.issuperset(names):
            names, made = foreseen, begun.result()
        elif asked or is_whole or any(x.has_code for x in cuts.result().values()):
            made = self._device(cuts.result(), names, host.classes)
        images, symbols = {}, {}
        files += (x for _, read in expanded.values() for x in read)
        listed = [x for x in dict.fromkeys(files) if x not in code.sources]
        inputs = [host_headers(wanted.request, wanted.tools, listed, sources)]
        inputs.append(Inputs.of(compiled, wanted.tools.roots))
        if made is not None:
            image, of_device = made
            of_host = {name: x.layouts for x, name in asked.items()} | compiled.facts["layouts"]
            check_layouts(image.cubin.image, (*names, *host.classes), of_host, len(bound))
            lowered = image.cubin.lowered_names
            symbols = {x.stub: lowered[y] for x, y in asked.items() if y in lowered}
            images[self.image] = image
            inputs.append(of_device)
        return Compiled(
            images,
            {self.image: registration(code.tag, self.image if images else None, symbols)},
            (os.fspath(compiled.so), runtime.result()),
            frozenset(name for name, _ in code.exports),
            compiled.facts["calls_driver"],
            tuple(inputs),
        )

    def _host_code(self, host: HostCut, files: Sequence[str]) -> HostCode:
        # tvm-ffi's own load_inline puts its headers before every source string.
        is_text = self.sources[0].path is None
        has_cub = any(path.endswith("/cub/config.cuh") for path in files)
        headers = [_OF_CUB] if has_cub and re.search(r"\bcub\b", host.code) else []
        if has_cub or any(path.endswith("/crt/mma.h") for path in files):
            headers += _FLOATS  # CUB and mma.h, left out for the host, include them
        return HostCode(
            host=host,
            uses_ffi=is_text or _OF_FFI.search(host.source) is not None,
            headers=tuple(headers),
            exports=self._exports(host) if is_text else (),  # files export their own
            output=self.wanted.request.output if self.wanted.request.is_object else "",
            sources={x.name: x.text for x in self.sources if x.path is None},
        )

    def _exports(self, host: HostCut) -> tuple[tuple[str, str], ...]:
        """Return the functions that mixed sources export, with docstrings."""
        kernels = {x.name for source in self.device for x in read(source.text).kernels}
        kernels |= {name.rpartition("::")[2] for name in host.kernels}
        given = (x for image in self.given for x in image.signatures)
        kernels |= {name for x in given for name in (x.name.short, x.kernel.name)}
        cpp = [read(source.text).functions for source in self.wanted.request.cpp_sources]
        others = {found.qualified for functions in cpp for found in functions if found.defined}
        return tuple(
            (export.name, export.doc)
            for export in self.wanted.request.functions or ()
            if export.instances is None and export.name not in kernels | others
        )

    def _device(
        self, cuts: Mapping[str, DeviceCut], names: Sequence[str], classes: Sequence[str]
    ) -> tuple[Image, Inputs]:
        """Compile the device side; on errors, retry without code it may have got by accident."""
        found: set[tuple[str, int]] = set()  # error locations
        first: CompileError | None = None
        # A compilation begun with other names may still be using them.
        cuts = {arch: copy(cut) for arch, cut in cuts.items()}
        some = cuts[self.wanted.archs[0]]
        sides: dict[str, str] = {}
        for _ in range(_TRIES):
            before, sides = sides, {}
            for arch, cut in cuts.items():
                code = cut.code(names, found)
                sides[arch] = code + questions((*names, *classes), {*names, *cut.classes(names)})
            if sides == before:
                break
            try:
                return self._compile_device(sides, names, some.by_name)
            except CompileError as error:
                first, last = first or error, error
                found |= _places(error)
        assert first is not None
        # An error elsewhere comes from leaving out what device code needs.
        told = last if _places(last) <= _places(first) else first
        raise _explained(told, some)

    def _compile_device(
        self, sides: Mapping[str, str], names: Sequence[str], declared: Collection[str]
    ) -> tuple[Image, Inputs]:
        request = self.wanted.request
        if not self.is_alone:
            request = of_names(request, declared)
        given = request.device_libraries
        needs_runtime = any(map(_OF_DEVICE_RUNTIME.search, sides.values()))
        if needs_runtime and not any("cudadevrt" in x.name for x in given):
            from .images import device_libraries

            given = (*given, *device_libraries(["cudadevrt"]))
            request = request._replace(device_libraries=given)
        own = {arch: self.sources[0]._replace(text=text) for arch, text in sides.items()}
        wanted = self.wanted._replace(request=request)
        return device_code(wanted, own, self.device, names)


def _name(instance: Instance, host: HostCut) -> str:
    """Return the name expression of a kernel or a variable that host code uses."""
    qualified = take_apart(f"{instance.expression}()").qualified
    if instance.params is None or host.kernels.get(qualified, 0) < 2:
        return instance.expression
    # The cast tells it from other functions of the same name.
    types = ", ".join((*instance.params, *host.bound_types.get(qualified, ())))
    return f"(void (*)({types})){instance.expression}"


def _explained(error: CompileError, cut: DeviceCut) -> CompileError:
    missing = [demangle(name) for name in _UNRESOLVED.findall(error.log)]
    host = {x.name for x in walk(cut.items) if x.kind == "function" and not x.is_for_device}
    missing += (name for name in _UNDEFINED.findall(error.log) if name in host)
    if missing:
        return with_hints(error, [_NO_CODE.format(missing[0])])
    is_plain = "\nHint: " in str(error) or not re.search(_NO_SLIP, error.log)
    return error if is_plain else with_hints(error, [_NVCC])


def _places(error: CompileError) -> set[tuple[str, int]]:
    """Return the files and lines of NVRTC's errors."""
    return {(match[1], int(match[2])) for match in _NVRTC_ERROR.finditer(error.log)}
