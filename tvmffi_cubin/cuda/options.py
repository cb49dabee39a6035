"""Options: what NVRTC is given, ours and the caller's, and what of them matters to a link."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .arch import check_archs

_ARCH = ("-arch", "--gpu-architecture")
_GENCODE = ("-gencode", "--gencode", "-generate-code", "--generate-code")
_STD = ("-std", "--std")
_PTXAS = ("-Xptxas", "--ptxas-options")
_INCLUDE = ("-I", "--include-path", "-isystem", "--system-include", "-include", "--pre-include")
_MACRO = ("-D", "--define-macro", "-U", "--undefine-macro")
# As an item of their own they take the next one, and the last of all would take one of ours.
_VALUED = (*_ARCH, *_GENCODE, *_STD, *_PTXAS, *_INCLUDE, *_MACRO, "-maxrregcount", "--maxrregcount")
_KIND_OPTIONS = {
    "cubin": (),
    "relocatable": ("--relocatable-device-code=true",),
    "ltoir": ("-dlto",),
    "ptx": (),
}
_RANDOM_SEED = ("-frandom-seed", "--frandom-seed")
_DEFAULT_DEVICE = ("-default-device", "--device-as-default-execution-space")
# Options of nvcc that set what NVRTC does anyway, or the host compiler that it does not have.
_IGNORED = (
    r"-O[123]|--optimize=[123]|-m64|--machine=64"
    r"|--?expt-relaxed-constexpr|--?expt-extended-lambda|--?extended-lambda"
    r"|-t\d+|--threads=\d+|(?:-Xcompiler|--compiler-options)[=\s].*"
)
_IGNORED_WITH_VALUE = ("-Xcompiler", "--compiler-options", "--threads", "--optimize")


def caller_options(options: object) -> tuple[str, ...]:
    """Return the caller's options as NVRTC knows them, without those that mean nothing to it."""
    given = check_options(options)
    for index, option in enumerate(given, 1):
        # NVRTC ends the process where one of these has no value.
        is_empty = re.fullmatch(r"(?:-Xptxas|--ptxas-options)=[\s,]*|--?dopt=\s*", option)
        if is_empty or (index == len(given) and option in _VALUED):
            raise ValueError(f"the option {option!r} has no value: give it one, or leave it out")
    return tuple(_for_nvrtc(iter(given)))


def check_options(options: object) -> tuple[str, ...]:
    """Return a caller's options, if a compiler can be given them."""
    if isinstance(options, (str, bytes)) or not isinstance(options, Sequence):
        raise TypeError(
            f"options must be a sequence of strings, got {type(options).__name__} {options!r}; "
            "pass a list, one option an item"
        )
    for option in options:
        if not isinstance(option, str):
            raise TypeError(f"options must hold strings, got {type(option).__name__} {option!r}")
        if "\0" in option:
            raise ValueError(f"the option {option!r} holds a NUL character")
    return tuple(options)


def _for_nvrtc(options: Iterator[str]) -> Iterator[str]:
    for option in options:
        if option in _IGNORED_WITH_VALUE:
            next(options, None)
        elif match := re.fullmatch(r"--?default-stream(?:[=\s]\s*(.*))?", option):
            _check_default_stream(match[1] or next(options, ""))
        elif system := re.fullmatch(r"(?:-isystem|--system-include)=?(.*)", option, re.DOTALL):
            # It has no meaning of its own where nothing warns about headers.
            yield f"-I{system[1] or next(options, '')}"
        elif option in _PTXAS:
            # Its value may look like an option that is left out: -Xptxas -O3.
            value = next(options, "")
            for part in split_at_commas(value) or [value]:
                yield from (option, part)
        elif option.startswith(tuple(f"{name}=" for name in _PTXAS)):
            name, _, value = option.partition("=")
            yield from (f"{name}={part}" for part in split_at_commas(value))
        elif words := re.fullmatch(r"(--?(?:gencode|generate-code))\s+(.+)", option, re.DOTALL):
            yield f"{words[1]}={words[2]}"
        elif not re.fullmatch(_IGNORED, option, re.DOTALL):
            yield option


def _check_default_stream(value: str) -> None:
    """Refuse another default stream than CUDA's legacy one, which launches without one go to."""
    if value not in ("legacy", "null"):
        raise ValueError(
            f"--default-stream={value}: a launch without a stream goes to CUDA's legacy default "
            'stream: write cudaStreamPerThread as its stream, or pass compiler="nvcc"'
        )


def split_at_commas(value: str) -> list[str]:
    """Return the options that the value of ``-Xptxas`` holds, as nvcc does, without empty ones."""
    return [part for part in re.split(r"(?<!\\),", value) if part]


def named_archs(options: Sequence[str], archs: object = None) -> tuple[str, ...]:
    """Return the architectures that the options or the argument name, none where neither does.

    nvcc's ``-gencode`` names them as its ``-arch`` and ``-code`` do.
    """
    items = _items(options)
    gencode = [arch for name, value, _ in items if name in _GENCODE for arch in _gencode(value)]
    given = [check_archs(value, what="-arch") for name, value, _ in items if name in _ARCH]
    given += [check_archs(gencode, what="-gencode")] if gencode else []
    given += [] if archs is None else [check_archs(archs)]
    different = list(dict.fromkeys(map(", ".join, given)))
    if len(different) > 1:
        raise ValueError(
            f"the architecture is given twice: {' and '.join(different)}; give it once, as arch="
        )
    return given[0] if given else ()


def without_archs(options: object) -> tuple[str, ...]:
    """Return the caller's options, from `caller_options`, without those that name architectures."""
    items = _items(caller_options(options))
    return tuple(p for name, _, parts in items if name not in (*_ARCH, *_GENCODE) for p in parts)


def _gencode(value: str) -> list[str]:
    # One virtual architecture, and what is made of it, quoted or not.
    whole = r"""arch=compute_(\d+[af]?)(?:,code=["'\[]?([\w,]+)["'\]]?)?"""
    match = re.fullmatch(whole, value.replace("\\", ""))
    if match is None:
        raise ValueError(
            f"-gencode {value}: wanted is arch=compute_80,code=sm_80 or the like, with "
            "code=compute_80 for PTX and code=[sm_80,compute_80] for both"
        )
    virtual = match[1]
    archs = (match[2] or f"compute_{virtual}").split(",")
    for arch in archs:
        kind, _, number = arch.partition("_")
        if kind not in ("sm", "compute"):
            raise ValueError(f"-gencode {value}: an image holds sm_ and compute_ code, no {arch}")
        if number != virtual:
            raise ValueError(
                f"-gencode {value}: NVRTC makes {arch} of compute_{number} alone; "
                f"write arch=compute_{number}"
            )
    return archs


def standards(options: Iterable[str]) -> list[str]:
    """Return the language standards that the options name, such as ``"c++20"``."""
    return [value for name, value, _ in _items(options) if name in _STD]


def compile_options(
    *,
    arch: str,
    options: Sequence[str],
    shims: Path,
    include_paths: Iterable[Path],
    cuda_includes: Iterable[Path],
    target_type: str = "cubin",
) -> tuple[str, ...]:
    """Return all options in the order that NVRTC gets them: our headers come before all others."""
    items = _items(options)
    given = standards(options)
    if len(set(given)) > 1:
        raise ValueError(f"two language standards are given: {' and '.join(given)}; give one -std=")
    ours = [f"-arch={arch}", *_KIND_OPTIONS[target_type]]
    ours += ["-default-device", f"-std={(given or ['c++17'])[0]}"]
    ours += [f"-I{shims}", f"--pre-include={shims}/tvmffi_cubin_prelude.h"]
    kept = [
        part
        for name, _, parts in items
        if name not in (*_ARCH, *_GENCODE, *_STD, *_DEFAULT_DEVICE)
        for part in parts
    ]
    folders = [f"-I{folder}" for folder in (*include_paths, *cuda_includes)]
    return (*ours, *kept, *folders)


def random_seed(options: Sequence[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return the option by which a unit's own symbols are called alike whenever it is compiled.

    Where nothing of a unit can be seen from outside, NVRTC calls what is static or in an unnamed
    namespace after the time and the process, unless it is given a seed.
    """
    items = _items(options)
    if any(name in _RANDOM_SEED for name, _, _ in items):
        return ()
    same = [p for name, _, parts in items if name not in (*_ARCH, *_GENCODE) for p in parts]
    text = "\0".join((*texts, *same))
    return (f"-frandom-seed={zlib.crc32(text.encode('utf-8', 'surrogateescape')):08x}",)


def _items(options: Iterable[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return name, value and spelling of each option, a value in the next item taken along."""
    result = []
    rest = iter(options)
    for option in rest:
        name, equals, value = option.partition("=")
        parts: tuple[str, ...] = (option,)
        if name in (*_ARCH, *_GENCODE, *_STD) and not equals:
            value = next(rest, "")
            parts = (option, value)
        result.append((name, value, parts))
    return result


# Links


def without_separation(options: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Return options without those that ask for separate compilation, and whether for LTO."""
    # nvcc has to be told; here it follows from the sources.
    separate = r"-rdc=\w+|--relocatable-device-code=\w+|-dc|--device-c|-dlink|--device-link"
    kept: list[str] = []
    lto = False
    rest = iter(options)
    for option in rest:
        if option in ("-dlto", "--dlink-time-opt"):
            lto = True
        elif option in ("-rdc", "--relocatable-device-code"):
            next(rest, None)
        elif not re.fullmatch(separate, option):
            kept.append(option)
    return tuple(kept), lto


def check_link_options(options: object) -> tuple[str, ...]:
    """Return a caller's options for nvJitLink."""
    arguments = {
        r"--?(?:arch|gpu-architecture|gencode|generate-code)(?:[= ].*)?": 'arch="sm_90a"',
        r"--?(?:lto|dlto|dlink-time-opt)": "lto=True",
        r"--?ptx": 'arch="compute_90", and LTO-IR',
    }
    checked = check_options(options)
    for option in checked:
        for pattern, argument in arguments.items():
            if re.fullmatch(pattern, option):
                raise ValueError(f"the option {option!r} is said by an argument: {argument}")
    return checked


def link_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return, in nvJitLink's words, the options for NVRTC that matter to a link, as nvcc does."""
    return tuple(_for_link(iter(options)))


def _for_link(options: Iterator[str]) -> Iterator[str]:
    for option in options:
        name, equals, value = option.partition("=")
        if name in ("-use_fast_math", "--use_fast_math"):
            yield from ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
        elif name in ("-G", "--device-debug"):
            yield "-g"
        elif name in ("-lineinfo", "--generate-line-info"):
            yield "-lineinfo"
        elif name in ("-maxrregcount", "--maxrregcount"):
            yield f"-maxrregcount={value if equals else next(options, '')}"
        elif match := re.fullmatch("--?(ftz|prec-div|prec-sqrt|fmad)", name):
            value = value if equals else next(options, "")
            yield f"-{match[1].replace('fmad', 'fma')}={int(value == 'true')}"
        elif name in _PTXAS:
            value = value if equals else next(options, "")
            yield from (f"-Xptxas={part}" for part in split_at_commas(value))
