"""`device_code`: the image of a mixed unit's device side, an entry that only it changes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ..cache.entry import Product
from ..cache.key import Key
from ..cuda import nvrtc
from ..cuda.options import preprocessor_flags
from ..cuda.program import in_parallel
from ..device.compile import compile_device, joined
from ..device.image import Image, signatures
from ..device.units import wanted_instances
from ..host.inputs import Inputs
from ..kernels.cubin import Cubin
from ..sources import DEVICE_IMAGE, Source
from ..sources.expansion import without_marks
from .headers import HeaderSearch
from .tools import Build

_IMAGE = "tvmffi_cubin.device"
# Our headers of the C++ library, 10 ms for NVRTC. One more, of 10 ms, comes for its names alone.
_STD = ("float.h", "stdint.h", "algorithm", "array", "cstddef", "limits", "type_traits", "utility")
_TUPLES = ("tuple", "apply", "make_tuple", "tie")
# Both sides mean the same types by int64_t and its like.
_AS_HOST = ("-DTVMFFI_CUBIN_HOST_INTEGERS", "--device-int128")
_LINES = re.compile(r"(?:^| )(?:-G|-g|--device-debug|-?-(?:generate-)?line-?info|-lineinfo)\b")


def device_code(
    wanted: Build,
    own: Mapping[str, Source],
    others: Sequence[Source],
    names: Sequence[str] = (),
) -> tuple[Image, Inputs]:
    """Return the image of device code, a fatbin, compiling it where there is none.

    `own` is what each architecture has; `others` are linked with it, `names` are kernels and
    variables that are wanted beside those of the request.
    """
    asked = tuple(dict.fromkeys((*wanted.request.name_expressions, *names)))
    wanted = wanted._replace(request=wanted.request._replace(name_expressions=asked))
    entry = wanted.cache.obtain(
        _key(wanted, own, others),
        partial(_compile, wanted, own, others),
        name=f"{wanted.request.name} (device code)",
    )
    cubin = Cubin(entry.so.read_bytes(), **entry.facts["device"])
    # They are the source's: of a type that NVRTC does not tell, a launch has to declare it.
    kernels = tuple(x._replace(place=0, is_own=True) for x in signatures(cubin))
    return Image(DEVICE_IMAGE, cubin, kernels), Inputs.of(entry, wanted.tools.roots)


def _key(wanted: Build, own: Mapping[str, Source], others: Sequence[Source]) -> str:
    request, key = wanted.request, Key("device image")
    key.add("tools", wanted.tools.versions).add("nvfatbin", wanted.tools.nvfatbin)
    has_lines = _LINES.search(" ".join(request.cuda_cflags))
    texts = [
        (arch, x.text if has_lines else without_marks(x.text), x.path, x.label)
        for arch, x in own.items()
    ]
    key.add("texts", texts).add("others", [[x.text, x.path, x.label] for x in others])
    key.add("name", request.name)
    key.add("instances", wanted_instances(request)).add("flags", request.cuda_cflags)
    # Relative paths in them are other paths in another current folder.
    key.add("preprocessor", preprocessor_flags(request.cuda_cflags).words)
    key.add("folders", request.include_paths).add("lto", request.lto)
    key.add("libraries", [[x.image, x.arch] for x in request.device_libraries])
    return key.add("use_pch", request.use_pch).hexdigest()


def _compile(
    wanted: Build, own: Mapping[str, Source], others: Sequence[Source], folder: Path
) -> Product:
    request, tools = wanted.request, wanted.tools
    found = HeaderSearch(request, tools).device((*own.values(), *others))
    images = in_parallel(lambda arch: _image(wanted, (*others, own[arch]), arch), [*own])
    device = joined(images)
    (folder / _IMAGE).write_bytes(device.cubin.image)
    known = {**device.cubin.facts, "signatures": device.facts["signatures"]}
    facts = {"name": request.name, "unknown": found.unknown, "device": known}
    return tools.product(_IMAGE, found, facts=facts)


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
    """Return the headers of the C++ library that device code wants to have been included before it.

    Those of the host that a source includes bring names that NVRTC does not have. All of ours that
    are cheap are there; those that stand for CCCL's only where their names are used.
    """
    used = {*re.findall(r"\bstd\s*::\s*(\w+)", text)}
    own = ["tuple"] if not used.isdisjoint(_TUPLES) else []
    include = r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]"
    # A source that includes one of CCCL's itself may say before how it wants it.
    included = {*re.findall(include, text, re.MULTILINE)}
    found = {x for x, names in nvrtc.BY_CCCL.items() if not used.isdisjoint(names.split())}
    there = {x for x in found for folder in folders if os.path.isfile(f"{folder}/cuda/std/{x}")}
    return [*_STD, *own, *sorted(there - included)]
