"""NVRTC's log made readable: the caller's own lines with their numbers, and what may help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .arch import is_ptx, number_of
from .demangle import demangle

__all__ = ["LAUNCHES_ON_DEVICE", "annotate", "hints", "warns"]

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

_NO_DEVICE_RUNTIME = "device-side kernel launch could not be processed"

_LOCATED = re.compile(r"(?P<name>.+?)\((?P<line>\d+)\): ")
_WRONG_TARGET = re.compile(r"(?:not supported on|requires) \.target '?(sm_\d+[af]?)")
# <cuda/barrier> declares it, too, and leaves it incomplete.
_NO_TENSOR_MAP = re.compile(
    r'identifier "CUtensorMap" is undefined|incomplete type "CUtensorMap_st"'
)
_UNRESOLVED = re.compile(r"(Unresolved extern (?:function|variable)) '([^']+)'")


def annotate(log: str, *, name: str, source: str) -> str:
    """Return a log in which each diagnostic about the caller's file shows its lines, numbered.

    Parameters
    ----------
    log : str
        NVRTC's log.
    name : str
        The name under which NVRTC knows the caller's source.
    source : str
        That source; diagnostics past its end and in other files stay as they are.
    """
    # A #line directive moves the numbers away from the text at hand.
    moved = re.search(r"^\s*#\s*(line\b|\d)", source, re.MULTILINE)
    lines = [] if moved else source.split("\n")
    # The assembler knows symbols alone.
    log = _UNRESOLVED.sub(lambda match: f"{match[1]} '{demangle(match[2])}'", log)
    return "\n".join(_annotated(log.split("\n"), name, lines))


def _annotated(log: list[str], name: str, source: list[str]) -> Iterator[str]:
    index = 0
    while index < len(log):
        line = log[index]
        index += 1
        yield line
        match = _LOCATED.match(line)
        if match is None or match["name"] != name:
            continue
        number = int(match["line"])
        if not 0 < number <= len(source):
            continue
        caret = None
        if _is_echo(log[index : index + 2], source[number - 1]):
            # The echo is the line with two blanks before it; the caret under it is, too.
            caret = log[index + 1].index("^") - (len(log[index]) - len(log[index].lstrip()))
            index += 2
        yield from _context(source, number, caret)


def _is_echo(following: list[str], line: str) -> bool:
    if len(following) < 2 or following[1].strip() != "^":
        return False
    return following[0].split() == line.split()


def _context(source: list[str], number: int, caret: int | None) -> Iterator[str]:
    width = len(str(number))
    if number > 1 and source[number - 2].strip():
        yield f"  {number - 1:>{width}} | {source[number - 2].rstrip()}"
    line = source[number - 1].rstrip()
    yield f"> {number:>{width}} | {line}"
    if caret is not None:
        words = line.lstrip()
        indent = line[: len(line) - len(words)]
        # NVRTC counts bytes, and puts a tab under a tab.
        before = words.encode(errors="surrogateescape")[:caret].decode(errors="ignore")
        spaces = "".join(x if x == "\t" else " " for x in before)
        yield f"  {'':>{width}} | {indent}{spaces}^"


def hints(log: str, *, arch: str) -> tuple[str, ...]:
    """Return what a log's errors suggest to do.

    Parameters
    ----------
    log : str
        NVRTC's log.
    arch : str
        The architecture compiled for.
    """
    found = []
    target = _WRONG_TARGET.search(log)
    if target is not None and number_of(arch) >= 90 and arch[-1].isdigit():
        found.append(
            f"an instruction needs more than PTX for {arch} may use; leave that out of arch="
            if is_ptx(arch)
            else f'an instruction needs more than {arch}; try arch="{arch}a"'
        )
    if _NO_TENSOR_MAP.search(log):
        found.append("CUtensorMap is in <cuda.h>: add #include <cuda.h>")
    if _NO_DEVICE_RUNTIME in log:
        found.append(LAUNCHES_ON_DEVICE)
    for name in dict.fromkeys(match[2] for match in _UNRESOLVED.finditer(log)):
        found.append(
            f"{demangle(name)} is declared and not defined: define it in this source, or link what "
            "defines it (another of cuda_sources, device_libraries=, nvjitlink.link)"
        )
    return tuple(found)


def warns(log: str, *, headers: Iterable[str]) -> bool:
    """Return whether a log warns of anything outside the folders of NVIDIA's own headers."""
    known = tuple(headers)
    return any(
        "warning" in line.lower() and not line.startswith(known)
        for line in log.split("\n")
        if not line.startswith("Remark:")
    )
