"""Which of our small headers of the C++ library device code wants."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Sequence

from .nvrtc import BY_CCCL, shim_dir

# They bring what is outside of `std`.
_ALWAYS = ("float.h", "stdint.h")
# Stands for CCCL's header. Its functions are named as variables often are.
_RANGES, _ITERATOR = "range_access.h", "iterator"


@functools.cache
def _own() -> dict[str, set[str]]:
    """Return the names that the files of ours have in ``std``."""
    own: dict[str, set[str]] = {}
    for path in sorted(shim_dir().iterdir()):
        # <cmath> comes with the prelude.
        if path.is_dir() or path.name == "cmath" or ("." in path.name and path.name != _RANGES):
            continue
        # A declaration begins in the first column. A header too many costs milliseconds.
        text = path.read_text(encoding="utf-8")
        lines = re.findall(r"^(?!template|namespace)\w(?:\(\n|[^\n])*", text, re.MULTILINE)
        declared = re.findall(r"(?m)\b([A-Za-z]\w*)\s*(?:[({;:=,)]|$)", "\n".join(lines))
        # The short names of traits are made by macros.
        names = {f"{name}{end}" for name in declared for end in ("", "_t", "_v")}
        own[path.name] = names - {"size_t"}  # which the prelude has
    return own


def headers_for(texts: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Return the headers that a source wants to have been included before it.

    nvcc's own headers, tvm-ffi's and those of the host that a source includes bring names that
    NVRTC does not have; what is included by these is not known, so names alone decide.
    """
    text = "\n".join(texts)
    own = _own()
    used = {*re.findall(r"\bstd\s*::\s*(\w+)", text)}
    is_open = re.search(r"\busing\s+namespace\s+(?:::\s*)?std\b", text) is not None
    if is_open:
        used |= {*re.findall(r"\b(\w+)\s*<(?!<)", text)}
    found = {header for header, names in BY_CCCL.items() if not used.isdisjoint(names.split())}
    include = r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]"
    included = set(re.findall(include, text, re.MULTILINE))
    # A source that includes one of CCCL's itself may say before how it wants it.
    found = {x for x in found if x not in included and _has(folders, x)}
    if _ITERATOR not in found | included and not own[_RANGES].isdisjoint(used):
        found.add(_RANGES)
    for header, names in own.items():
        if header != _RANGES and (is_open or not names.isdisjoint(used)):
            found.add(header)
    if any(name.startswith("is_") for name in used):  # macros make the rest of these names, too
        found.add("type_traits")
    return (*_ALWAYS, *sorted(found))


def _has(folders: Iterable[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, "cuda", "std", header)) for folder in folders)
