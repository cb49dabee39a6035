"""Reads PTX text: its architecture, its kernels and what they declare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from ..errors import ImageError
from .cubin import Kernel, SharedSymbol

_HEAD = 8192  # bytes enough for the banner


def arch(data: bytes) -> str:
    """Return the oldest architecture that PTX may be compiled for, such as ``"compute_90"``."""
    start = r"\s*\.version\s+\d+\.\d+\s+\.target\s+sm_(\d+[af]?)"
    match = re.match(start, _code(data[:_HEAD]))
    if match is None:
        raise ImageError("not PTX: it does not begin with .version and .target")
    return f"compute_{match[1]}"


def kernels(data: bytes) -> tuple[Kernel, ...]:
    """Return the kernels of PTX, with or without the NUL character that ends it for the driver."""
    # Without a body it is a declaration.
    entries = r"\.entry\s+([\w$%.@]+)\s*(?:\(([^)]*)\))?([^{};]*)\{"
    return tuple(_kernel(*match.groups()) for match in re.finditer(entries, _code(data)))


def shared_symbols(data: bytes) -> list[SharedSymbol]:
    """Return the functions and variables that PTX defines for other units."""
    pattern = (
        r"^[ \t]*\.visible\s+\.(?:(?:func|entry)\s+(?:\([^)]*\)\s*)?([\w$]+)"
        r"|(?:global|const)\b[^;=]*?([\w$]+)\s*(?:\[\d*\]\s*)*[;=])"
    )
    found = re.findall(pattern, _code(data), re.MULTILINE)
    names = dict.fromkeys(name or variable for name, variable in found)
    return [SharedSymbol(name, is_defined=True) for name in names]


def _code(data: bytes) -> str:
    """Return PTX without comments and strings."""
    text = data.partition(b"\0")[0].decode("utf-8", "replace")
    return re.sub(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\n]*"?', " ", text, flags=re.DOTALL)


def _kernel(name: str, params: str | None, directives: str) -> Kernel:
    shapes: dict[str, tuple[int, int, int]] = {}
    for directive, numbers in re.findall(r"\.(\w+)\s+(\d[\d\s,]*)", directives):
        shapes[directive] = (*map(int, numbers.split(",")), 1, 1)[:3]  # type: ignore[assignment]
    required, cluster = shapes.get("reqntid"), shapes.get("reqnctapercluster")
    return Kernel(
        name=name,
        param_sizes=tuple(_sizes(params or "")),
        registers=0,
        static_smem_bytes=0,
        local_bytes=0,
        max_threads=min(prod(required or shapes.get("maxntid") or (1024,)), 1024),
        required_block=required,
        cluster=cluster,
        grid_in_clusters=".blocksareclusters" in directives and prod(cluster or (1,)) > 1,
    )


def _sizes(text: str) -> Iterator[int]:
    # The second .align, after .ptr, is what a pointer points to.
    pattern = (
        r"\s*\.param\s+(?:\.align\s+\d{1,9}\s+)?\.(?:[busf]|bf)(8|16|32|64|128)(x2)?"
        r"(?:\s+\.ptr(?:\s+\.(?:global|const|local|shared|param))?(?:\s+\.align\s+\d{1,9})?)?"
        r"\s+[\w$%]+\s*(?:\[\s*(\d{1,9})\s*\]\s*)?\Z"
    )
    for part in text.split(",") if text.strip() else ():
        # A size that is read otherwise than the driver reads it would be memory that is not there.
        declared = re.match(pattern, part)
        if declared is None:
            raise ImageError(f"corrupt PTX: {part.strip()[:60]!r} declares no known parameter")
        yield int(declared[1]) // 8 * (2 if declared[2] else 1) * int(declared[3] or 1)
