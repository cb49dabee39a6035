"""NVIDIA's own compiler, for ``compiler="nvcc"``: where it is, what it is, the flags for it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import config, identity, toolchain
from ..errors import ToolchainError
from ..host_unit import own_statics
from ..identity import Answer
from ..key import file_digest
from ..plan import Cxx, DeviceLink
from .arch import is_ptx, resolve_archs

if TYPE_CHECKING:
    from ..request import Request
    from ..toolset import Toolset

_DEFAULT = "/usr/local/cuda"
_RUNTIME = "libcudart_static.a"
# What nvcc starts, and what tells it where that is; one that is changed is asked about anew.
_PARTS = ("nvcc", "nvcc.profile", "cudafe++", "ptxas", "fatbinary", "nvlink")
_INSTALL = (
    "pip install nvidia-cuda-nvcc nvidia-cuda-cccl (CUDA 13's; CUDA 12's wheel of it has no nvcc "
    "in it), or set TVMFFI_CUBIN_NVCC to a toolkit's bin/nvcc"
)
# What is said of messages of nvcc's that do not say it themselves.
_HINTS = {
    r"unsupported (?:GNU|clang) version|unsupported.*host compiler": (
        "nvcc does not know this host compiler yet: set CXX to an older one, or give it to nvcc "
        "alone, extra_cuda_cflags=['-ccbin', 'g++-13']; or try this one, "
        "extra_cuda_cflags=['-allow-unsupported-compiler']"
    ),
    r"cicc: (?:not found|No such file)|nvvm/bin.*No such file": (
        "nvcc is not installed in full: pip install nvidia-nvvm nvidia-cuda-crt"
    ),
    r"fatal error: (?:cub|cuda|thrust|nv|crt)/\S+: No such file": (
        "these headers are wheels of their own: pip install nvidia-cuda-cccl nvidia-cuda-crt"
    ),
}
_ARCH = ("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code")
_CCBIN = ("-ccbin", "--compiler-bindir")
_LTO = ("-dlto", "--dlink-time-opt", "-lto", "--lto")
# Their value may look like an option.
_LISTED = {
    *("-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-Xlinker"),
    *("--linker-options", "-Xnvlink", "--nvlink-options", "-D", "--define-macro"),
}
_PATHS = {
    *("-I", "--include-path", "-isystem", "--system-include", "-L", "--library-path"),
    *("-include", "--pre-include", "-optf", "--options-file", *_CCBIN),
}


class Nvcc(NamedTuple):
    """An nvcc, and what it says of itself.

    `identity` is its build, and that of the runtime library beside it: the same text on every
    machine. `root` is the folder that it is installed to, empty where that is one of the system's;
    `includes` its own header folders, ``cuda.h``'s first; `libraries` the folder of its runtime
    library, empty where there is none; `host` what the host compiler that it starts is, where that
    is not the build's own.
    """

    path: str
    identity: str
    version: str
    root: str
    includes: tuple[str, ...]
    libraries: str
    host: str = ""

    @property
    def major(self) -> int:
        """The CUDA major version."""
        return int(self.version.partition(".")[0])


def find_nvcc() -> Nvcc:
    """Return the nvcc to use; spawns processes only where it is new to this user."""
    return describe(locate())


def locate() -> Path:
    """Return the path of nvcc.

    That is what ``TVMFFI_CUBIN_NVCC`` names; else the one in ``CUDA_HOME`` or ``CUDA_PATH``; on
    PATH; of NVIDIA's wheels; of ``/usr/local/cuda``.
    """
    named = config.get("TVMFFI_CUBIN_NVCC")
    homes = filter(None, (config.get("CUDA_HOME"), config.get("CUDA_PATH")))
    wheels = (f"{path}/nvidia/cu13/bin/nvcc" for path in sys.path if path)
    places = (*(f"{home}/bin/nvcc" for home in homes), "nvcc", *wheels, f"{_DEFAULT}/bin/nvcc")
    for place in [named] if named else places:
        if (path := toolchain.on_path(place)) is not None:
            return path
    if named:
        raise ToolchainError(
            f"TVMFFI_CUBIN_NVCC={named!r}: there is no such program; unset it, or set it to an nvcc"
        )
    raise ToolchainError(
        'compiler="nvcc" needs nvcc, which is neither in CUDA_HOME nor CUDA_PATH, nor on PATH, nor '
        f"among NVIDIA's wheels, nor in {_DEFAULT}; run: {_INSTALL}; or leave out the compiler: "
        "NVRTC compiles most sources"
    )


def describe(path: Path) -> Nvcc:
    """Return what an nvcc says of itself, from memory or disk while its files are unchanged."""
    text = identity.remember(path, lambda: _ask(path), what="nvcc")
    said, version, root, includes, libraries = text.split("\0")
    return Nvcc(str(path), said, version, root, tuple(includes.split("\n")), libraries)


def _ask(path: Path) -> Answer:
    said = _run(str(path), "--version")
    release = re.search(r"release (\d+\.\d+)", said)
    if release is None:
        raise ToolchainError(
            f"{path} --version says no CUDA release, so it is no nvcc: {said.strip()[:200]!r}; set "
            "TVMFFI_CUBIN_NVCC to one"
        )
    # It says where it finds everything without compiling anything.
    dry = _run(str(path), "--dryrun", "-E", "-x", "cu", os.devnull)
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
    lines = [x for x in said.splitlines() if x.startswith(("Cuda compilation", "Build "))]
    with open(path, "rb") as file:
        lines += [file_digest(str(path))] if file.read(2) == b"#!" else []
    lines += [file_digest(f"{runtime}/{_RUNTIME}")] if runtime else []
    root = "" if top in ("/", "/usr", "/usr/local") else top
    answer = (
        "\n".join(lines),
        release[1],
        root,
        "\n".join(includes or [f"{top}/include"]),
        runtime,
    )
    return Answer("\0".join(answer), tuple(filter(os.path.isfile, files)))


def _run(*command: str) -> str:
    from ..host_tools import run

    try:
        status, text = run(command)
    except OSError as error:
        raise ToolchainError(f"{command[0]} cannot be run: {error}; {_INSTALL}") from error
    if status != 0:
        raise ToolchainError(
            f"{' '.join(command)!r} failed with status {status}: {text.strip()}; "
            "set TVMFFI_CUBIN_NVCC to an nvcc that works"
        )
    return text


def _folders(text: str, option: str) -> Iterator[str]:
    """Yield the folders behind an option, in the option's own word or in the next."""
    words = iter(shlex.split(text))
    for word in words:
        if word.startswith(option):
            yield os.path.normpath(word[len(option) :] or next(words, "."))


def hints(output: str) -> list[str]:
    """Return what to do about the messages of nvcc, of its parts and of its host compiler."""
    return [hint for pattern, hint in _HINTS.items() if re.search(pattern, output)]


# Flags


def caller_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Return a caller's flags, with those of nvcc's own variables around them as nvcc puts them.

    nvcc runs in a folder of the build, without these variables: paths that exist are made absolute.
    ``-arch=native`` is left out: it is the architecture by default.
    """
    host = os.environ.get("NVCC_CCBIN")
    variables = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
    before, behind = (shlex.split(os.environ.get(name, "")) for name in variables)
    words: list[str] = ["-ccbin", host] if host else []
    for flag in (*before, *flags, *behind):
        match = re.fullmatch(r"(--?[A-Za-z-]+)\s+(\S.*)", flag, re.DOTALL)
        is_value = words and words[-1] in _LISTED
        words += match.groups() if match and not is_value else (flag,)
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _PATHS or option in _ARCH:
            value = value if equals else next(rest, "")
            if option in _ARCH and value == "native":
                continue
            value = _absolute(value) if option in _PATHS else value
            found += (f"{option}={value}",) if equals else (option, value)
        elif word.startswith(("-I", "-L")):
            found.append(f"{word[:2]}{_absolute(word[2:])}")
        else:
            found.append("-rdc=true" if word in ("-dc", "--device-c") else word)
    return tuple(found)


def _absolute(path: str) -> str:
    # Others are looked for where headers, libraries or programs are.
    return os.path.abspath(path) if os.path.exists(path) else path


def host_compiler(flags: Sequence[str]) -> str | None:
    """Return the host compiler that a caller's flags name; None where they name none."""
    for index, flag in reversed([*enumerate(flags)]):
        option, _, value = flag.partition("=")
        if option in _CCBIN:
            return value or "".join(flags[index + 1 : index + 2])
    return None


def _name_archs(flags: Sequence[str]) -> bool:
    return any(flag.partition("=")[0] in _ARCH for flag in flags)


def resolve(flags: Sequence[str], arch: object) -> tuple[str, ...]:
    """Return the architectures; none where flags name them, or none can be found out."""
    if _name_archs(flags):
        if arch is not None:
            raise ValueError(
                f"the architecture is given twice: arch={arch!r}, and in nvcc's flags "
                "(extra_cuda_cflags, NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS); give it once"
            )
        return ()
    try:
        return resolve_archs(arch)
    except ToolchainError:
        # Whoever compiles asks again, and passes the error on.
        return ()


def _is_separate(flags: Sequence[str]) -> bool:
    """Whether device code is yet to be linked when it is compiled."""
    said = re.search(r"(?:-rdc|--relocatable-device-code)[= ]true", " ".join(flags))
    return said is not None or _is_lto(flags)


def _is_lto(flags: Sequence[str]) -> bool:
    return any(flag in _LTO or re.search(r"\blto_\d", flag) for flag in flags)


def _words(
    tools: Toolset, flags: Sequence[str], archs: Sequence[str], *, is_link: bool = False
) -> tuple[str, ...]:
    """Return all flags of a compilation or a link: the caller's, and ours before them."""
    assert tools.nvcc is not None
    archs = archs or (() if _name_archs(flags) else resolve_archs())
    if host_compiler(flags) is None:
        # A launcher such as ccache cannot be named with what it starts.
        own = (*own_statics(tools.host.compiler), *tools.compiler.options)
        ours = ["-ccbin", tools.compiler.programs[-1]]
        ours += [f"-Xcompiler={option.replace(',', chr(92) + ',')}" for option in own]
    else:
        ours = [f"-Xcompiler={flag}" for flag in own_statics(tools.nvcc.host)]
    ours.append("-Xcompiler=-fPIC")
    if not any(flag.startswith(("-std", "--std")) for flag in flags):
        ours.append("-std=c++17")
    if not any(re.fullmatch(r"-O\d?|--optimize(=.*)?", flag) for flag in flags):
        ours.append("-O2")
    is_lto = _is_lto(flags)
    if is_lto and "rdc" not in " ".join(flags):
        ours.append("-rdc=true")
    if is_lto and (archs or is_link):
        # nvcc takes no -dlto beside -gencode, which says it in its own words.
        flags = [flag for flag in flags if flag not in _LTO]
    if is_lto and is_link:  # code=lto_90 is what is linked, and code=sm_90 what becomes of it
        flags = [*(re.sub(r"\blto_(?=\d)", "sm_", flag) for flag in flags), "-dlto"]
    real = "lto" if is_lto and not is_link else "sm"
    for arch in archs:
        number, kind = arch.partition("_")[2], "compute" if is_ptx(arch) else real
        ours.append(f"-gencode=arch=compute_{number},code={kind}_{number}")
    return (*ours, *flags)


# What a build has of it


def unit(
    source: str,
    tools: Toolset,
    *,
    name: str = "",
    folders: Sequence[str] = (),
    archs: Sequence[str],
    flags: Sequence[str],
    include_paths: Sequence[str],
) -> Cxx:
    """Return how a text in the build folder, or a file where it lies, is compiled.

    `name` is its object's; `folders` are searched for quoted headers. `flags` are the caller's,
    from `caller_flags`, and `archs` none where they name them; a ToolchainError says that no
    architecture is known.
    """
    assert tools.nvcc is not None
    words = _words(tools, flags, archs)
    headers = ("-I", str(tools.include), "-isystem", str(tools.tvm_ffi.include))
    escaped = (folder.replace(",", "\\,") for folder in folders)
    further = (f"-Xcompiler=-iquote,{folder}" for folder in escaped)
    flags = ("-x", "cu", *words, *headers, *further)
    return Cxx(source, (tools.nvcc.path,), flags, tuple(include_paths), name=name)


def device_link(
    objects: Sequence[str], tools: Toolset, *, archs: Sequence[str], flags: Sequence[str]
) -> DeviceLink | None:
    """Return how separate device code of objects is linked to one more; None where none is."""
    if not _is_separate(flags) or tools.nvcc is None:
        return None
    words = _words(tools, flags, archs, is_link=True)
    return DeviceLink("device_link", (tools.nvcc.path,), words, tuple(objects))


def runtime(nvcc: Nvcc, flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the libraries and the linker's flags that what nvcc compiles is linked with.

    The runtime library is the static one, as nvcc itself links it: no folder of this machine is in
    the shared object, and no other version in the process gets in its way.
    """
    if not nvcc.libraries:
        return (), ("-ldl", "-lpthread", "-lrt")
    names = ("libcudadevrt.a", _RUNTIME) if _is_separate(flags) else (_RUNTIME,)
    paths = (f"{nvcc.libraries}/{name}" for name in names)
    found = tuple(filter(os.path.isfile, paths))
    return found, (f"-L{nvcc.libraries}", "-ldl", "-lpthread", "-lrt")


def check_request(request: Request) -> None:
    """Refuse a request that nvcc cannot serve: a ValueError names the argument and the remedy."""
    rdc = "extra_cuda_cflags=['-rdc=true'"
    remedies = {
        "kernel_sources": "they are for NVRTC; give them as cuda_sources",
        "name_expressions": "nvcc makes the instances that host code launches; leave them out",
        "device_libraries": f"load(sources=[..., 'lib.o'], {rdc}]) links the device code of files",
        "lto": f"give nvcc's own flags, {rdc}, '-dlto']",
        "bound_params": "CUDA's runtime launches with the arguments of the source alone",
    }
    for argument, remedy in remedies.items():
        if getattr(request, argument):
            raise ValueError(f'{argument} and compiler="nvcc" do not go together: {remedy}')
    if request.functions or request.files.binaries or request.files.cxx or request.files.c:
        return
    # What a header exports is not seen here.
    exports = r'TVM_FFI_|__tvm_ffi_|^[ \t]*#[ \t]*include[ \t]*"'
    sources = (*request.cuda_sources, *request.files.cuda, *request.cpp_sources)
    if not any(re.search(exports, source.text, re.MULTILINE) for source in sources):
        raise ValueError(
            "nothing would be exported: name host functions in functions=, or export them with "
            "TVM_FFI_DLL_EXPORT_TYPED_FUNC; kernels that nvcc compiles are no functions of the "
            "module"
        )
