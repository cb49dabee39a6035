"""Which headers of the C++ library the device code of a mixed source wants."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from .nvrtc import BY_CCCL

# They bring what is outside of `std`.
_ALWAYS = ("float.h", "stdint.h")
# Ours, which take milliseconds together.
_OWN = ("algorithm", "array", "cstddef", "limits", "tuple", "type_traits", "utility")
# Ours for CCCL's, with functions that are named as variables often are.
_RANGES, _ITERATOR = "range_access.h", "iterator"
_OF_RANGES = {"begin", "end", "cbegin", "cend", "size", "empty", "data"}


def headers_for(texts: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Return the headers that a source wants to have been included before it.

    nvcc's own headers, tvm-ffi's and those of the host that a source includes bring names that
    NVRTC does not have; what is included by these is not known, so names alone decide.
    """
    text = "\n".join(texts)
    used = {*re.findall(r"\bstd\s*::\s*(\w+)", text)}
    uses_ranges = not used.isdisjoint(_OF_RANGES)
    is_open = re.search(r"\busing\s+namespace\s+(?:::\s*)?std\b", text) is not None
    if is_open:
        used |= {*re.findall(r"\b(\w+)\s*<(?!<)", text)}
    include = r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]"
    included = set(re.findall(include, text, re.MULTILINE))
    # A source that includes one of CCCL's itself may say before how it wants it.
    wanted = (x for x, names in BY_CCCL.items() if not used.isdisjoint(names.split()))
    found = {x for x in wanted if x not in included and _has(folders, x)}
    if uses_ranges and _ITERATOR not in found | included:
        found.add(_RANGES)
    if is_open or used:
        found.update(_OWN)
    return (*_ALWAYS, *sorted(found))


def _has(folders: Iterable[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, "cuda", "std", header)) for folder in folders)
