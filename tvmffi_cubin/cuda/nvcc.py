"""`Nvcc`: NVIDIA's own compiler: where it is, what it is, and the caller's flags for it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import config, identity, toolchain
from ..errors import ToolchainError
from ..identity import Answer
from ..key import file_digest
from .arch import is_ptx, resolve_archs

_DEFAULT = "/usr/local/cuda"
_RUNTIME = "libcudart_static.a"
# What nvcc starts, and what tells it where that is; one that is changed is asked about anew.
_PARTS = ("nvcc", "nvcc.profile", "cudafe++", "ptxas", "fatbinary", "nvlink")
_INSTALL = (
    "pip install nvidia-cuda-nvcc nvidia-cuda-cccl (CUDA 13's; CUDA 12's wheel of it has no nvcc "
    "in it), or set TVMFFI_CUBIN_NVCC to a toolkit's bin/nvcc"
)
_IN_PART = "nvcc is not installed in full: pip install"

# What is said of messages of nvcc's that do not say it themselves.
_HINTS = {
    r"unsupported (?:GNU|clang) version|unsupported.*host compiler": (
        "nvcc does not know this host compiler yet: set CXX to an older one, or give it to nvcc "
        "alone, extra_cuda_cflags=['-ccbin', 'g++-13']; or try this one, "
        "extra_cuda_cflags=['-allow-unsupported-compiler']"
    ),
    r"Unsupported gpu architecture|is not defined for option 'gpu-architecture'": (
        "this nvcc does not compile for that architecture (nvcc --list-gpu-code says for which it "
        "does): give arch= another, or set TVMFFI_CUBIN_NVCC to an nvcc of another CUDA"
    ),
    r"cicc: (?:not found|No such file)|nvvm/bin.*No such file": f"{_IN_PART} nvidia-nvvm",
    r"fatal error: (?:crt/\S+): No such file": f"{_IN_PART} nvidia-cuda-crt",
    r"fatal error: cuda_runtime\S*: No such file": f"{_IN_PART} nvidia-cuda-runtime",
    r"fatal error: (?:cub|cuda|thrust|nv)/\S+: No such file": (
        "these headers are a wheel of their own: pip install nvidia-cuda-cccl"
    ),
    r"requires? separate compilation|separate compilation mode": (
        "give nvcc the flag, extra_cuda_cflags=['-rdc=true']"
    ),
}

_BEFORE, _BEHIND, _HOST = "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"
_CCBIN = ("-ccbin", "--compiler-bindir")
# For which architectures of -arch there is code.
_CODE = ("-code", "--gpu-code")
_ARCH = ("-arch", "--gpu-architecture", *_CODE, "-gencode", "--generate-code")
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


class Nvcc(NamedTuple):
    """An nvcc, and what it says of itself.

    `identity` is its build, and that of the runtime library beside it: the same text on every
    machine. `root` is the folder that it is installed to, empty where that is one of the system's;
    `includes` its own header folders, ``cuda.h``'s first; `libraries` the folder of its runtime
    library, empty where there is none; `archs` what it compiles for, empty where it does not say;
    `host` what the host compiler that it starts is, where that is not the build's own.
    """

    path: str
    identity: str
    version: str
    root: str
    includes: tuple[str, ...]
    libraries: str
    archs: tuple[int, ...]
    host: str = ""

    @property
    def major(self) -> int:
        """The CUDA major version."""
        return int(self.version.partition(".")[0] or 0)

    @property
    def runtime(self) -> str:
        """Path of the static runtime library; empty where there is none."""
        return os.path.join(self.libraries, _RUNTIME) if self.libraries else ""


def find_nvcc() -> Nvcc:
    """Return the nvcc to use; spawns processes only where it is new to this user."""
    return describe(locate())


def locate() -> Path:
    """Return the path of nvcc.

    That is what ``TVMFFI_CUBIN_NVCC`` names; else the one in ``CUDA_HOME`` or ``CUDA_PATH``; on
    PATH; of NVIDIA's wheels; of ``/usr/local/cuda``.
    """
    if named := config.get("TVMFFI_CUBIN_NVCC"):
        path = toolchain.on_path(named)
        if path is None:
            raise ToolchainError(
                f"TVMFFI_CUBIN_NVCC={named!r}: there is no such program; unset it, or set it to "
                "an nvcc"
            )
        return path
    homes = filter(None, (config.get("CUDA_HOME"), config.get("CUDA_PATH")))
    places = [f"{home}/bin/nvcc" for home in homes]
    places += ["nvcc", *(f"{path}/nvidia/cu13/bin/nvcc" for path in sys.path if path)]
    found = next(filter(None, map(toolchain.on_path, (*places, f"{_DEFAULT}/bin/nvcc"))), None)
    if found is None:
        raise ToolchainError(
            'compiler="nvcc" needs nvcc, which is neither in CUDA_HOME nor CUDA_PATH, nor on '
            f"PATH, nor among NVIDIA's wheels, nor in {_DEFAULT}; run: {_INSTALL}; or leave out "
            'compiler="nvcc": NVRTC compiles most sources'
        )
    return found


def describe(path: Path) -> Nvcc:
    """Return what an nvcc says of itself, from memory or disk while its files are unchanged."""
    text = identity.remember(path, lambda: _ask(path), what="nvcc")
    said, version, root, includes, libraries, archs = text.split("\0")
    numbers = tuple(map(int, archs.split()))
    return Nvcc(str(path), said, version, root, tuple(includes.split("\n")), libraries, numbers)


def _ask(path: Path) -> Answer:
    said = _run([str(path), "--version"])
    release = re.search(r"release (\d+\.\d+)", said)
    if release is None:
        raise ToolchainError(
            f"{path} --version says no CUDA release, so it is no nvcc: {said.strip()[:200]!r}; set "
            "TVMFFI_CUBIN_NVCC to one"
        )
    # It says where it finds everything without compiling anything.
    dry = _run([str(path), "--dryrun", "-E", "-x", "cu", os.devnull])
    settings = dict(re.findall(r"^#\$ (\w+)=(.*)$", dry, re.MULTILINE))
    top = settings.get("TOP") or os.path.dirname(os.path.dirname(os.path.realpath(path)))
    top = os.path.realpath(top)
    here = settings.get("_HERE_", os.path.dirname(path))
    includes = [*_folders(settings.get("INCLUDES", ""), "-I")]
    includes += _folders(settings.get("SYSTEM_INCLUDES", ""), "-isystem")
    libraries = [*_folders(settings.get("LIBRARIES", ""), "-L"), f"{top}/lib64", f"{top}/lib"]
    runtime = next((x for x in libraries if os.path.isfile(f"{x}/{_RUNTIME}")), "")
    files = [f"{here}/{part}" for part in _PARTS]
    files += [f"{settings.get('CICC_PATH', here)}/cicc", f"{runtime}/{_RUNTIME}"]
    with open(path, "rb") as file:
        texts = [file_digest(str(path))] if file.read(2) == b"#!" else []
    texts += [file_digest(f"{runtime}/{_RUNTIME}")] if runtime else []
    lines = [x for x in said.splitlines() if x.startswith(("Cuda compilation", "Build "))]
    archs = re.findall(r"^sm_(\d+)$", _run([str(path), "--list-gpu-code"]), re.MULTILINE)
    answer = (
        "\n".join((*lines, *texts)),
        release[1],
        "" if top in ("/", "/usr", "/usr/local") else top,
        "\n".join(includes or [f"{top}/include"]),
        runtime,
        " ".join(archs),
    )
    return Answer("\0".join(answer), tuple(filter(os.path.isfile, files)))


def _run(command: Sequence[str]) -> str:
    from ..host_tools import run

    try:
        status, text = run(command)
    except OSError as error:
        raise ToolchainError(f"{command[0]} cannot be run: {error}; {_INSTALL}") from error
    if status != 0 and command[1] != "--list-gpu-code":
        raise ToolchainError(
            f"{' '.join(command)!r} failed with status {status}: "
            f"{text.strip() or 'it printed nothing'}; set TVMFFI_CUBIN_NVCC to an nvcc that works"
        )
    return text


def _folders(text: str, option: str) -> Iterator[str]:
    """Yield the folders behind an option, in the option's own word or in the next."""
    words = iter(shlex.split(text))
    for word in words:
        if word == option:
            yield os.path.normpath(next(words, "."))
        elif word.startswith(option):
            yield os.path.normpath(word[len(option) :])


def resolve(flags: Sequence[str], arch: Any, nvcc: Nvcc | None) -> tuple[str, ...]:
    """Return the architectures; none where flags name them, or none can be found out."""
    if arch_values(flags):
        if arch is not None:
            raise ValueError(
                f"the architecture is given twice: arch={arch!r}, and in nvcc's flags "
                "(extra_cuda_cflags, NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS); give it once"
            )
        return ()
    if arch is not None:
        return resolve_archs(arch)
    known = None if nvcc is None or not nvcc.archs else lambda: nvcc.archs
    try:
        return resolve_archs(known=known)
    except ToolchainError:
        # Whoever compiles asks again, and passes the error on.
        return ()


def hints(output: str) -> list[str]:
    """Return what to do about the messages of nvcc, of its parts and of its host compiler."""
    return [hint for pattern, hint in _HINTS.items() if re.search(pattern, output)]


# Flags


def caller_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's flags, with those of nvcc's own variables around them as nvcc puts them.

    nvcc runs in a folder of the build, without these variables: relative paths in them would be
    others there, and a GPU that is there is nobody's architecture.
    """
    before, behind = (shlex.split(os.environ.get(name, "")) for name in (_BEFORE, _BEHIND))
    host = os.environ.get(_HOST, "")
    # Only a path is another in another folder; a name is found on PATH by nvcc itself.
    named = ("-ccbin", host) if os.sep in host and not os.path.isabs(host) else ()
    return _read((*named, *before, *flags, *behind))


def _read(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags as nvcc takes them wherever it runs.

    An option and its value in one item are two words; relative paths of folders, and of headers
    that exist, are absolute; files of options are read; ``-dc`` is what it means for a compilation.
    ``-arch=native`` is left out: it is the architecture by default.
    """
    words: list[str] = []
    for flag in flags:
        match = re.fullmatch(r"(--?[A-Za-z][\w-]*)\s+(\S.*)", flag, re.DOTALL)
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
                    found += _read(shlex.split(file.read(), comments=True))
        elif option in _VALUED and (option not in _ARCH or value != "native"):
            value = _path(option, value)
            found += (f"{option}={value}",) if equals else (option, value)
        elif len(word) > 2 and word.startswith(("-I", "-L")):
            found.append(f"{word[:2]}{_path(word[:2], word[2:])}")
        elif option not in _ARCH:
            found.append("-rdc=true" if word in ("-dc", "--device-c") else word)
    return tuple(found)


def _path(option: str, value: str) -> str:
    is_path = option in _FOLDERS
    # A header that is not here is looked for where headers are, a compiler on PATH.
    is_path |= option in _FILES and os.path.isfile(value)
    is_path |= option in _CCBIN and os.sep in value
    return os.path.abspath(value) if value and is_path else value


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
    if is_lto and archs:  # nvcc takes no -dlto beside -gencode, which says it in its own words
        flags = [flag for flag in flags if flag not in _LTO]
    return (*_own_flags(flags, is_lto), *_gencode(archs, "lto" if is_lto else "sm"), *flags)


def link_flags(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return all flags of a link of device code, as of `compile_flags`."""
    is_lto = _is_lto(flags)
    if is_lto:  # code=lto_90 is what is linked, and code=sm_90 what becomes of it
        given = (flag for flag in flags if flag not in _LTO)
        flags = [*(re.sub(r"\blto_(?=\d)", "sm_", flag) for flag in given), "-dlto"]
    return (*_own_flags(flags, is_lto), *_gencode(archs, "sm"), *flags)


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
