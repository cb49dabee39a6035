"""Joins images for several architectures to a fatbin, through libnvfatbin by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import elf, ptx
from .arch import check_archs, number_of
from .cubin import Cubin
from .cuda_wheels import Cuda
from .errors import CubinError, ToolchainError

__all__ = ["NvFatbinLibrary", "join"]

_SUCCESS = 0
_Handle = ctypes.c_void_p
_PROTOTYPES: dict[str, list[type]] = {
    "nvFatbinVersion": [ctypes.c_void_p, ctypes.c_void_p],
    "nvFatbinCreate": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t],
    "nvFatbinDestroy": [ctypes.c_void_p],
    "nvFatbinAddCubin": [
        _Handle,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_char_p,
    ],
    "nvFatbinAddPTX": [
        _Handle,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
    ],
    "nvFatbinSize": [_Handle, ctypes.c_void_p],
    "nvFatbinGet": [_Handle, ctypes.c_char_p],
}
# What is compressed can neither be inspected everywhere nor loaded without the time it takes.
_OPTIONS = (b"-compress=false",)


@dataclass(frozen=True)
class NvFatbinLibrary:
    """A loaded libnvfatbin.

    Attributes
    ----------
    path : Path
        The file.
    library : ctypes.CDLL
        Its handle.
    """

    path: Path
    library: ctypes.CDLL

    @staticmethod
    def load(path: Path) -> NvFatbinLibrary:
        """Load the library of a path, once a process.

        Raises
        ------
        ToolchainError
            It cannot be loaded.
        """
        return _load(path)

    def version(self) -> tuple[int, int]:
        """Return the library's version, major and minor."""
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        self.call("nvFatbinVersion", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def call(self, function: str, *arguments: object) -> None:
        """Call a function; raises CubinError with the library's own text where it fails."""
        result = getattr(self.library, function)(*arguments)
        if result != _SUCCESS:
            get_text = self.library.nvFatbinGetErrorString
            get_text.restype = ctypes.c_char_p
            text = get_text(result)
            reason = text.decode() if text else f"error {result}"
            raise CubinError(f"{function} of {self.path} failed: {reason}")

    @contextmanager
    def container(self) -> Iterator[ctypes.c_void_p]:
        """Create an empty fatbin for the duration of a with statement."""
        handle = ctypes.c_void_p()
        options = (ctypes.c_char_p * len(_OPTIONS))(*_OPTIONS)
        self.call("nvFatbinCreate", ctypes.byref(handle), options, len(_OPTIONS))
        try:
            yield handle
        finally:
            self.library.nvFatbinDestroy(ctypes.byref(handle))


@lru_cache(maxsize=8)
def _load(path: Path) -> NvFatbinLibrary:
    try:
        library = ctypes.CDLL(str(path))
        for function, types in _PROTOTYPES.items():
            getattr(library, function).argtypes = types
    except (OSError, AttributeError) as error:
        raise ToolchainError(
            f"nvFatbin could not be loaded from {path}: {error}; reinstall its wheel, run: "
            "pip install --force-reinstall 'tvmffi-cubin[cu12]' (or [cu13])"
        ) from error
    return NvFatbinLibrary(path, library)


def join(cubins: Sequence[Cubin], *, cuda: Cuda) -> Cubin:
    """Return a fatbin of several images, in the order of `check_archs` whatever theirs is.

    Parameters
    ----------
    cubins : sequence of Cubin
        Cubins and PTX, each for an architecture of its own.
    cuda : Cuda
        Whose nvFatbin is used.

    Raises
    ------
    ToolchainError
        nvFatbin is not installed, or cannot be loaded.
    ValueError
        Two are for the same architecture, or one is not for what it says.
    """
    by_arch = {cubin.arch: cubin for cubin in cubins}
    if len(by_arch) != len(cubins):
        twice = next(c.arch for c in cubins if by_arch[c.arch] is not c)
        raise ValueError(f"two images are for {twice}, and a fatbin takes one for each")
    ordered = [by_arch[arch] for arch in check_archs(list(by_arch))]
    for cubin in ordered:
        _check_member(cubin)
    library = NvFatbinLibrary.load(cuda.require("nvfatbin"))
    with library.container() as handle:
        for cubin in ordered:
            _add(library, handle, cubin)
        size = ctypes.c_size_t()
        library.call("nvFatbinSize", handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        library.call("nvFatbinGet", handle, buffer)
    versions = {cubin.cuda_version for cubin in ordered}
    return Cubin(
        image=buffer.raw,
        arch=", ".join(cubin.arch for cubin in ordered),
        lowered_names={k: v for cubin in ordered for k, v in cubin.lowered_names.items()},
        log="\n".join(dict.fromkeys(cubin.log for cubin in ordered if cubin.log)),
        kind="fatbin",
        cuda_version=versions.pop() if len(versions) == 1 else "",
    )


def _check_member(cubin: Cubin) -> None:
    """Raise unless an image is for what it says: nvFatbin takes an sm_90a for an sm_90."""
    if cubin.kind == "ptx":
        made_for = f"compute_{ptx.parse(cubin.image).target.removeprefix('sm_')}"
        fits = made_for == cubin.arch
    elif cubin.kind == "cubin":
        parsed = elf.parse(cubin.image)
        if parsed.relocatable:
            raise ValueError(f"the image for {cubin.arch} is not linked yet")
        made_for = parsed.arch
        # Not every assembler writes the `f` of sm_100f down.
        fits = made_for in (cubin.arch, cubin.arch.removesuffix("f"))
    else:
        raise ValueError(f"a fatbin holds cubins and PTX, not {cubin.kind!r}")
    if not fits:
        raise ValueError(f"the image for {cubin.arch} is one for {made_for}: the driver would err")


def _add(library: NvFatbinLibrary, handle: ctypes.c_void_p, cubin: Cubin) -> None:
    number = cubin.arch.partition("_")[2]
    name = cubin.arch.encode()
    if cubin.kind == "ptx":
        text = cubin.image.rstrip(b"\0") + b"\0"
        library.call(
            "nvFatbinAddPTX",
            handle,
            text,
            len(text),
            str(number_of(cubin.arch)).encode(),
            name,
            b"",
        )
    else:
        data = cubin.image
        library.call("nvFatbinAddCubin", handle, data, len(data), number.encode(), name)
