"""NVRTC's log made readable: the caller's own lines with their numbers, and what may help."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from .arch import is_ptx, number_of
from .kernels.demangle import demangle

__all__ = ["LAUNCHES_ON_DEVICE", "annotate", "hints", "warns", "without_deprecations"]

LAUNCHES_ON_DEVICE = (
    "kernels that launch kernels are linked with CUDA's device runtime: pass "
    'device_libraries=["cudadevrt"] to load_inline or load'
)
"""What is missing where device code launches."""

_NO_DEVICE_RUNTIME = "device-side kernel launch could not be processed"

_LOCATED = re.compile(r"(?P<name>.+?)\((?P<line>\d+)\): ")
# What begins a diagnostic; notes belong to the one before, and a blank line ends all.
_BEGINS = re.compile(
    r"(?P<file>.+?)\(\d+\): (?:catastrophic )?(?:error|warning|remark)\b(?P<words>.*)"
)
_DEPRECATED = re.compile(r" #(?:1215|1444)-D:")
_SUPPRESSION = re.compile(r"^Remark: The warnings can be suppressed .*\n?", re.MULTILINE)
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
        number = int(match["line"]) if match is not None and match["name"] == name else 0
        if not 0 < number <= len(source):
            if match is None and _is_caret(log[index : index + 1]):
                yield f"{_under(line, len(log[index]) - 1)}^"
                index += 1
            continue
        caret = None
        if _is_echo(log[index : index + 2], source[number - 1]):
            # The echo is the line with two blanks before it; the caret under it is, too.
            caret = log[index + 1].index("^") - (len(log[index]) - len(log[index].lstrip()))
            index += 2
        yield from _context(source, number, caret)


def _is_echo(following: list[str], line: str) -> bool:
    return _is_caret(following[1:]) and following[0].split() == line.split()


def _is_caret(lines: list[str]) -> bool:
    return bool(lines) and lines[0].strip() == "^" and lines[0].endswith("^")


def _under(words: str, caret: int) -> str:
    """Return the blanks up to a caret: NVRTC counts bytes, and puts a tab under a tab."""
    before = words.encode(errors="surrogateescape")[:caret].decode(errors="ignore")
    return "".join(x if x == "\t" else " " for x in before)


def _context(source: list[str], number: int, caret: int | None) -> Iterator[str]:
    width = len(str(number))
    if number > 1 and source[number - 2].strip():
        yield f"  {number - 1:>{width}} | {source[number - 2].rstrip()}"
    line = source[number - 1].rstrip()
    yield f"> {number:>{width}} | {line}"
    if caret is not None:
        words = line.lstrip()
        indent = line[: len(line) - len(words)]
        yield f"  {'':>{width}} | {indent}{_under(words, caret)}^"


def without_deprecations(log: str, *, headers: Iterable[str]) -> str:
    """Return a log without what NVIDIA's own headers use that they have deprecated themselves.

    nvcc is silent about headers of the system. Such uses in the caller's files stay.

    Parameters
    ----------
    log : str
        NVRTC's log.
    headers : iterable of str
        The folders of those headers.
    """
    known = tuple(f"{folder}{os.sep}" for folder in headers)
    kept: list[str] = []
    is_kept = True
    lines = log.split("\n")
    for line in lines:
        begins = _BEGINS.match(line)
        if begins is not None:
            is_theirs = begins["file"].startswith(known)
            is_kept = not (is_theirs and _DEPRECATED.match(begins["words"]))
        if is_kept:
            kept.append(line)
        is_kept = is_kept or not line
    if len(kept) == len(lines):
        return log
    text = "\n".join(kept)
    return (text if "): warning #" in text else _SUPPRESSION.sub("", text)).strip("\n")


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
