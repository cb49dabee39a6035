"""`Cubin`: a device image, recognized by its content; `Kernel`: one of its kernels."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ImageError

KINDS = ("cubin", "relocatable", "ltoir", "ptx")
"""The kinds of image that a compiler can make from a source for one architecture."""

FACTS = ("arch", "lowered_names", "log", "kind", "cuda_version", "signatures")
"""What is known about an image besides its bytes."""

UNLINKED = "expected a cubin, fatbin or PTX; link others with nvjitlink.link or device_libraries="
"""The message for an image that a module cannot launch."""


class Kernel(NamedTuple):
    """One kernel of an image and what it uses, per thread or per block as CUDA counts it.

    Attributes
    ----------
    name : str
        Symbol in the image (mangled, unless the kernel is ``extern "C"``).
    param_sizes : tuple of int
        Size of each parameter in bytes, in order.
    registers, local_bytes : int
        Registers, and bytes of local memory (stack frame and spills), per thread. These and the
        shared memory are 0 for PTX, which the driver compiles.
    static_smem_bytes : int
        Static shared memory per block, without what the system reserves.
    max_threads : int
        Maximum threads per block that the image allows (``__launch_bounds__``), else 1024.
    required_block, cluster : tuple of int or None
        Dimensions that the kernel fixes (``.reqntid``, ``__cluster_dims__``).
    grid_in_clusters : bool
        Whether the driver counts this kernel's grid in clusters (``__block_size__`` since CUDA 13).
        Launches here count blocks in either case.
    """

    name: str
    param_sizes: tuple[int, ...]
    registers: int = 0
    static_smem_bytes: int = 0
    local_bytes: int = 0
    max_threads: int = 1024
    required_block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    grid_in_clusters: bool = False


@dataclass(frozen=True)
class Cubin:
    """A device image and what is known about it.

    Attributes
    ----------
    image : bytes
        The image: ELF, PTX text, or a fatbin.
    arch : str
        Architecture, such as ``"sm_90a"``; ``"compute_90"`` for PTX; for a fatbin, all of them, as
        in ``"sm_80, sm_90a, compute_90"``.
    lowered_names : mapping of str to str
        Symbols by name expression.
    log : str
        The compiler's warnings.
    kind : str
        ``"cubin"``, ready to launch; ``"relocatable"`` or ``"ltoir"``, to link; ``"ptx"``, text
        that the driver compiles; ``"fatbin"``, several of these.
    cuda_version : str
        Version of the CUDA compiler that made it, such as ``"12.9"``; empty if unknown.
    signatures : mapping of str to str
        Kernel parameters by symbol, as declared in C++: ``"const float* x, int64_t n"``. These
        kernels need no ``Launch(params=...)``. Checked against the image when it is embedded.
    name : str
        Name in messages, such as the file's path.
    """

    image: bytes = field(repr=False)
    arch: str
    lowered_names: Mapping[str, str] = field(default_factory=dict, hash=False)
    log: str = field(default="", repr=False)
    kind: str = "cubin"
    cuda_version: str = ""
    signatures: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    name: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.image, bytes):
            raise TypeError(f"Cubin: image must be bytes, got {type(self.image).__name__}")

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures, one by one."""
        return tuple(self.arch.split(", "))

    @property
    def members(self) -> tuple[Cubin, ...]:
        """A fatbin's readable images, in order; empty for other images."""
        return tuple(x for x in self._members if isinstance(x, Cubin))

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Why members of a fatbin cannot be read, one message for each."""
        return tuple(x for x in self._members if isinstance(x, str))

    @cached_property
    def _members(self) -> tuple[Cubin | str, ...]:
        from .fatbin import members

        return tuple(members(self.image)) if self.kind == "fatbin" else ()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The image's kernels, in symbol order; in a fatbin, each from the first image with it."""
        if self.kind == "fatbin":
            from .fatbin import merged_kernels

            return merged_kernels(self.members)
        from . import nv_info, ptx

        return ptx.kernels(self.image) if self.kind == "ptx" else nv_info.kernels(self.image)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything but the bytes, as JSON values."""
        values = {name: getattr(self, name) for name in FACTS}
        return {name: x if isinstance(x, str) else dict(x) for name, x in values.items()}


def take_image(what: str, value: Any) -> Cubin:
    """Return an image given as bytes, a `Cubin` or a file's path, without inspecting it yet."""
    if isinstance(value, Cubin):
        return replace(value, name=what, kind="cubin", log="", cuda_version="")
    if isinstance(value, bytes | bytearray | memoryview):
        return Cubin(bytes(value), "", name=what)
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{what} must be bytes, a Cubin or a path, got {type(value).__name__}")
    if isinstance(value, str) and "\n" in value:
        raise ValueError(f"{what} is text, not a file's path: pass it as bytes, text.encode()")
    return Cubin(regular(value).read_bytes(), "", name=f"{what} ({os.fspath(value)})")


def regular(path: str | os.PathLike[str]) -> Path:
    """Return a file's path; raise OSError for a pipe or a device, which may never end."""
    found = Path(path)
    if found.exists() and not (found.is_file() or found.is_dir()):
        problem = "not a regular file: write its content to one, and pass that"
        raise OSError(errno.EINVAL, problem, os.fspath(path))
    return found


def read_image(
    given: Cubin, *, wanted: Collection[str] = ("cubin", "ptx", "fatbin"), or_else: str = UNLINKED
) -> Cubin:
    """Return an image with the kind and the architecture that its content shows."""
    try:
        kind, arch = _kind_and_arch(given.image)
        if kind not in wanted:
            raise ImageError(f"its kind is {kind!r}; {or_else}")
    except ImageError as error:
        raise ImageError(f"{given.name}: {error}") from None
    return replace(given, kind=kind, arch=arch or given.arch)


def _kind_and_arch(data: bytes) -> tuple[str, str]:
    from . import fatbin, nv_info, ptx
    from .elf import ELF, Elf, is_host_elf

    if data.startswith(b"\xed\x43\x4e\x7f"):
        return "ltoir", ""
    if data.startswith(b"!<arch>\n"):
        return "library", ""
    if data.startswith(fatbin.MAGIC):
        return "fatbin", fatbin.archs(data)
    if data.startswith(ELF):
        elf = Elf(data)
        if is_host_elf(data):
            return "object" if elf.is_object else "shared object", ""
        return "relocatable" if elf.is_object else "cubin", nv_info.arch(elf)
    if arch := ptx.arch(data):
        return "ptx", arch
    raise ImageError(f"not an image: it starts with {data[:40]!r}")
