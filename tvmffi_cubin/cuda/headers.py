"""Which of our headers for NVRTC declare names that device code uses without including them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .nvrtc import shim_dir

_MEMBER = re.compile(r"\bstd\s*::\s*(\w+)")
_WORD = re.compile(r"\b[A-Za-z]\w*")
_TEMPLATE = re.compile(r"\b(\w+)\s*<(?!<)")
_USING_STD = re.compile(r"\busing\s+namespace\s+(?:::\s*)?std\b")
_OWN_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_STD = re.compile(r"\bnamespace\s+std\s*\{")
_BRACE = re.compile(r"[{}]")
# Not what is specialised, of which the name goes on with its arguments.
_DEFINED = re.compile(r"\b(?:struct|class|using|bool)\s+(\w+)\s*[{:=]")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda/std/)?(\w+)[>\"]", re.MULTILINE)
# What a header declares begins in the first column.
_DECLARED = re.compile(
    r"^(?:struct|enum class|using) (?:::)?(?P<name>\w+)"
    r"|^inline constexpr \w+ (?P<constant>\w+)"
    r"|^TVMFFI_CUBIN_TRAIT\((?P<trait>\w+)"
    r"|^(?!struct|template|using|typedef|[ #/}])[^\n(]*?\b(?P<function>\w+)\(",
    re.MULTILINE,
)
_BRINGS = re.compile(r"^// Brings:((?:[^\n]*\n//)*[^\n]*)", re.MULTILINE)
_PLAIN = re.compile(
    r"^[ ]*#define (?P<macro>[A-Za-z]\w+)\b[^\n]|^(?:typedef\b[^\n]*|}) (?P<type>\w+);",
    re.MULTILINE,
)
_UNKNOWN = re.compile(
    r'namespace "std" has no member (?:\w+ )?"(?P<member>\w+)"'
    r'|identifier "(?P<word>\w+)" is undefined'
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


class _Names(NamedTuple):
    """Which header has a name: members of ``std``, and what is outside of it."""

    members: Mapping[str, str]
    plain: Mapping[str, str]
    by_cccl: frozenset[str]


def headers_for(
    texts: Iterable[str], folders: Sequence[str], code_alone: Callable[[str], str]
) -> tuple[str, ...]:
    """Return the headers that a source wants to have been included before it.

    nvcc's own headers, tvm-ffi's and those of the host that a source includes bring names that
    NVRTC does not have; what is included by these is not known, so names alone decide. `code_alone`
    blanks comments and literals.
    """
    texts = [*texts]
    names = _names()
    found = _found(texts, names)
    included = {name for text in texts for name in _INCLUDE.findall(text)}
    if found & names.by_cccl:
        # These take long to compile: a comment is no reason for one. A source that includes one
        # itself may say before how it wants it.
        found = _found([*map(code_alone, texts)], names) - (names.by_cccl & included)
        lacking = {header for header in found & names.by_cccl if not _has(folders, header)}
        found -= lacking
    if _ITERATOR in found | included:
        found.discard(_RANGES)
    return tuple(sorted(found))


def header_hints(log: str) -> Iterator[str]:
    """Iterate over which headers bring the names that a log of NVRTC's lacks."""
    names = _names()
    for match in _UNKNOWN.finditer(log):
        name = match["member"] or match["word"]
        header = (names.members if match["member"] else names.plain).get(name)
        if header is not None:
            header = _ITERATOR if header == _RANGES else header
            yield f"{name} is in <{header}>: add #include <{header}>"


def _has(folders: Iterable[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, "cuda", "std", header)) for folder in folders)


def _found(texts: Sequence[str], names: _Names) -> set[str]:
    """Return the headers of all names in some texts, but for macros that these define."""
    words = {word for text in texts for word in _WORD.findall(text)}
    members = {name for text in texts for name in _MEMBER.findall(text)}
    if any(map(_USING_STD.search, texts)):
        templates = {name for text in texts for name in _TEMPLATE.findall(text)}
        wary = {*names.by_cccl, _RANGES}
        kept = {name for name, header in names.members.items() if header in wary}
        members |= (words - kept) | templates
    own = {name for text in texts for name in _OWN_MACRO.findall(text)}
    found = {names.plain[word] for word in (words & names.plain.keys()) - own}
    found |= {names.members[name] for name in members & names.members.keys()}
    # A source may be written for NVRTC, too, with what that lacks.
    return found - {names.members.get(name) for text in texts for name in _own_members(text)}


def _own_members(text: str) -> Iterator[str]:
    """Yield what a text defines in ``std`` itself."""
    for begin in _STD.finditer(text):
        depth, end = 1, len(text)
        for brace in _BRACE.finditer(text, begin.end()):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = brace.start()
                break
        yield from _DEFINED.findall(text[begin.end() : end])


@functools.cache
def _names() -> _Names:
    members: dict[str, str] = {}
    plain: dict[str, str] = {}
    by_cccl = set()
    for path in sorted(shim_dir().iterdir()):
        header = _PART_OF.get(path.name, path.name)
        if not path.is_file() or header in _LEFT_OUT or header.startswith("tvmffi_cubin_"):
            continue
        text = path.read_text(encoding="utf-8")
        if "<cuda/std/" in text:
            by_cccl.add(header)
            declared = _BRINGS.search(text)
            for name in declared[1].replace("//", " ").split() if declared else ():
                members.setdefault(name, header)
        elif "." in header and header != _RANGES:
            for match in _PLAIN.finditer(text):
                plain.setdefault(match["macro"] or match["type"], header)
        else:
            for name in _declared(text):
                members.setdefault(name, header)
    kept = {name: header for name, header in plain.items() if not name.startswith("TVMFFI_")}
    return _Names(members, kept, frozenset(by_cccl))


def _declared(text: str) -> Iterator[str]:
    for match in _DECLARED.finditer(text):
        name = match["name"] or match["constant"] or match["trait"] or match["function"]
        if name.startswith(("__", "TVMFFI_")) or name in ("namespace", "operator"):
            continue
        yield name
        if match["trait"]:
            yield f"{name}_v"
