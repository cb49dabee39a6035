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
    "-gpu-code": "-code",
    "-generate-code": "-gencode",
    "-compiler-bindir": "-ccbin",
    "-compiler-options": "-Xcompiler",
    "-ptxas-options": "-Xptxas",
    "-define-macro": "-D",
    "-undefine-macro": "-U",
    "-include-path": "-I",
    "-include-directory": "-I",
    "-include-directory-after": "-idirafter",
    "-library-path": "-L",
    "-pre-include": "-include",
    "-system-include": "-isystem",
    "-options-file": "-optf",
    "-relocatable-device-code": "-rdc",
    "-device-c": "-dc",
    "-dlink-time-opt": "-dlto",
    "-lto": "-dlto",
    "-device-debug": "-G",
    "-generate-line-info": "-lineinfo",
}
# Their value may be the next item.
_VALUED = {
    *("-arch", "-code", "-gencode", "-ccbin", "-Xcompiler", "-Xptxas", "-Xlinker", "-Xnvlink"),
    *("-Xfatbin", "-compress-mode", "-static-global-template-stub"),
    *("-D", "-U", "-I", "-L", "-include", "-imacros", "-iquote", "-isystem", "-idirafter"),
    *("-optf", "-rdc", "-std", "-maxrregcount", "-ftz", "-prec-div", "-prec-sqrt", "-fmad"),
    *("-optimize", "-machine", "-threads", "-t"),
}
_JOINED = re.compile(
    r"(-(?:[DUIL]|isystem|iquote|idirafter|imacros)(?![=\s])|-[Omt](?=\d))(.+)", re.DOTALL
)
# They set what NVRTC does anyway, concern the host compiler, or are said by other arguments.
_NOT_FOR_NVRTC = {
    *("-O", "-m", "-t", "-optimize", "-machine", "-threads", "-Xcompiler", "-arch", "-gencode"),
    *("-expt-relaxed-constexpr", "-expt-extended-lambda", "-extended-lambda"),
    *("-Xfatbin", "-compress-mode", "-static-global-template-stub"),
}


_FIRST = ("-include", "-imacros")
_FOLDERS = ("-iquote", "-I", "-isystem", "-idirafter")  # in the order of the search
_PREPROCESSOR = (*_FIRST, *_FOLDERS, "-D", "-U")


class Option(NamedTuple):
    """One option: its short spelling and its value; and the items that it was given as."""

    name: str
    value: str
    items: tuple[str, ...]


def items(what: str, given: object) -> tuple[Any, ...]:
    """Return what a caller gave in a list or the like."""
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a sequence, got {given!r}; pass a list")
    return tuple(given)


def check_options(options: object) -> tuple[str, ...]:
    """Return a caller's options, which are strings, one an item."""
    given = items("options", options)
    for option in given:
        if not isinstance(option, str):
            raise TypeError(f"options must hold strings, got {type(option).__name__} {option!r}")
    return given


def read(options: object) -> Iterator[Option]:
    """Iterate over a caller's options; an option and its value may be one item or two."""
    rest = iter(check_options(options))
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
        elif separator.isspace():
            name, value = item, ""
        if name in _VALUED and not value.strip(","):
            # NVRTC would take the option after it, or end the process.
            raise ValueError(f"the option {spelled!r} has no value: give it one, or leave it out")
        yield Option(name, value, given)


def named_archs(options: object, archs: object = None) -> tuple[str, ...]:
    """Return the architectures that options or an argument name, none where neither does."""
    given = [] if archs is None else [check_archs(archs)]
    gencode: list[str] = []
    for name, value, _ in read(options):
        if name == "-arch" and value != "native":  # which is the default anyway
            given.append(check_archs(value, what="-arch"))
        elif name == "-gencode":
            virtual, _, real = value.replace("\\", "").partition(",code=")
            gencode += (real or virtual.removeprefix("arch=")).strip("\"'[]").split(",")
    if gencode:
        given.append(check_archs(gencode, what="-gencode"))
    different = dict.fromkeys(map(", ".join, given))
    if len(different) > 1:
        raise ValueError(
            f"the architecture is given twice: {' and '.join(different)}; give it once, as arch="
        )
    return given[0] if given else ()


def nvrtc_options(options: object) -> tuple[str, ...]:
    """Return a caller's options as NVRTC takes them, without those that name architectures."""
    kept: list[str] = []
    # nvcc has the host's preprocessor read both sides.
    of_both = (x for x in read(_host_options(options)) if x.name in _PREPROCESSOR)
    for name, value, given in (*read(options), *of_both):
        if name == "-Xptxas":  # NVRTC takes one at a time
            kept += (f"-Xptxas={part}" for part in _at_commas(value))
        elif name == "-isystem":
            kept.append(f"-I{value}")
        elif name == "-std":
            kept.append(f"-std={value}")
        elif name not in _NOT_FOR_NVRTC:
            kept += given
    return tuple(kept)


def without_separation(options: object) -> tuple[tuple[str, ...], bool]:
    """Return options without those that ask for separate compilation, and whether for LTO."""
    # nvcc has to be told; here it follows from the sources.
    given = [*read(options)]
    asking = ("-rdc", "-dc", "-dlink", "-dlto")
    kept = tuple(item for option in given if option.name not in asking for item in option.items)
    return kept, any(option.name == "-dlto" for option in given)


def link_options(options: object) -> tuple[str, ...]:
    """Return, as nvJitLink takes them, the options for NVRTC that matter to a link."""
    kept: list[str] = []
    for name, value, _ in read(options):
        if name == "-use_fast_math":
            kept += ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
        elif name in ("-G", "-lineinfo"):
            kept.append(name.replace("-G", "-g"))
        elif name == "-maxrregcount":
            kept.append(f"-maxrregcount={value}")
        elif name in ("-ftz", "-prec-div", "-prec-sqrt", "-fmad"):
            kept.append(f"{name.replace('fmad', 'fma')}={int(value == 'true')}")
        elif name == "-Xptxas":
            kept += (f"-Xptxas={part}" for part in _at_commas(value))
    return tuple(kept)


def _host_options(options: object) -> list[str]:
    """Return what `-Xcompiler` hands to the host compiler, which a shell reads before."""
    values = (x.value for x in read(options) if x.name == "-Xcompiler")
    return [word for value in values for part in _at_commas(value) for word in shlex.split(part)]


def _at_commas(value: str) -> list[str]:
    return [part for part in re.split(r"(?<!\\),", value.strip()) if part]


# What the preprocessor is told


class PreprocessorFlags(NamedTuple):
    """Pairs of gcc's spelling and value, in order; paths are absolute."""

    flags: tuple[tuple[str, str], ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """The header folders, in the order of the search."""
        return tuple(value for kind in _FOLDERS for name, value in self.flags if name == kind)

    @property
    def macros(self) -> dict[str, str]:
        """The macros that are defined, name to text."""
        found: dict[str, str] = {}
        for name, value in self.flags:
            macro, _, text = value.partition("=")
            if name == "-D":
                found[macro] = text or "1"
            elif name == "-U":
                found.pop(macro, None)
        return found

    @property
    def first(self) -> tuple[str, ...]:
        """The headers that come before the source."""
        return tuple(value for name, value in self.flags if name in _FIRST)

    @property
    def first_lines(self) -> str:
        """Lines that include the headers that come before the source."""
        return "".join(f'#include "{header}"\n' for header in self.first)

    @property
    def words(self) -> tuple[str, ...]:
        """The flags as gcc and clang take them."""
        return tuple(word for pair in self.flags for word in pair)


def preprocessor_flags(flags: Iterable[str]) -> PreprocessorFlags:
    """Return the preprocessor flags among `flags`, as nvcc, NVRTC or gcc spell them."""
    found = []
    given = tuple(flags)
    for name, value, _ in (*read(given), *read(_host_options(given))):
        if name in _PREPROCESSOR:
            # A header that comes first is looked for in the current folder first.
            is_path = name in _FOLDERS or (name in _FIRST and os.path.isfile(value))
            found.append((name, os.path.abspath(value) if is_path else value))
    return PreprocessorFlags(tuple(found))
