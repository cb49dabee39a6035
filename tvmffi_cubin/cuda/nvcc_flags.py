"""The caller's flags for nvcc: one word each, paths absolute, and what they say by themselves."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from .arch import is_ptx

_BEFORE, _BEHIND, _HOST = "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"
_CCBIN = ("-ccbin", "--compiler-bindir")
# For which architectures of -arch there is code.
_CODE = ("-code", "--gpu-code")
_CODES = (*_CODE, "-gencode", "--generate-code")
_ARCH = ("-arch", "--gpu-architecture", *_CODES)
_ALIASES = {"-dc": "-rdc=true", "--device-c": "-rdc=true"}
_SEPARATE = ("-rdc", "--relocatable-device-code")
_LTO = ("-dlto", "--dlink-time-opt", "-lto", "--lto")
_FOLDERS = ("-I", "--include-path", "-isystem", "--system-include", "-L", "--library-path")
_FILES = ("-include", "--pre-include")
_OPTION_FILES = ("-optf", "--options-file")
# These take their value behind "=", or as the next word; callers also put both into one item.
_VALUED = {
    *(*_CCBIN, *_ARCH, *_SEPARATE, *_FOLDERS, *_FILES, *_OPTION_FILES),
    *("-D", "--define-macro", "-U", "--undefine-macro", "-std", "--std", "-O", "--optimize", "-l"),
    *("-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-Xnvlink", "-Xlinker"),
    *("-Xcudafe", "-Xfatbin", "-maxrregcount", "--maxrregcount", "-t", "--threads", "-cudart"),
    *("-diag-suppress", "--diag-suppress", "-ftz", "-fmad", "-prec-div", "-prec-sqrt", "-Werror"),
    *("-default-stream", "--default-stream"),
}
_TWO_WORDS = re.compile(r"(--?[A-Za-z][\w-]*)\s+(\S.*)", re.DOTALL)


def with_variables(flags: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's flags with those of nvcc's own variables around them, as nvcc puts them.

    nvcc runs in a folder of the build, without these variables: relative paths in them would be
    others there, and a GPU that is there is nobody's architecture.
    """
    before, behind = (shlex.split(os.environ.get(name, "")) for name in (_BEFORE, _BEHIND))
    host = os.environ.get(_HOST, "")
    # Only a path is another in another folder; a name is found on PATH by nvcc itself.
    named = ("-ccbin", host) if os.sep in host and not os.path.isabs(host) else ()
    return (*named, *before, *flags, *behind)


def read(flags: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's flags as nvcc takes them wherever it runs.

    An option and its value in one item are two words; relative paths of folders, and of headers
    that exist, are absolute; files of options are read; ``-dc`` is what it means for a compilation.
    ``-arch=native`` is left out: it is the architecture by default.
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
    return {name: value for name in (_HOST,) if (value := os.environ.get(name))}


def host_compiler(flags: Sequence[str]) -> str | None:
    """Return the host compiler that flags or nvcc's own variable name; None where none does."""
    return _value(flags, _CCBIN) or os.environ.get(_HOST) or None


def arch_values(flags: Sequence[str]) -> list[tuple[str, str]]:
    """Return the options of flags that name architectures, with their values."""
    return list(_values(flags, _ARCH))


def told(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return what is said of the architectures of a module: `archs`, or what flags name instead.

    That is what code is made for: ``-gencode``'s ``code``, ``-code``, or else ``-arch``.
    """
    if archs:
        return tuple(archs)
    given = arch_values(flags)
    pairs = [value.partition("code=")[2] for option, value in given if "code=" in value]
    codes = [value for option, value in given if option in _CODE]
    plain = [value for option, value in given if option not in _CODE and "=" not in value]
    found = [word for text in (*pairs, *(codes or plain)) for word in re.split(r"[\s\[\],]+", text)]
    return tuple(dict.fromkeys(word.replace("lto_", "sm_") for word in found if word))


def is_separate(flags: Sequence[str]) -> bool:
    """Whether device code is yet to be linked when it is compiled."""
    return _value(flags, _SEPARATE) == "true" or _is_lto(flags)


def compile_flags(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return all flags of a compilation for architectures: the caller's, and ours before them."""
    is_lto = _is_lto(flags)
    # It takes no -dlto beside -gencode and -code, which say it in their own words.
    if is_lto and (archs or _value(flags, _CODES) is not None):
        flags = _with_code([flag for flag in flags if flag not in _LTO], "sm_", "lto_")
    return (*_own_flags(flags, is_lto), *_gencode(archs, "lto" if is_lto else "sm"), *flags)


def link_flags(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return all flags of a link of device code, as of `compile_flags`."""
    is_lto = _is_lto(flags)
    if is_lto:
        given = [flag for flag in flags if flag not in _LTO]
        flags = [*_with_code(given, "lto_", "sm_"), "-dlto"]
    return (*_own_flags(flags, is_lto), *_gencode(archs, "sm"), *flags)


def _with_code(flags: Sequence[str], old: str, new: str) -> list[str]:
    """Return flags that name architectures for which there is code, of another kind of code."""
    found = []
    rest = iter(flags)
    for flag in rest:
        option, equals, value = flag.partition("=")
        if option in _CODES:
            value = (value if equals else next(rest, "")).replace(old, new)
            flag = f"{option}={value}"
        found.append(flag)
    return found


def _own_flags(flags: Sequence[str], is_lto: bool) -> list[str]:
    """Return this package's flags: those that the caller does not set."""
    ours = ["-Xcompiler=-fPIC"]
    if _value(flags, ("-std", "--std")) is None:
        ours.append("-std=c++17")
    if not any(re.fullmatch(r"-O\d?|--optimize(=.*)?", flag) for flag in flags):
        ours.append("-O2")
    if is_lto and _value(flags, _SEPARATE) is None:
        ours.append("-rdc=true")
    return ours


def _gencode(archs: Sequence[str], real: str) -> list[str]:
    numbers = [arch.partition("_")[2] for arch in archs]
    kinds = ["compute" if is_ptx(arch) else real for arch in archs]
    made = zip(numbers, kinds, strict=True)
    return [f"-gencode=arch=compute_{number},code={kind}_{number}" for number, kind in made]


def _is_lto(flags: Sequence[str]) -> bool:
    return any(flag in _LTO for flag in flags) or any("lto_" in x for _, x in arch_values(flags))


def _value(flags: Sequence[str], options: Sequence[str]) -> str | None:
    """Return the value that options were given last."""
    return next((value for _, value in reversed([*_values(flags, options)])), None)


def _values(flags: Sequence[str], options: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(flags)
    for flag in rest:
        option, equals, value = flag.partition("=")
        if option in options:
            yield option, value if equals else next(rest, "")
