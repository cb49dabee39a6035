"""The caller's options that are about linking: taken out, or passed on to nvJitLink."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .nvrtc_options import check_options, split_at_commas

__all__ = ["check_link_options", "link_options", "take_out"]

_LTO = re.compile(r"-dlto|--dlink-time-opt")
# What nvcc has to be told, and follows from the sources here.
_SEPARATE = re.compile(
    r"-rdc=\w+|--relocatable-device-code=\w+|-dc|--device-c|-dlink|--device-link"
)
_SEPARATE_WITH_VALUE = ("-rdc", "--relocatable-device-code")

_FAST_MATH = re.compile(r"--?use_fast_math")
_DEBUG = re.compile(r"-G|--device-debug")
_LINE_INFO = re.compile(r"-lineinfo|--generate-line-info")
_REGISTERS = re.compile(r"--?maxrregcount(?:=(\d+))?")
_SWITCH = re.compile(r"--?(ftz|prec-div|prec-sqrt|fmad)(?:=(true|false))?")
# Options of nvJitLink's, or in its place of nvcc's, that `nvjitlink.link` has arguments for.
_ARGUMENTS = (
    (re.compile(r"--?(?:arch|gpu-architecture|gencode|generate-code)(?:[= ].*)?"), 'arch="sm_90a"'),
    (re.compile(r"--?(?:lto|dlto|dlink-time-opt)"), "lto=True"),
    (re.compile(r"--?ptx"), 'arch="compute_90", and LTO-IR'),
)
_PTXAS = re.compile(r"(?:-Xptxas|--ptxas-options)(?:=(.*))?", re.DOTALL)


def take_out(options: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Return options without those that ask for separate compilation, and whether for LTO."""
    kept: list[str] = []
    lto = False
    rest = iter(options)
    for option in rest:
        if _LTO.fullmatch(option):
            lto = True
        elif option in _SEPARATE_WITH_VALUE:
            next(rest, None)
        elif not _SEPARATE.fullmatch(option):
            kept.append(option)
    return tuple(kept), lto


def check_link_options(options: object) -> tuple[str, ...]:
    """Return a caller's options for nvJitLink.

    Raises
    ------
    TypeError
        They are no sequence of strings.
    ValueError
        One is no text, or says what an argument of `tvmffi_cubin.nvjitlink.link` is for.
    """
    checked = check_options(options)
    for option in checked:
        for pattern, argument in _ARGUMENTS:
            if pattern.fullmatch(option):
                raise ValueError(f"the option {option!r} is said by an argument: {argument}")
    return checked


def link_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return, in nvJitLink's words, the options for NVRTC that matter to a link, as nvcc does."""
    return tuple(_translated(iter(options)))


def _translated(options: Iterator[str]) -> Iterator[str]:
    for option in options:
        if _FAST_MATH.fullmatch(option):
            yield from ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
        elif _DEBUG.fullmatch(option):
            yield "-g"
        elif _LINE_INFO.fullmatch(option):
            yield "-lineinfo"
        elif match := _REGISTERS.fullmatch(option):
            yield f"-maxrregcount={match[1] or next(options, '')}"
        elif match := _SWITCH.fullmatch(option):
            name = "fma" if match[1] == "fmad" else match[1]
            yield f"-{name}={int((match[2] or next(options, '')) == 'true')}"
        elif match := _PTXAS.fullmatch(option):
            value = match[1] if match[1] is not None else next(options, "")
            yield from (f"-Xptxas={part}" for part in split_at_commas(value))
