"""Reads PTX text: its architecture, its kernels and what they declare."""

from __future__ import annotations

import re
from math import prod

from ..errors import ImageError
from .cubin import Kernel


def arch(data: bytes) -> str:
    """Return the minimum architecture of PTX, such as ``"compute_90"``; "" for anything else."""
    start = r"\s*\.version\s+\d+\.\d+\s+\.target\s+sm_(\d+[af]?)"
    match = re.match(start, _uncommented(data[:8192]))  # after the banner
    return f"compute_{match[1]}" if match else ""


def kernels(data: bytes) -> tuple[Kernel, ...]:
    """Return the kernels of PTX."""
    # An entry without a body is a declaration.
    entries = r"\.entry\s+([\w$%.@]+)\s*(?:\(([^)]*)\))?([^{};]*)\{"
    return tuple(_kernel(*match.groups()) for match in re.finditer(entries, _uncommented(data)))


def defined(data: bytes) -> list[str]:
    """Return the functions and variables that PTX defines for other units."""
    pattern = (
        r"^[ \t]*\.visible\s+\.(?:(?:func|entry)\s+(?:\([^)]*\)\s*)?([\w$]+)"
        r"|(?:global|const)\b[^;=]*?([\w$]+)\s*(?:\[\d*\]\s*)*[;=])"
    )
    found = re.findall(pattern, _uncommented(data), re.MULTILINE)
    return [*dict.fromkeys(name or variable for name, variable in found)]


def _uncommented(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", text, flags=re.DOTALL)


def _kernel(name: str, params: str | None, directives: str) -> Kernel:
    shapes: dict[str, tuple[int, int, int]] = {}
    for directive, numbers in re.findall(r"\.(\w+)\s+(\d[\d\s,]*)", directives):
        shapes[directive] = (*map(int, numbers.split(",")), 1, 1)[:3]  # type: ignore[assignment]
    required, cluster = shapes.get("reqntid"), shapes.get("reqnctapercluster")
    return Kernel(
        name=name,
        param_sizes=tuple(_size(x) for x in (params or "").split(",") if x.strip()),
        max_threads=min(prod(required or shapes.get("maxntid") or (1024,)), 1024),
        required_block=required,
        cluster=cluster,
        grid_in_clusters=".blocksareclusters" in directives and prod(cluster or (1,)) > 1,
    )


def _size(param: str) -> int:
    # The words after .ptr describe what the pointer points to.
    pattern = (
        r"\s*\.param\s+(?:\.align\s+\d+\s+)?\.(?:[busf]|bf)(\d+)(x2)?\s+(?:\.ptr\s[.\w\s]*\s)?"
        r"[\w$%]+\s*(?:\[\s*(\d+)\s*\]\s*)?"
    )
    declared = re.fullmatch(pattern, param)
    # If the driver read a different size, a launch would access memory out of bounds.
    if declared is None:
        raise ImageError(f"corrupt PTX: cannot parse the parameter {param.strip()[:60]!r}")
    return int(declared[1]) // 8 * (2 if declared[2] else 1) * int(declared[3] or 1)
