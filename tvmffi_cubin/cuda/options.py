"""Reads a caller's options for NVRTC, nvcc or gcc in all their spellings."""

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
_FOLDERS = ("-iquote", "-I", "-isystem", "-idirafter")  # in search order
_PREPROCESSOR = ("-include", *_FOLDERS, "-D", "-U")
# These are for nvcc or the host compiler, or other arguments replace them.
_OF_NVCC = (
    *("-arch", "-gencode", "-Xcompiler", "-Xfatbin", "-compress-mode", "-threads", "-t"),
    *("-static-global-template-stub", "-optimize", "-machine"),
)
_NOT_FOR_NVRTC = (
    *(*_OF_NVCC, "-O", "-m", "-expt-relaxed-constexpr", "-expt-extended-lambda"),
    # The last two are always passed, and before 12.9 NVRTC rejects them if repeated.
    *("-extended-lambda", "-default-device", "-device-as-default-execution-space"),
)
# The value of these may be the next item.
_VALUED = (
    *(*_PREPROCESSOR, *_OF_NVCC, "-ccbin", "-Xptxas", "-Xlinker", "-Xnvlink", "-L", "-rdc", "-std"),
    *("-maxrregcount", "-ftz", "-prec-div", "-prec-sqrt", "-fmad"),
)
_JOINED = re.compile(r"(-(?:[DUIL]|isystem|iquote|idirafter)(?![=\s])|-[Omt](?=\d))(.+)", re.DOTALL)


class Option(NamedTuple):
    """An option: its short spelling, its value, and the items that spelled it."""

    name: str
    value: str
    items: tuple[str, ...]


def items(what: str, given: object) -> tuple[Any, ...]:
    """Return the items of a caller's list or other iterable."""
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
            # NVRTC would take the next option as the value, or terminate the process.
            raise ValueError(f"the option {spelled!r} has no value: set one, or remove the option")
        yield Option(name, value, given)


def values(options: object) -> dict[str, str]:
    """Return the values of options by short spelling; the last one of a name wins."""
    return {option.name: option.value for option in read(options)}


def named_archs(options: object, archs: object = None) -> tuple[str, ...]:
    """Return the architectures that the options or an argument name; empty if neither does."""
    found: list[str] = []
    for name, value, _ in read(options):
        if name == "-arch" and value != "native":  # the default
            found.append(value)
        elif name == "-gencode":
            found += re.findall(r"\w+_\w+", value.partition(",code=")[2] or value)
    named = check_archs(found, what="options") if found else ()
    given = () if archs is None else check_archs(archs)
    if given and named and given != named:
        both = f"{', '.join(given)} and {', '.join(named)}"
        raise ValueError(f"conflicting architectures: {both}; set them only once, as arch=")
    return given or named


def nvrtc_options(options: object) -> tuple[str, ...]:
    """Return a caller's options in NVRTC's spelling, plus ``-isystem``, which NVRTC lacks."""
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
    """Return options without those for separate compilation, and whether they ask for LTO."""
    # nvcc needs these options; here they follow from the sources.
    kept = (x.items for x in read(options) if x.name not in ("-rdc", "-dc", "-dlto"))
    return tuple(item for given in kept for item in given), "-dlto" in values(options)


def link_options(options: object) -> tuple[str, ...]:
    """Return the NVRTC options that affect a link, in nvJitLink's spelling."""
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
    """Iterate over options, then over `-Xcompiler`'s preprocessor options, for device code too."""
    of_host: list[str] = []
    for option in read(options):
        yield option
        if option.name == "-Xcompiler":
            of_host += shlex.split(option.value.replace(",", " "))
    yield from (option for option in read(of_host) if option.name in _PREPROCESSOR)


class PreprocessorFlags(NamedTuple):
    """The preprocessor's flags; paths are absolute."""

    words: tuple[str, ...]  # as gcc and clang take them
    folders: tuple[str, ...]  # header folders, in search order
    first_lines: str  # the macros, and the headers to include before the source


def preprocessor_flags(flags: Iterable[str]) -> PreprocessorFlags:
    """Return the preprocessor flags among `flags`, as nvcc, NVRTC or gcc spell them."""
    pairs: list[tuple[str, str]] = []
    for name, value, _ in _read_by_both(flags):
        # A pre-included header is searched in the current folder first.
        if name in _FOLDERS or (name == "-include" and os.path.isfile(value)):
            value = os.path.abspath(value)
        if name in _PREPROCESSOR:
            pairs.append((name, value))
    words = tuple(word for pair in pairs for word in pair)
    folders = tuple(value for kind in _FOLDERS for name, value in pairs if name == kind)
    lines = [f"#define {value.replace('=', ' ', 1)}\n" for name, value in pairs if name == "-D"]
    lines += (f'#include "{value}"\n' for name, value in pairs if name == "-include")
    return PreprocessorFlags(words, folders, "".join(lines))
