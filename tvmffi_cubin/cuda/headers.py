"""Which of our headers for NVRTC declare names that device code uses without including them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .nvrtc import shim_dir

# What a header declares begins in the first column.
_DECLARED = re.compile(
    r"^(?:struct|enum class|using) (?:::)?(?P<name>\w+)"
    r"|^inline constexpr \w+ (?P<constant>\w+)"
    r"|^TVMFFI_CUBIN_TRAIT\((?P<trait>\w+)"
    r"|^(?!struct|template|using|typedef|[ #/}])[^\n(]*?\b(?P<function>\w+)\(",
    re.MULTILINE,
)
_PLAIN = re.compile(
    r"^[ ]*#define (?!TVMFFI_)([A-Za-z]\w+)\b[^\n]|^(?:typedef\b[^\n]*|}) (\w+);", re.MULTILINE
)
# They come with the prelude; and what nvcc does not have without an include, either.
_LEFT_OUT = ("cmath", "math.h", "cuda.h")
_PART_OF = {
    "math_promotions.h": "cmath",
    "type_traits_more.h": "type_traits",
    "type_traits_names.h": "type_traits",
}
# Stands for CCCL's header. Its functions are named as variables often are.
_RANGES, _ITERATOR = "range_access.h", "iterator"


class Names(NamedTuple):
    """Which header has a name: members of ``std``, and what is outside of it."""

    members: dict[str, str]
    plain: dict[str, str]
    by_cccl: set[str]

    def header_of(self, member: str, word: str) -> str | None:
        """Return the header to include for a member of ``std``, or for a word outside of it."""
        if word == "CUtensorMap":
            return "cuda.h"
        header = self.members.get(member) or self.plain.get(word)
        return _ITERATOR if header == _RANGES else header


def headers_for(texts: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Return the headers that a source wants to have been included before it.

    nvcc's own headers, tvm-ffi's and those of the host that a source includes bring names that
    NVRTC does not have; what is included by these is not known, so names alone decide.
    """
    text = "\n".join(texts)
    names = std_names()
    include = r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]"
    included = set(re.findall(include, text, re.MULTILINE))
    found = _found(text, names)
    # A source that includes one of CCCL's itself may say before how it wants it.
    found -= {x for x in found & names.by_cccl if x in included or not _has(folders, x)}
    if _ITERATOR in found | included:
        found.discard(_RANGES)
    return tuple(sorted(found))


def _has(folders: Iterable[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, "cuda", "std", header)) for folder in folders)


def _found(text: str, names: Names) -> set[str]:
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


@functools.cache
def std_names() -> Names:
    """Return the names that our headers for NVRTC declare."""
    names = Names({}, {}, set())
    for path in sorted(shim_dir().iterdir()):
        header = _PART_OF.get(path.name, path.name)
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
                name = match["name"] or match["constant"] or match["trait"] or match["function"]
                if not name.startswith(("__", "TVMFFI_")) and name not in ("namespace", "operator"):
                    names.members.setdefault(name, header)
                if match["trait"]:
                    names.members.setdefault(f"{name}_v", header)
    return names
