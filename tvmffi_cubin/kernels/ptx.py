"""Reads PTX text: its version, its target, its kernels and what they declare.

Registers and local memory are the driver's to decide when it compiles the text; they count as 0.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from ..errors import ImageError
from .cubin import Kernel, Parameter
from .nv_info import DeviceSymbol

# Each pattern here takes time in proportion to the text, whatever the text is.
_SKIPPED = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\n]*"?', re.DOTALL)
_VERSION = re.compile(r"\s*\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+(sm_\d+[af]?)")
_ENTRY = re.compile(r"\.entry\s+([\w$%.@]+)")
_HEAD = re.compile(r"\s*(?:\(([^)]*)\))?([^{};]*)\{")
_SHARED = re.compile(r"\.shared\s+((?:\.\w+\s+(?:\d+\s+)?){1,4})[\w$%.@]+((?:\[\d+\]){0,3})\s*[;=]")
_ARRAY = re.compile(r"\[(\d{1,9})\]")
_SCALAR = re.compile(r"\.(?:[busf](8|16|32|64|128)|b?f16(x2)?|pred|texref|samplerref|surfref)\b")
# The second .align, after .ptr, is what a pointer points to.
_PARAMETER = re.compile(
    r"\s*\.param\s+(?:\.align\s+(\d{1,9})\s+)?(\.\w+)"
    r"(?:\s+\.ptr(?:\s+\.(?:global|const|local|shared|param))?(?:\s+\.align\s+\d{1,9})?)?"
    r"\s+[\w$%]+\s*(?:\[\s*(\d{1,9})\s*\]\s*)?\Z"
)


class ParsedPtx(NamedTuple):
    """What PTX text says of itself."""

    version: tuple[int, int]  # of the language: a driver compiles what it knows, and older ones
    target: str  # the oldest architecture that it may be compiled for, such as "sm_90"
    kernels: tuple[Kernel, ...]


def parse(data: bytes) -> ParsedPtx:
    """Parse PTX text, with or without the NUL character that ends it for the driver."""
    text = _SKIPPED.sub(" ", data.partition(b"\0")[0].decode("utf-8", "replace"))
    version = _VERSION.match(text)
    target = _TARGET.search(text)
    if version is None or target is None:
        raise ImageError("not PTX: it does not begin with .version and .target")
    return ParsedPtx((int(version[1]), int(version[2])), target[1], tuple(_kernels(text)))


def ptx_symbols(data: bytes) -> tuple[DeviceSymbol, ...]:
    """Return the functions and variables of PTX that other units see."""
    text = data.decode("utf-8", "replace")
    linkage = r"^[ \t]*\.(visible|weak|extern)\s+\."
    code = linkage + r"(func|entry)\s+(?:\([^)]*\)\s*)?([\w$]+)"
    variable = linkage + r"(global|const)\b[^;=]*?([\w$]+)\s*(?:\[\d*\]\s*)*[;=]"
    kinds = {"func": "function", "entry": "kernel", "global": "__device__", "const": "__constant__"}
    return tuple(
        DeviceSymbol(name, how != "extern", "weak" if how == "weak" else "shared", kinds[kind], 0)
        for pattern in (code, variable)
        for how, kind, name in re.findall(pattern, text, re.MULTILINE)
    )


def _kernels(text: str) -> Iterator[Kernel]:
    bodies = list(_bodies(text))
    starts = [start for start, _ in bodies]
    index_of = {start: index for index, start in enumerate(starts)}
    entries = list(_ENTRY.finditer(text))
    heads = {}
    ends = [*(entry.start() for entry in entries[1:]), len(text)]
    for entry, end in zip(entries, ends, strict=False):
        head = _HEAD.match(text, entry.end(), end)
        # Without a body it is a declaration.
        if head is not None and head.end() - 1 in index_of:
            heads[index_of[head.end() - 1]] = (entry[1], head)
    # What is declared outside of the kernels' bodies may be used by each of them.
    common, own = 0, dict.fromkeys(heads, 0)
    for match in _SHARED.finditer(text):
        index = bisect_right(starts, match.start()) - 1
        size = _size(match[1]) * prod(int(count) for count in _ARRAY.findall(match[2]))
        if index in own and match.start() < bodies[index][1]:
            own[index] += size
        else:
            common += size
    for index, (name, head) in heads.items():
        yield _kernel(name, head, common + own[index])


def _bodies(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the outermost pairs of braces."""
    depth = start = 0
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            start = match.start() if depth == 0 else start
            depth += 1
        elif depth > 0:
            depth -= 1
            if depth == 0:
                yield start, match.end()
    if depth > 0:
        raise ImageError("corrupt PTX: a body does not end")


def _kernel(name: str, head: re.Match[str], shared: int) -> Kernel:
    directives = head[2]
    if ".param" in directives:
        raise ImageError(f"corrupt PTX: the parameters of {name[:60]!r} are in no brackets")
    required = _dimensions("reqntid", directives)
    cluster = _dimensions("reqnctapercluster", directives)
    threads = prod(required or _dimensions("maxntid", directives) or (1024,))
    return Kernel(
        name=name,
        params=tuple(_parameters(head[1] or "")),
        registers=0,
        static_smem_bytes=shared,
        local_bytes=0,
        max_threads=threads if 0 < threads <= 1024 else 1024,
        required_block=required,
        cluster=cluster,
        grid_in_clusters=".blocksareclusters" in directives and prod(cluster or (1,)) > 1,
    )


def _dimensions(directive: str, text: str) -> tuple[int, int, int] | None:
    number = r"(\d{1,9})\b"
    match = re.search(rf"\.{directive}\s+{number}(?:\s*,\s*{number})?(?:\s*,\s*{number})?", text)
    if match is None:
        return None
    x, y, z = (int(number or 1) for number in match.groups())
    return x, y, z


def _parameters(text: str) -> Iterator[Parameter]:
    offset = 0
    for ordinal, part in enumerate(text.split(",") if text.strip() else ()):
        # A size that is read otherwise than the driver reads it would be memory that is not there.
        declared = _PARAMETER.match(part)
        if declared is None:
            raise ImageError(f"corrupt PTX: {part.strip()[:60]!r} declares no parameter")
        scalar = _size(declared[2])
        offset += -offset % max(1, int(declared[1] or scalar))
        size = scalar * int(declared[3] or 1)
        yield Parameter(ordinal, offset, size)
        offset += size


def _size(declaration: str) -> int:
    """Return the size of a declaration's scalar type in bytes."""
    match = _SCALAR.search(declaration)
    if match is None:
        raise ImageError(f"corrupt PTX: {declaration.strip()[:60]!r} declares no known type")
    if match[1]:
        return int(match[1]) // 8
    if "f16" in match[0]:
        return 4 if match[2] else 2
    return 1 if match[0] == ".pred" else 8
