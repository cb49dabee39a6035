"""`Nvcc`: NVIDIA's own compiler, where there is one: found, what it is, what its messages mean."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import config, identity, toolchain
from ..errors import ToolchainError
from ..identity import Answer
from ..key import file_digest
from .arch import resolve_archs
from .nvcc_flags import arch_values

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
    r"Failed to preprocess host compiler properties|gcc: (?:not found|No such file)": (
        "nvcc cannot use the host compiler: set CXX to a gcc or clang"
    ),
    r"lambda.*--e?xtended-lambda|--extended-lambda": (
        "give nvcc the flag, extra_cuda_cflags=['--extended-lambda']"
    ),
    r"--expt-relaxed-constexpr": (
        "give nvcc the flag, extra_cuda_cflags=['--expt-relaxed-constexpr']"
    ),
    r"nvlink fatal\s*: elfLink linker library load error": (
        "-dlto needs libnvvm.so in the folder nvvm/lib64 beside nvcc's bin, and NVIDIA's wheels "
        "have it in lib: link the one to the other (ln -s ../lib nvvm/lib64), take a toolkit's "
        "nvcc, or leave out -dlto"
    ),
    r"requires? separate compilation|separate compilation mode": (
        "give nvcc the flag, extra_cuda_cflags=['-rdc=true']"
    ),
}


class Nvcc(NamedTuple):
    """An nvcc, and what it says of itself.

    Attributes
    ----------
    path : str
        The program to run.
    identity : str
        Its build, and that of the runtime library beside it: the same text on every machine.
    version : str
        Such as ``"13.0"``.
    root : str
        The folder that it is installed to; empty where that is one of the system's.
    includes : tuple of str
        Its own header folders, ``cuda.h``'s first.
    libraries : str
        The folder of its runtime library; empty where there is none.
    archs : tuple of int
        The architectures that it compiles for; empty where it does not say.
    host : str
        What the host compiler that it starts is, where that is not the build's own.
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

    Raises
    ------
    ToolchainError
        There is none, or none where the variable says.
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
        return resolve_archs(known=known, newer="a newer nvcc may know it")
    except ToolchainError:
        # Whoever compiles asks again, and passes the error on.
        return ()


def hints(output: str) -> list[str]:
    """Return what to do about the messages of nvcc, of its parts and of its host compiler."""
    return [hint for pattern, hint in _HINTS.items() if re.search(pattern, output)]
