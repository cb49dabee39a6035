"""A caller's options of NVRTC, nvcc or gcc, read in one place whichever way they are spelled."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .arch import check_archs

_SHORT = {
    "-gpu-architecture": "-arch",
    "-generate-code": "-gencode",
    "-compiler-bindir": "-ccbin",
    "-compiler-options": "-Xcompiler",
    "-ptxas-options": "-Xptxas",
    "-define-macro": "-D",
    "-undefine-macro": "-U",
    "-include-path": "-I",
    "-pre-include": "-include",
    "-system-include": "-isystem",
    "-relocatable-device-code": "-rdc",
    "-device-c": "-dc",
    "-dlink-time-opt": "-dlto",
    "-lto": "-dlto",
    "-device-debug": "-G",
    "-generate-line-info": "-lineinfo",
}
_FOLDERS = ("-iquote", "-I", "-isystem", "-idirafter")  # in the order of the search
_PREPROCESSOR = ("-include", *_FOLDERS, "-D", "-U")
# They concern nvcc or the host compiler, or are said by other arguments.
_OF_NVCC = (
    *("-arch", "-gencode", "-Xcompiler", "-Xfatbin", "-compress-mode", "-threads", "-t"),
    *("-static-global-template-stub", "-optimize", "-machine"),
)
_NOT_FOR_NVRTC = (
    *(*_OF_NVCC, "-O", "-m", "-expt-relaxed-constexpr", "-expt-extended-lambda"),
    # The last two it is told anyway, and before 12.9 refuses to hear twice.
    *("-extended-lambda", "-default-device", "-device-as-default-execution-space"),
)
# Their value may be the next item.
_VALUED = (
    *(*_PREPROCESSOR, *_OF_NVCC, "-ccbin", "-Xptxas", "-Xlinker", "-Xnvlink", "-L", "-rdc", "-std"),
    *("-maxrregcount", "-ftz", "-prec-div", "-prec-sqrt", "-fmad"),
)
_JOINED = re.compile(r"(-(?:[DUIL]|isystem|iquote|idirafter)(?![=\s])|-[Omt](?=\d))(.+)", re.DOTALL)


class Option(NamedTuple):
    """One option: its short spelling and its value; and the items that it was given as."""

    name: str
    value: str
    items: tuple[str, ...]


def items(what: str, given: object) -> tuple[Any, ...]:
    """Return what a caller gave in a list or the like."""
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a sequence, got {type(given).__name__}; pass a list")
    return tuple(given)


def read(options: object) -> Iterator[Option]:
    """Iterate over a caller's options; an option and its value may be one item or two."""
    rest = iter(items("options", options))
    for item in rest:
        if joined := _JOINED.fullmatch(item):
            yield Option(joined[1], joined[2], (item,))
            continue
        spelled, separator, value = (*re.split(r"(=|\s+)", item, maxsplit=1), "", "")[:3]
        name = f"-{spelled.lstrip('-')}" if spelled.startswith("-") else spelled
        name = _SHORT.get(name, name)
        given: tuple[str, ...] = (item,)
        if name in _VALUED and separator != "=":
            value = value or next(rest, "")
            given = (spelled, value)
        if name in _VALUED and not value.strip(","):
            # NVRTC would take the option after it, or end the process.
            raise ValueError(f"the option {spelled!r} has no value: give it one, or leave it out")
        yield Option(name, value, given)


def values(options: object) -> dict[str, str]:
    """Return the values of options by their short spellings; the last of a name counts."""
    return {option.name: option.value for option in read(options)}


def named_archs(options: object, archs: object = None) -> tuple[str, ...]:
    """Return the architectures that options or an argument name, none where neither does."""
    found: list[str] = []
    for name, value, _ in read(options):
        if name == "-arch" and value != "native":  # which is the default anyway
            found.append(value)
        elif name == "-gencode":
            found += re.findall(r"\w+_\w+", value.partition(",code=")[2] or value)
    named = check_archs(found, what="options") if found else ()
    given = () if archs is None else check_archs(archs)
    if given and named and given != named:
        both = f"{', '.join(given)} and {', '.join(named)}"
        raise ValueError(f"the architecture is given twice: {both}; give it once, as arch=")
    return given or named


def nvrtc_options(options: object) -> tuple[str, ...]:
    """Return a caller's options in NVRTC's words, ``-isystem``, which it lacks, among them."""
    kept: list[str] = []
    for name, value, given in _read_by_both(options):
        if name == "-Xptxas":  # NVRTC takes one at a time
            kept += (f"-Xptxas={part}" for part in value.split(",") if part)
        elif name in ("-isystem", "-std"):
            kept.append(f"{name}={value}")
        elif name not in _NOT_FOR_NVRTC:
            kept += given
    return tuple(kept)


def without_separation(options: object) -> tuple[tuple[str, ...], bool]:
    """Return options without those that ask for separate compilation, and whether for LTO."""
    # nvcc has to be told; here it follows from the sources.
    kept = (x.items for x in read(options) if x.name not in ("-rdc", "-dc", "-dlto"))
    return tuple(item for given in kept for item in given), "-dlto" in values(options)


def link_options(options: object) -> tuple[str, ...]:
    """Return, as nvJitLink takes them, the options for NVRTC that matter to a link."""
    kept: list[str] = []
    for name, value, _ in read(options):
        if name == "-use_fast_math":
            kept += ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
        elif name in ("-G", "-lineinfo"):
            kept.append(name.replace("-G", "-g"))
        elif name in ("-ftz", "-prec-div", "-prec-sqrt", "-fmad"):
            kept.append(f"{name.replace('fmad', 'fma')}={int(value == 'true')}")
        elif name in ("-maxrregcount", "-Xptxas"):
            kept += (f"{name}={part}" for part in value.split(",") if part)
    return tuple(kept)


def _read_by_both(options: object) -> Iterator[Option]:
    """Iterate over options; `-Xcompiler`'s for the preprocessor concern device code, too."""
    of_host: list[str] = []
    for option in read(options):
        yield option
        if option.name == "-Xcompiler":
            of_host += shlex.split(option.value.replace(",", " "))
    yield from (option for option in read(of_host) if option.name in _PREPROCESSOR)


class PreprocessorFlags(NamedTuple):
    """What the preprocessor is told; paths are absolute."""

    words: tuple[str, ...]  # as gcc and clang take them
    folders: tuple[str, ...]  # of headers, in the order of the search
    first_lines: str  # the macros, and the headers that come before the source


def preprocessor_flags(flags: Iterable[str]) -> PreprocessorFlags:
    """Return the preprocessor flags among `flags`, as nvcc, NVRTC or gcc spell them."""
    pairs: list[tuple[str, str]] = []
    for name, value, _ in _read_by_both(flags):
        # A header that comes first is looked for in the current folder first.
        if name in _FOLDERS or (name == "-include" and os.path.isfile(value)):
            value = os.path.abspath(value)
        if name in _PREPROCESSOR:
            pairs.append((name, value))
    words = tuple(word for pair in pairs for word in pair)
    folders = tuple(value for kind in _FOLDERS for name, value in pairs if name == kind)
    lines = [f"#define {value.replace('=', ' ', 1)}\n" for name, value in pairs if name == "-D"]
    lines += (f'#include "{value}"\n' for name, value in pairs if name == "-include")
    return PreprocessorFlags(words, folders, "".join(lines))
