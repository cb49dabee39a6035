"""The caller's flags for nvcc: one word each, paths absolute, and what they say by themselves."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence

from .arch import is_ptx

__all__ = [
    "compile_flags",
    "environment",
    "host_compiler",
    "is_separate",
    "link_flags",
    "names_archs",
    "read",
]

# What changes what nvcc makes, beside its arguments.
_VARIABLES = ("NVCC_APPEND_FLAGS", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS")

_CCBIN = ("-ccbin", "--compiler-bindir")
_ARCH = ("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code")
_ALIASES = {"-dc": "-rdc=true", "--device-c": "-rdc=true"}
_SEPARATE = ("-rdc", "--relocatable-device-code")
_LTO = ("-dlto", "--dlink-time-opt", "-lto", "--lto")
_FOLDERS = ("-I", "--include-path", "-isystem", "--system-include", "-L", "--library-path")
_FILES = ("-include", "--pre-include")
_OPTION_FILES = ("-optf", "--options-file")
# These take their value behind "=", or as the next word; callers also put both into one item.
_VALUED = {
    *(*_CCBIN, *_ARCH, *_SEPARATE, *_FOLDERS, *_FILES, *_OPTION_FILES),
    *("-D", "--define-macro", "-U", "--undefine-macro", "-std", "--std", "-O", "--optimize"),
    *("-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-Xnvlink"),
    *("--nvlink-options", "-Xcudafe", "-Xfatbin", "--fatbin-options", "-Xlinker"),
    *("--linker-options", "-Xarchive", "--archive-options", "-maxrregcount", "--maxrregcount"),
    *("-t", "--threads", "-split-compile", "--split-compile", "-diag-suppress"),
    *("--diag-suppress", "-diag-error", "--diag-error", "-diag-warn", "--diag-warn", "-m"),
    *("--machine", "-cudart", "--cudart", "-cudadevrt", "--cudadevrt", "-ftz", "--ftz"),
    *("-fmad", "--fmad", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt", "-Werror"),
    *("--Werror", "-default-stream", "--default-stream", "-idp", "--input-drive-prefix"),
    *("-l", "--library", "-x", "--x", "-opt-info", "--opt-info"),
}
_TWO_WORDS = re.compile(r"(--?[A-Za-z][\w-]*)\s+(\S.*)", re.DOTALL)


def read(flags: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's flags as nvcc takes them wherever it runs.

    An option and its value in one item are two words; relative paths of folders, and of headers
    that exist, are absolute; files of options are read; ``-dc`` is what it means for a compilation.
    ``-arch=native`` is left out: it is the architecture by default.

    Raises
    ------
    OSError
        A file of options cannot be read.
    """
    words: list[str] = []
    for flag in flags:
        match = _TWO_WORDS.fullmatch(flag)
        words += [match[1], match[2]] if match and match[1] in _VALUED else [flag]
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _VALUED and not equals:
            value = next(rest, "")
        if option in _OPTION_FILES:
            for path in value.split(","):
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    found += read(shlex.split(file.read(), comments=True))
        elif option not in _ARCH or value != "native":
            found += _absolute(word, None if equals or option not in _VALUED else value)
    return tuple(found)


def _absolute(word: str, value: str | None) -> tuple[str, ...]:
    """Return a word, and the next where that is its value, with absolute paths."""
    if value is not None:
        return word, _path(word, value)
    option, equals, rest = word.partition("=")
    if equals and option in (*_FOLDERS, *_FILES, *_CCBIN):
        return (f"{option}={_path(option, rest)}",)
    if len(word) > 2 and word.startswith(("-I", "-L")):
        return (f"{word[:2]}{_path(word[:2], word[2:])}",)
    return (_ALIASES.get(word, word),)


def _path(option: str, value: str) -> str:
    is_path = option in _FOLDERS
    # A header that is not here is looked for where headers are, a compiler on PATH.
    is_path |= option in _FILES and os.path.isfile(value)
    is_path |= option in _CCBIN and os.sep in value
    return os.path.abspath(value) if value and is_path else value


def environment() -> dict[str, str]:
    """Return the variables set now that change what nvcc makes; they belong in the key."""
    return {name: value for name in _VARIABLES if (value := os.environ.get(name))}


def host_compiler(flags: Sequence[str]) -> str | None:
    """Return the host compiler that flags or nvcc's own variables name; None where none does."""
    return _value(_all(flags), _CCBIN) or os.environ.get("NVCC_CCBIN") or None


def names_archs(flags: Sequence[str]) -> bool:
    """Whether flags or nvcc's own variables name architectures."""
    return _value(_all(flags), _ARCH) is not None


def is_separate(flags: Sequence[str]) -> bool:
    """Whether device code is yet to be linked when it is compiled."""
    given = _all(flags)
    return _value(given, _SEPARATE) == "true" or _is_lto(given)


def compile_flags(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return all flags of a compilation for architectures: the caller's, and ours before them.

    Parameters
    ----------
    flags : sequence of str
        The caller's, from `read`.
    archs : sequence of str
        Such as ``"sm_90a"``, or ``"compute_90"`` for PTX; none where the flags name them.
    """
    # It takes no -dlto beside -gencode, which says it in its own words.
    is_lto = bool(archs) and _is_lto(flags)
    rest = [flag for flag in flags if flag not in _LTO] if is_lto else flags
    return (*_own_flags(flags), *_gencode(archs, "lto" if is_lto else "sm"), *rest)


def link_flags(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return all flags of a link of device code, as of `compile_flags`."""
    return (*_own_flags(flags), *_gencode(archs, "sm"), *flags)


def _own_flags(flags: Sequence[str]) -> list[str]:
    """Return this package's flags: those that the caller does not set."""
    given = _all(flags)
    ours = ["-Xcompiler=-fPIC"]
    if _value(given, ("-std", "--std")) is None:
        ours.append("-std=c++17")
    if not any(re.fullmatch(r"-O\d?|--optimize(=.*)?", flag) for flag in given):
        ours.append("-O2")
    if _is_lto(given) and _value(given, _SEPARATE) is None:
        ours.append("-rdc=true")
    return ours


def _gencode(archs: Sequence[str], real: str) -> list[str]:
    numbers = [arch.partition("_")[2] for arch in archs]
    kinds = ["compute" if is_ptx(arch) else real for arch in archs]
    made = zip(numbers, kinds, strict=True)
    return [f"-gencode=arch=compute_{number},code={kind}_{number}" for number, kind in made]


def _is_lto(flags: Sequence[str]) -> bool:
    return any(flag in _LTO for flag in flags)


def _all(flags: Sequence[str]) -> list[str]:
    """Return flags in the order in which they count: of some, nvcc takes the last."""
    before, after = (_words(name) for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"))
    return [*before, *flags, *after]


def _words(variable: str) -> list[str]:
    try:
        return shlex.split(os.environ.get(variable, ""))
    except ValueError:
        return []  # nvcc says what is wrong with it


def _value(flags: Sequence[str], options: Sequence[str]) -> str | None:
    """Return the value that options were given last."""
    found = None
    rest = iter(flags)
    for flag in rest:
        option, equals, value = flag.partition("=")
        if option in options:
            found = value if equals else next(rest, "")
    return found
