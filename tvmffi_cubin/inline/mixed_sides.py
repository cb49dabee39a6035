"""`host_object`, `device_code`: the two sides of a mixed unit, each a cache entry of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..cache.entry import Entry, Key, Product
from ..cache.files import digest_of
from ..cuda import nvrtc
from ..cuda.options import preprocessor_flags
from ..cuda.program import in_parallel
from ..device.compile import compile_device, joined
from ..device.image import Image, signatures
from ..device.units import wanted_instances
from ..host import build, forwarders
from ..host import units as host_unit
from ..host.inputs import Inputs
from ..host.steps import compilation
from ..kernels.cubin import Cubin
from ..sources.expansion import without_marks
from ..sources.host_side import HostCut
from ..sources.stubs import layouts, questions, stubs
from .headers import cuda_flags, device_headers, run_host
from .mixed_text import HOST, mixed_prefix
from .request import DEVICE_IMAGE, Source
from .tools import Build

# File names in entries; the dots keep them from clashing with a module's own.
_IMAGE = "tvmffi_cubin.device"
_OBJECT = "tvmffi_cubin.host.o"
_RUNTIME = "tvmffi_cubin.runtime.o"
_UNIT = "mixed_host.cc"
_TEXT = "mixed_host.cu"
# Flags that record source lines in the output.
_LINES = (
    r"(?:^| )(?:-g(?!0|encode)|--coverage|-fprofile|-ftest-coverage|-fsanitize"
    r"|-G|--device-debug|-?-(?:generate-)?line-?info)"
)
# Extra flags for some compilers, by their version texts.
_BY_COMPILER = {
    # CUB, CUTLASS and others give a class member the name of what it is: `using T = T`. nvcc
    # accepts that; g++ does so with a flag that allows little else.
    r"(?m)^gcc version": "-fms-extensions",
    # Since clang 18, names contain template parameter kinds, which few C++ runtimes demangle.
    r"\bclang version (?:1[89]|[2-9]\d)\.": "-fclang-abi-compat=17",
}
# Our C++ library headers, 10 ms for NVRTC. One more, of 10 ms, is added only if its names are used.
_STD = ("float.h", "stdint.h", "algorithm", "array", "cstddef", "limits", "type_traits", "utility")
_TUPLES = ("tuple", "apply", "make_tuple", "tie")
# Makes int64_t and the like the same types on both sides.
_AS_HOST = ("-DTVMFFI_CUBIN_HOST_INTEGERS", "--device-int128")


class HostCode(NamedTuple):
    """Host code to compile: our headers, then the user's code as cut."""

    host: HostCut
    uses_ffi: bool  # whether tvm-ffi's headers, most of g++'s time, precede it
    headers: tuple[str, ...]  # further headers, as directives
    exports: tuple[tuple[str, str], ...]  # functions, and their docstrings
    output: str  # an object's name, if it is yet to be linked with others
    sources: Mapping[str, str]  # what was cut, by name in messages

    @property
    def tag(self) -> str:
        """The unique name by which the unit's table is found."""
        return digest_of([without_marks(self.host.code), self.exports, self.output])[:16]

    @property
    def unit(self) -> str:
        """The text of the unit, which includes the user's code."""
        lines = [
            mixed_prefix(self.exports) if self.uses_ffi else f"#include <{HOST}>",
            *self.headers,
            f"#define TVMFFI_CUBIN_MIXED_TABLE tvmffi_cubin_mixed_table_{self.tag}",
            "#include <tvmffi_cubin/mixed/unit.h>",
            f'#include "{_TEXT}"',
            *(f"template struct tvmffi_cubin::Listed<&{x}>;" for x in self.host.variables),
            *host_unit.export_lines(self.exports),
            questions(self.host.classes, self.host.classes),
        ]
        return "\n".join(lines) + "\n"


def _told(text: str, flags: Sequence[str]) -> str:
    """Return a text as it enters a key: without line marks, unless flags record lines."""
    return text if re.search(_LINES, " ".join(flags)) else without_marks(text)


def host_object(wanted: Build, code: HostCode) -> Entry:
    """Return the entry of the host object; compile it on a cache miss."""
    request, tools, command = wanted.request, wanted.tools, _command(wanted)
    key = host_unit.compilation_key("host object", command, tools)
    key.add("folders", request.include_paths).add("use_pch", request.use_pch)
    key.add("unit", code.unit).add("text", _told(code.host.code, command))

    def make(folder: Path) -> Product:
        files = {**code.sources, _UNIT: code.unit, _TEXT: code.host.code}
        prefix = mixed_prefix(code.exports) if code.uses_ffi else ""
        step = compilation(_UNIT, command, request.include_paths, prefix=prefix)
        steps = [step._replace(made=_OBJECT)]
        read = run_host(wanted, steps, folder, files, [Source(code.host.code)], request.cflags)
        made = (folder / _OBJECT).read_bytes()
        facts = {
            "name": request.name,
            "stubs": stubs(made),
            "layouts": dict(layouts(made, code.host.classes)),
            "calls_driver": forwarders.calls_driver(made),
        }
        return tools.product(_OBJECT, read, keep=(_UNIT, _TEXT), used=(_TEXT,), facts=facts)

    return wanted.cache.obtain(key.hexdigest(), make, name=f"{request.name} (host code)")


def runtime_object(wanted: Build, code: HostCode) -> str:
    """Return the path of the runtime object that host code needs, compiled once."""
    tools = wanted.tools
    exports = ("-DTVMFFI_CUBIN_EXPORTS",) if code.uses_ffi else ()
    command = (*_command(wanted), "-w", *exports)
    # It includes no user headers unless a flag does.
    is_user_s = any(word.startswith(("-include", "--include", "-imacros")) for word in command)
    folders = wanted.request.include_paths if is_user_s else ()
    key = host_unit.compilation_key("mixed runtime", command, tools).add("folders", folders)

    def make(folder: Path) -> Product:
        source = os.fspath(tools.include / "tvmffi_cubin" / "mixed" / "runtime.cc")
        step = compilation(source, command, folders)
        build.run([step._replace(made=_RUNTIME)], folder, {})
        return tools.product(_RUNTIME)

    return os.fspath(wanted.cache.obtain(key.hexdigest(), make, name=_RUNTIME).so)


def _command(wanted: Build) -> tuple[str, ...]:
    tools = wanted.tools
    cflags = cuda_flags(wanted.request)
    if any(flag.startswith("-flto") for flag in (*tools.compiler.options, *cflags)):
        # The symbols of an LTO object would not tell which kernels it uses.
        cflags = (*cflags, "-fno-lto")
    if wanted.request.bound_params:
        cflags = (host_unit.BOUND_PARAMS, *cflags)
    own = (flag for x, flag in _BY_COMPILER.items() if re.search(x, tools.host.compiler))
    return (*tools.compiler.command, *host_unit.host_flags(tools, (*own, *cflags)))


def device_code(
    wanted: Build, own: Mapping[str, Source], others: Sequence[Source], names: Sequence[str] = ()
) -> tuple[Image, Inputs]:
    """Return the image of device code, a fatbin; compile it on a cache miss.

    `own` is the source for each architecture; `others` are linked with it. `names` are kernels and
    variables wanted in addition to those of the request.
    """
    asked = tuple(dict.fromkeys((*wanted.request.name_expressions, *names)))
    request, tools = wanted.request._replace(name_expressions=asked), wanted.tools
    wanted = wanted._replace(request=request)
    key = Key("device image").add("tools", tools.versions).add("nvfatbin", tools.nvfatbin)
    texts = [(arch, _told(x.text, request.cuda_cflags), x.path, x.label) for arch, x in own.items()]
    key.add("texts", texts).add("others", [[x.text, x.path, x.label] for x in others])
    key.add("name", request.name).add("use_pch", request.use_pch).add("lto", request.lto)
    key.add("instances", wanted_instances(request)).add("flags", request.cuda_cflags)
    # Relative paths in them depend on the current folder.
    key.add("preprocessor", preprocessor_flags(request.cuda_cflags).words)
    key.add("folders", request.include_paths)
    key.add("libraries", [[x.image, x.arch] for x in request.device_libraries])

    def make(folder: Path) -> Product:
        found = device_headers(request, tools, (*own.values(), *others))
        images = in_parallel(lambda arch: _image(wanted, (*others, own[arch]), arch), [*own])
        device = joined(images)
        (folder / _IMAGE).write_bytes(device.cubin.image)
        known = {**device.cubin.facts, "signatures": device.facts["signatures"]}
        facts = {"name": request.name, "unknown": found.unknown, "device": known}
        return tools.product(_IMAGE, found, facts=facts)

    entry = wanted.cache.obtain(key.hexdigest(), make, name=f"{request.name} (device code)")
    cubin = Cubin(entry.so.read_bytes(), **entry.facts["device"])
    # They are the source's: a launch has to declare a type that NVRTC does not report.
    kernels = tuple(x._replace(place=0, is_own=True) for x in signatures(cubin))
    return Image(DEVICE_IMAGE, cubin, kernels), Inputs.of(entry, tools.roots)


def _image(wanted: Build, sources: tuple[Source, ...], arch: str) -> Image:
    request, tools = wanted.request, wanted.tools
    text = "\n".join(source.text for source in sources)
    first = [os.fspath(tools.include / "tvmffi_cubin" / "mixed" / "device.h")]
    for header in std_headers(text, tools.cuda_include_dirs):
        is_file = header not in nvrtc.HEADERS
        first.append(os.fspath(nvrtc.shim_dir() / header) if is_file else header)
    flags = (*_AS_HOST, *(f"--pre-include={x}" for x in first), *request.cuda_cflags)
    return compile_device(request._replace(cuda_cflags=flags), sources, (arch,))


def std_headers(text: str, folders: Sequence[str]) -> list[str]:
    """Return the headers that replace the host's C++ library in device code.

    They are all of ours that are cheap, and those that stand for CCCL's if their names are used.
    """
    used = {*re.findall(r"\bstd\s*::\s*(\w+)", text)}
    if re.search(r"\busing\s+namespace\s+(?:::\s*)?std\b", text):
        used |= {*re.findall(r"\b(\w+)\s*<(?!<)", text)}
    own = ["tuple"] if not used.isdisjoint(_TUPLES) else []
    include = r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]"
    # A source that includes one of CCCL's itself may configure it first.
    included = {*re.findall(include, text, re.MULTILINE)}
    found = {x for x, names in nvrtc.BY_CCCL.items() if not used.isdisjoint(names.split())}
    there = {x for x in found for folder in folders if os.path.isfile(f"{folder}/cuda/std/{x}")}
    return [*_STD, *own, *sorted(there - included)]
