"""Reads fatbins, containers of images for several architectures; needs no CUDA tool.

As elf, it takes untrusted input: whatever the bytes are, the answer is members or a ValueError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from . import lz4, zstd
from .cubin import Cubin, Kernel
from .image_kind import FATBIN

__all__ = ["Member", "merged_kernels", "read", "read_cubin", "readable"]

# magic, version, size of this header, size of all that follows
_HEADER = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")

_KINDS = {1: "ptx", 2: "cubin", 8: "ltoir"}
_PREFIXES = {"ptx": "compute", "cubin": "sm", "ltoir": "lto"}
_SPECIFIC, _FAMILY = 0x100000, 0x200000
_COMPRESSIONS = {0x1000: "unknown", 0x2000: "lz4", 0x8000: "zstd"}
# What a member may announce to be when it is decompressed: in all, and in relation to its size. A
# byte of LZ4 stands for 255 at most, and code is far from what zstd can do beyond.
_LARGEST, _ANY, _RATIO = 1 << 31, 1 << 24, 255
_RELOCATABLE = 1


class _Entry(NamedTuple):
    """What precedes each member."""

    kind: int
    version: int
    header_size: int
    padded_size: int
    compressed_size: int
    options_offset: int
    minor: int
    major: int
    arch: int
    name_offset: int
    name_size: int
    flags: int
    check: int
    full_size: int  # 0 where it is not compressed


@dataclass(frozen=True)
class Member:
    """One image in a fatbin, as the container states it.

    Attributes
    ----------
    kind : str
        ``"cubin"``, ``"ptx"``, ``"ltoir"``, or a number of a kind that is not known here.
    arch : str
        ``"sm_90a"``, ``"compute_90"`` for PTX, ``"lto_90"`` for LTO-IR.
    size : int
        Bytes when it is loaded.
    compression : str
        ``"lz4"``, ``"zstd"``, ``"unknown"``, empty where it is stored as it is.
    stored : bytes
        What the fatbin holds.
    """

    kind: str
    arch: str
    size: int
    compression: str
    stored: bytes = field(repr=False)

    def data(self) -> bytes:
        """Return the image itself.

        Raises
        ------
        ValueError
            It cannot be decompressed here, or is damaged; the message says what would help.
        """
        if self.kind not in ("cubin", "ptx"):
            raise ValueError(f"the member for {self.arch} is {self.kind}, which is not read here")
        try:
            data = _decompressed(self)
        except ValueError as error:
            raise ValueError(f"the member for {self.arch}: {error}") from None
        return data.rstrip(b"\0") if self.kind == "ptx" else data


def _decompressed(member: Member) -> bytes:
    if not member.compression:
        return member.stored
    most = _most(len(member.stored))
    if member.size > most:
        raise ValueError(
            f"it announces {member.size} bytes, of {len(member.stored)} at most {most} are read "
            "here"
        )
    if member.compression == "lz4":
        return lz4.decompress(member.stored, member.size)
    if member.compression == "zstd":
        return zstd.decompress(member.stored, member.size)
    raise ValueError("it is compressed in a way that is not known here")


def _most(size: int) -> int:
    """Return how many bytes so many may stand for."""
    return min(_LARGEST, _ANY + _RATIO * size)


def read(data: bytes) -> tuple[Member, ...]:
    """Return the members of a fatbin, in its order.

    Raises
    ------
    ValueError
        It is none, or truncated, or damaged.
    """
    if len(data) < _HEADER.size or not data.startswith(FATBIN):
        raise ValueError(f"not a fatbin: it begins with {data[:8].hex(' ') or 'nothing'}")
    _, _, header_size, size = _HEADER.unpack_from(data)
    end = header_size + size
    if header_size < _HEADER.size or end > len(data):
        raise ValueError(
            f"corrupt fatbin: it announces {end} bytes and has {len(data)}: it is truncated or "
            "damaged"
        )
    members = []
    position = header_size
    while position < end:
        member, position = _member(data, position, end)
        members.append(member)
    return tuple(members)


def _member(data: bytes, position: int, end: int) -> tuple[Member, int]:
    if position + _ENTRY.size > end:
        raise ValueError(f"corrupt fatbin: the member at byte {position} is cut off")
    entry = _Entry(*_ENTRY.unpack_from(data, position))
    start = position + entry.header_size
    stop = start + entry.padded_size
    compression = next((name for flag, name in _COMPRESSIONS.items() if entry.flags & flag), "")
    stored = entry.compressed_size if compression else entry.padded_size
    if entry.header_size < _ENTRY.size or stop > end or stored > entry.padded_size:
        raise ValueError(f"corrupt fatbin: the member at byte {position} overruns the container")
    kind = _KINDS.get(entry.kind, f"kind {entry.kind}")
    suffix = "a" if entry.flags & _SPECIFIC else "f" if entry.flags & _FAMILY else ""
    member = Member(
        kind=kind,
        arch=f"{_PREFIXES.get(kind, 'sm')}_{entry.arch}{suffix}",
        size=entry.full_size if compression else entry.padded_size,
        compression=compression,
        stored=data[start : start + stored],
    )
    return member, stop


def read_cubin(data: bytes) -> Cubin:
    """Return a fatbin as a `Cubin` of the kind ``"fatbin"``.

    Raises
    ------
    ValueError
        It is no fatbin, or an empty one.
    """
    members = read(data)
    if not members:
        raise ValueError("the fatbin is empty: no image is in it")
    return Cubin(data, ", ".join(dict.fromkeys(member.arch for member in members)), kind="fatbin")


def readable(data: bytes) -> tuple[tuple[Cubin, ...], tuple[str, ...]]:
    """Return the members of a fatbin that can be read, and why the others cannot.

    Raises
    ------
    ValueError
        It is no fatbin.
    """
    cubins, problems = [], []
    # All of them are held at once: a small file must not ask for much, by many members either.
    left = _most(len(data))
    for member in read(data):
        try:
            if member.compression and member.size > left:
                raise ValueError(
                    f"the member for {member.arch} is not read: with those before it, it announces "
                    f"more than {_most(len(data))} bytes, of {len(data)}"
                )
            image = member.data()
            left -= len(image) if member.compression else 0
        except ValueError as error:
            problems.append(str(error))
        else:
            # An ELF file's type follows its 16 bytes of identification.
            unlinked = member.kind == "cubin" and image[16:17] == bytes([_RELOCATABLE])
            kind = "relocatable" if unlinked else member.kind
            cubins.append(Cubin(image, member.arch, kind=kind))
    return tuple(cubins), tuple(problems)


def merged_kernels(members: Iterable[Cubin]) -> tuple[Kernel, ...]:
    """Return the kernels of several images for one source, each once.

    What a kernel uses is the most that it uses in any of them; its parameters' offsets are those
    of the first.

    Raises
    ------
    ValueError
        A kernel takes other parameters in one than in another, or one cannot be parsed.
    """
    found: dict[str, tuple[str, Kernel]] = {}
    for member in members:
        for kernel in member.kernels:
            arch, known = found.get(kernel.name, (member.arch, kernel))
            if _sizes(known) != _sizes(kernel):
                raise ValueError(
                    f"kernel {kernel.name!r} takes parameters of {_sizes(known)} bytes for {arch} "
                    f"and of {_sizes(kernel)} for {member.arch}: callers cannot tell; give it one "
                    "parameter list, or two names"
                )
            if known.grid_in_clusters != kernel.grid_in_clusters:
                raise ValueError(
                    f"the driver counts the grid of kernel {kernel.name!r} in clusters for one of "
                    f"{arch} and {member.arch} and in blocks for the other (__block_size__ does "
                    "that): give it one __block_size__ for all, or __cluster_dims__"
                )
            found[kernel.name] = (arch, _larger(known, kernel))
    return tuple(kernel for _, kernel in found.values())


def _sizes(kernel: Kernel) -> list[int]:
    return [param.size for param in kernel.params]


def _larger(one: Kernel, other: Kernel) -> Kernel:
    return replace(
        one,
        registers=max(one.registers, other.registers),
        static_smem_bytes=max(one.static_smem_bytes, other.static_smem_bytes),
        local_bytes=max(one.local_bytes, other.local_bytes),
        # What only some architectures fix is left to the driver.
        cluster=one.cluster if one.cluster == other.cluster else None,
        max_threads=min(one.max_threads, other.max_threads),
    )
