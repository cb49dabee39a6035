"""Options of a caller's: as NVRTC knows them, which architectures they name, what a link takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .arch import check_archs

_ARCH = ("-arch", "--gpu-architecture")
_GENCODE = ("-gencode", "--gencode", "-generate-code", "--generate-code")
STD = ("-std", "--std")
_PTXAS = ("-Xptxas", "--ptxas-options")
_SYSTEM = ("-isystem", "--system-include")
_SEPARATE = ("-rdc", "--relocatable-device-code")
_SWITCHES = ("-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt", "-fmad")
# Their value may be the next item.
_VALUED = {
    *(*_ARCH, *_GENCODE, *STD, *_PTXAS, *_SYSTEM, *_SEPARATE, *_SWITCHES, "--fmad"),
    *("-I", "--include-path", "-include", "--pre-include", "-Xcompiler", "--compiler-options"),
    *("-D", "--define-macro", "-U", "--undefine-macro", "-maxrregcount", "--maxrregcount"),
    *("--threads", "--optimize", "--machine"),
}
# Options of nvcc that set what NVRTC does anyway, or the host compiler that it does not have.
_IGNORED = (
    r"-O[123]|--optimize|-m64|--machine|--?expt-relaxed-constexpr|--?(?:expt-)?extended-lambda"
    r"|-t\d+|--threads|-Xcompiler|--compiler-options"
)


def check_options(options: object) -> tuple[str, ...]:
    """Return a caller's options, which are strings, one an item."""
    if isinstance(options, (str, bytes)) or not isinstance(options, Sequence):
        raise TypeError(f"options must be a sequence of strings, got {options!r}; pass a list")
    for option in options:
        if not isinstance(option, str):
            raise TypeError(f"options must hold strings, got {type(option).__name__} {option!r}")
    return tuple(options)


def _read(options: object) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield name, value and items of each option; callers also put both into one item."""
    rest = iter(check_options(options))
    for item in rest:
        words = re.fullmatch(r"(--?[\w-]+)\s+(.+)", item, re.DOTALL)
        if words is not None and words[1] in _VALUED:
            yield words[1], words[2], words.groups()
            continue
        name, equals, value = item.partition("=")
        if equals or name not in _VALUED:
            yield name, value, (item,)
            continue
        value = next(rest, "")
        if not value:  # it would take one of ours
            raise ValueError(f"the option {item!r} has no value: give it one, or leave it out")
        yield name, value, (item, value)


def caller_options(options: object) -> tuple[str, ...]:
    """Return the caller's options as NVRTC knows them, without those that mean nothing to it."""
    kept: list[str] = []
    for name, value, items in _read(options):
        if name in _PTXAS:
            # NVRTC takes one at a time, and ends the process where there is none.
            parts = _at_commas(value)
            if not parts:
                raise ValueError(f"the option {name!r} has no value: give it one, or leave it out")
            kept += (f"{name}={part}" for part in parts)
        elif name in STD:  # NVRTC takes no value of it in the next item
            kept.append(f"-std={value}")
        elif name.startswith(_SYSTEM):
            # It has no meaning of its own where nothing warns about headers.
            kept.append(f"-I{value or name.removeprefix('-isystem')}")
        elif not re.fullmatch(_IGNORED, name):
            kept += items
    return tuple(kept)


def _at_commas(value: str) -> list[str]:
    """Return the options that the value of ``-Xptxas`` holds, as nvcc does, without empty ones."""
    return [part for part in re.split(r"(?<!\\),", value.strip()) if part]


def named_archs(options: object, archs: object = None) -> tuple[str, ...]:
    """Return the architectures that the options or the argument name, none where neither does.

    nvcc's ``-gencode`` names them as its ``-arch`` and ``-code`` do.
    """
    gencode: list[str] = []
    given = [] if archs is None else [check_archs(archs)]
    for name, value, _ in _read(options):
        if name in _ARCH:
            given.append(check_archs(value, what="-arch"))
        elif name in _GENCODE:
            virtual, _, real = value.replace("\\", "").partition(",code=")
            gencode += (real or virtual.removeprefix("arch=")).strip("\"'[]").split(",")
    given += [check_archs(gencode, what="-gencode")] if gencode else []
    different = dict.fromkeys(map(", ".join, given))
    if len(different) > 1:
        raise ValueError(
            f"the architecture is given twice: {' and '.join(different)}; give it once, as arch="
        )
    return given[0] if given else ()


def without_archs(options: object) -> tuple[str, ...]:
    """Return the caller's options for NVRTC, without those that name architectures."""
    known = _read(caller_options(options))
    return tuple(x for name, _, items in known if name not in (*_ARCH, *_GENCODE) for x in items)


def standards(options: object) -> list[str]:
    """Return the language standards that the options name, such as ``"c++20"``."""
    return [value for name, value, _ in _read(options) if name in STD]


# Links


def without_separation(options: object) -> tuple[tuple[str, ...], bool]:
    """Return options without those that ask for separate compilation, and whether for LTO."""
    # nvcc has to be told; here it follows from the sources.
    told = (*_SEPARATE, "-dc", "--device-c", "-dlink", "--device-link")
    lto = ("-dlto", "--dlink-time-opt")
    given = [*_read(options)]
    kept = tuple(x for name, _, items in given if name not in (*told, *lto) for x in items)
    return kept, any(name in lto for name, _, _ in given)


def link_options(options: object) -> tuple[str, ...]:
    """Return, in nvJitLink's words, the options for NVRTC that matter to a link, as nvcc does."""
    kept: list[str] = []
    for name, value, _ in _read(options):
        short = name.replace("--", "-")
        if short == "-use_fast_math":
            kept += ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
        elif name in ("-G", "--device-debug"):
            kept.append("-g")
        elif name in ("-lineinfo", "--generate-line-info"):
            kept.append("-lineinfo")
        elif short == "-maxrregcount":
            kept.append(f"-maxrregcount={value}")
        elif short in _SWITCHES:
            kept.append(f"{short.replace('fmad', 'fma')}={int(value == 'true')}")
        elif name in _PTXAS:
            kept += (f"-Xptxas={part}" for part in _at_commas(value))
    return tuple(kept)
