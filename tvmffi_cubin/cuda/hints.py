"""Which header has a name, which wheel a header, and what NVRTC's errors suggest to do."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .arch import number_of
from .libraries import Cuda
from .nvrtc import shim_dir

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

# What a header declares begins in the first column.
_DECLARED = re.compile(
    r"^(?:struct|enum class|using) (?P<name>\w+)|^using (?P<used>::[^;]+)"
    r"|^(?:inline )?constexpr (?:size_t|__\w+) (?P<constant>\w+)"
    r"|^TVMFFI_CUBIN_(?P<macro>\w+)\(\s*(?P<argument>\w+)"
    r"|^(?!struct|template|using|typedef|[ #/}])[^\n(]*?\b(?P<function>\w+)\(",
    re.MULTILINE,
)
# And what the macros of <type_traits> do.
_BY_MACRO = {
    "T": ("{}_t",),
    "V": ("{}_v",),
    "TYPE": ("{}", "{}_t"),
    "TRAIT": ("{}", "{}_v"),
    "TRAIT_2": ("{}", "{}_v"),
    "ABLE": tuple(
        f"is_{how}{{}}{end}" for how in ("", "trivially_", "nothrow_") for end in ("", "_v")
    ),
}
_PLAIN = re.compile(
    r"^[ ]*#define (?!TVMFFI_)([A-Za-z]\w+)\b[^\n]|^(?:typedef\b[^\n]*|}) (\w+);", re.MULTILINE
)
# They come with the prelude; and what nvcc does not have without an include, either.
_LEFT_OUT = ("cmath", "math.h", "cuda.h")
# Stands for CCCL's header. Its functions are named as variables often are.
_RANGES, _ITERATOR = "range_access.h", "iterator"

_WHEELS = {
    "cccl": ("cub/", "cuda/", "thrust/", "nv/"),
    "crt": ("crt/",),
    "curand": ("curand",),
    "runtime": ("cuda.h", "cuda_", "cooperative_groups", "mma.h"),
}
# Algorithms for the whole device, and how NVRTC says that a header is for the host.
_DEVICE_WIDE = (
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((?:thrust/|cub/(?!block/|warp/|thread/))[^>\"\n]*)"
)
_HOST_CODE = (
    "__host__ function is not allowed|is not supported when compiling with NVRTC"
    r'|namespace "std" has no member|open source file "[a-z_]+"'
)


# The names of our headers


class Names(NamedTuple):
    """Which of our headers for NVRTC has a name: members of ``std``, and what is outside of it."""

    members: dict[str, str]
    plain: dict[str, str]
    by_cccl: set[str]


@functools.cache
def _std_names() -> Names:
    names = Names({}, {}, set())
    for path in sorted(shim_dir().iterdir()):
        header = path.name
        if not path.is_file() or header in _LEFT_OUT or header.startswith("tvmffi_cubin_"):
            continue
        text = path.read_text(encoding="utf-8")
        if "<cuda/std/" in text:
            names.by_cccl.add(header)
            brought = re.search(r"^// Brings:((?:[^\n]*\n//)*[^\n]*)", text, re.MULTILINE)
            for name in brought[1].replace("//", " ").split() if brought else ():
                names.members.setdefault(name, header)
        elif "." in header and header != _RANGES:
            for macro, type_ in _PLAIN.findall(text):
                names.plain.setdefault(macro or type_, header)
        else:
            for match in _DECLARED.finditer(text):
                if match["used"]:
                    found = re.findall(r"\w+", match["used"])
                elif match["macro"]:
                    found = [x.format(match["argument"]) for x in _BY_MACRO.get(match["macro"], ())]
                else:
                    found = [*filter(None, match.groups())]
                for name in found:
                    if not name.startswith("__") and name not in ("namespace", "operator"):
                        names.members.setdefault(name, header)
    return names


def headers_for(texts: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Return the headers that a source wants to have been included before it.

    nvcc's own headers, tvm-ffi's and those of the host that a source includes bring names that
    NVRTC does not have; what is included by these is not known, so names alone decide.
    """
    text = "\n".join(texts)
    names = _std_names()
    include = r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]"
    included = set(re.findall(include, text, re.MULTILINE))
    found = _used(text, names)
    # A source that includes one of CCCL's itself may say before how it wants it.
    found -= {x for x in found & names.by_cccl if x in included or not _has(folders, x)}
    if _ITERATOR in found | included:
        found.discard(_RANGES)
    return tuple(sorted(found))


def _has(folders: Iterable[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, "cuda", "std", header)) for folder in folders)


def _used(text: str, names: Names) -> set[str]:
    """Return the headers of all names in a text, but for what it defines."""
    words = set(re.findall(r"\b[A-Za-z]\w*", text))
    members = set(re.findall(r"\bstd\s*::\s*(\w+)", text))
    if re.search(r"\busing\s+namespace\s+(?:::\s*)?std\b", text):
        wary = {*names.by_cccl, _RANGES}
        members |= words - {name for name, header in names.members.items() if header in wary}
        members |= set(re.findall(r"\b(\w+)\s*<(?!<)", text))
    own = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.MULTILINE))
    found = {names.plain[word] for word in (words & names.plain.keys()) - own}
    found |= {names.members[name] for name in members & names.members.keys()}
    # A source may be written for NVRTC, too, with what that lacks; what it specialises goes on with
    # arguments.
    defined: set[str] = set()
    for body in re.findall(r"\bnamespace\s+std\s*\{(.*?)(?:^\}|\Z)", text, re.DOTALL | re.M):
        defined.update(re.findall(r"\b(?:struct|class|using|bool)\s+(\w+)\s*[{:=]", body))
    return found - {names.members.get(name) for name in defined}


# What errors suggest


def explained(log: str, *, source: str, arch: str, cuda: Cuda) -> str:
    """Return NVRTC's log, and behind it what its errors suggest to do."""
    hints = dict.fromkeys(_hints(log, source, arch, cuda))
    return "\n".join((log, *(f"Hint: {hint}" for hint in hints)))


def wheel_hint(header: str, cuda: Cuda) -> str:
    """Return which of NVIDIA's wheels brings a header that is missing; empty where none does."""
    part = next((part for part, starts in _WHEELS.items() if header.startswith(starts)), "")
    if not part or part in cuda.parts:  # the user's own may be called cuda_..., too
        return ""
    wheel = cuda.wheels[part]
    return f"{header} comes with NVIDIA's wheel {wheel}; run: pip install {wheel}"


def _hints(log: str, source: str, arch: str, cuda: Cuda) -> Iterator[str]:
    headers = dict.fromkeys(re.findall(_DEVICE_WIDE, source, re.MULTILINE))
    folder = re.escape(f"{cuda.parts.get('cccl')}/")
    if headers and re.search(rf"^{folder}.*(?:{_HOST_CODE})", log, re.MULTILINE):
        yield (
            f"{', '.join(f'<{header}>' for header in headers)} needs a host compiler: the "
            "device-wide algorithms of CUB and Thrust are host code, which NVRTC does not compile; "
            "include the header of a block's or a warp's algorithm, such as "
            "<cub/block/block_scan.cuh>"
        )
    number = number_of(arch)
    target = re.search(r"(?:not supported on|requires) \.target '?sm_\d", log)
    if target is not None and number >= 90 and arch[-1].isdigit():
        yield f'an instruction needs more than {arch} has: compile for arch="sm_{number}a"'
    if "device-side kernel launch could not be processed" in log:
        yield LAUNCHES_ON_DEVICE
    if missing := re.search(r"(?:cannot|could not) open source file \"([^\"]+)\"", log):
        header = missing[1]
        if hint := wheel_hint(header, cuda):
            yield hint
        elif re.fullmatch("[a-z_]+", header):
            yield (
                f"<{header}> belongs to the host's C++ library: include <cuda/std/{header}> where "
                "there is one, or move what needs it to cpp_sources"
            )
    names = _std_names()
    unknown = r'namespace "std" has no member (?:\w+ )?"(\w+)"|identifier "(\w+)" is undefined'
    for member, word in re.findall(unknown, log):
        has_it = names.members.get(member) or names.plain.get(word)
        header = "cuda.h" if word == "CUtensorMap" else has_it
        if header:
            header = _ITERATOR if header == _RANGES else header
            yield f"{member or word} is in <{header}>: add #include <{header}>"
