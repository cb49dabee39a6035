"""`Nvcc`: NVIDIA's own compiler, where there is one: found, and what it is, remembered."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from . import config, identity, toolchain
from .errors import ToolchainError
from .identity import Answer
from .key import file_digest

__all__ = ["Nvcc", "describe", "find_nvcc", "locate"]

_PROGRAM = "nvcc"
_DEFAULT = "/usr/local/cuda"
_HOMES = ("CUDA_HOME", "CUDA_PATH")
_SYSTEM = ("/", "/usr", "/usr/local")
_SEPARATOR = "\0"
_RUNTIME = "libcudart_static.a"
# What nvcc starts, and what tells it where that is; one that is changed is asked about anew.
_PARTS = ("nvcc", "nvcc.profile", "cudafe++", "ptxas", "fatbinary", "nvlink")
_INSTALL = (
    "pip install nvidia-cuda-nvcc nvidia-cuda-cccl (CUDA 13's; CUDA 12's wheel of it has no nvcc "
    "in it), or set TVMFFI_CUBIN_NVCC to a toolkit's bin/nvcc"
)


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
    """Return the nvcc to use; spawns processes only where it is new to this user.

    Raises
    ------
    ToolchainError
        There is none, or it cannot be run.
    """
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
    found = next(filter(None, _candidates()), None)
    if found is None:
        raise ToolchainError(
            f'compiler="nvcc" needs nvcc, which is neither in {" nor ".join(_HOMES)}, nor on '
            f"PATH, nor among NVIDIA's wheels, nor in {_DEFAULT}; run: {_INSTALL}; or leave out "
            'compiler="nvcc": NVRTC compiles most sources'
        )
    return found


def _candidates() -> Iterator[Path | None]:
    for variable in _HOMES:
        if home := config.get(variable):
            yield toolchain.on_path(f"{home}/bin/{_PROGRAM}")
    yield toolchain.on_path(_PROGRAM)
    for path in filter(None, sys.path):
        yield toolchain.on_path(f"{path}/nvidia/cu13/bin/{_PROGRAM}")
    yield toolchain.on_path(f"{_DEFAULT}/bin/{_PROGRAM}")


def describe(path: Path) -> Nvcc:
    """Return what an nvcc says of itself, from memory or disk while its files are unchanged.

    Raises
    ------
    ToolchainError
        It cannot be run, or is no nvcc.
    """
    text = identity.remember(path, lambda: _ask(path), what="nvcc")
    said, version, root, includes, libraries, archs = text.split(_SEPARATOR)
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
    settings = _settings(_run([str(path), "--dryrun", "-E", "-x", "cu", os.devnull]))
    top = settings.get("TOP") or os.path.dirname(os.path.dirname(os.path.realpath(path)))
    top = os.path.realpath(top)
    here = settings.get("_HERE_", os.path.dirname(path))
    includes = [*_folders(settings.get("INCLUDES", ""), "-I")]
    includes += _folders(settings.get("SYSTEM_INCLUDES", ""), "-isystem")
    libraries = [*_folders(settings.get("LIBRARIES", ""), "-L"), f"{top}/lib64", f"{top}/lib"]
    runtime = next((x for x in libraries if os.path.isfile(f"{x}/{_RUNTIME}")), "")
    files = [f"{here}/{part}" for part in _PARTS]
    files += [f"{settings.get('CICC_PATH', here)}/cicc", f"{runtime}/{_RUNTIME}"]
    texts = [file_digest(str(path))] if _is_script(path) else []
    texts += [file_digest(f"{runtime}/{_RUNTIME}")] if runtime else []
    lines = [x for x in said.splitlines() if x.startswith(("Cuda compilation", "Build "))]
    archs = re.findall(r"^sm_(\d+)$", _run([str(path), "--list-gpu-code"]), re.MULTILINE)
    answer = (
        "\n".join((*lines, *texts)),
        release[1],
        "" if top in _SYSTEM else top,
        "\n".join(includes or [f"{top}/include"]),
        runtime,
        " ".join(archs),
    )
    return Answer(_SEPARATOR.join(answer), tuple(filter(os.path.isfile, files)))


def _run(command: Sequence[str]) -> str:
    from .host_tools import run

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


def _settings(said: str) -> dict[str, str]:
    """Return the variables that a dry run shows, the last value of each."""
    return dict(re.findall(r"^#\$ (\w+)=(.*)$", said, re.MULTILINE))


def _folders(text: str, option: str) -> Iterator[str]:
    """Yield the folders behind an option, in the option's own word or in the next."""
    import shlex

    words = iter(shlex.split(text))
    for word in words:
        if word == option:
            yield os.path.normpath(next(words, "."))
        elif word.startswith(option):
            yield os.path.normpath(word[len(option) :])


def _is_script(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"
