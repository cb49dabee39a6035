"""Reads fatbins, containers of images for several architectures."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterable, Iterator
from mmap import mmap
from typing import Any, NamedTuple

from ..errors import ImageError
from .cubin import Cubin, Kernel
from .elf import RELOCATABLE, Elf
from .image import FATBIN, reading

# magic, version, size of this header, size of all that follows
_HEADER = struct.Struct("<4sHHQ")
# kind, version, size of this header, stored size with padding, size where it is compressed,
# offset of options, version's minor and major number, architecture, offset and size of a name,
# flags, check, size once it is decompressed
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")

_KINDS = {1: "ptx", 2: "cubin", 8: "ltoir"}
_PREFIXES = {"ptx": "compute", "cubin": "sm", "ltoir": "lto"}
_SPECIFIC, _FAMILY = 0x100000, 0x200000
_COMPRESSIONS = {0x1000: "unknown", 0x2000: "lz4", 0x8000: "zstd"}


class Member(NamedTuple):
    """One image in a fatbin, as the container states it."""

    kind: str  # "cubin", "ptx", "ltoir", or a number that is not known here
    arch: str  # "sm_90a", "compute_90", "lto_90"
    size: int  # of the image itself
    compression: str  # "lz4", "zstd", "unknown", empty where it is stored as it is
    stored: bytes

    def data(self) -> bytes:
        """Return the image itself; where it cannot be read, the ImageError says what would help."""
        if self.kind not in ("cubin", "ptx"):
            raise ImageError(f"the member for {self.arch} is {self.kind}, which is not read here")
        if self.compression == "unknown":
            raise ImageError(f"the member for {self.arch} is compressed in an unknown way")
        unpack = {"lz4": unlz4, "zstd": unzstd}.get(self.compression)
        try:
            data = unpack(self.stored, self.size) if unpack else self.stored
        except ImageError as error:
            raise ImageError(f"the member for {self.arch}: {error}") from None
        return data.rstrip(b"\0") if self.kind == "ptx" else data


@reading("fatbin")
def read(data: bytes) -> tuple[Member, ...]:
    """Return the members of a fatbin, in its order."""
    _, _, at, size = _HEADER.unpack_from(data)
    end = at + size
    members = []
    while at < end:
        kind, _, header, padded, compressed, *_, arch, _, _, flags, _, full = _ENTRY.unpack_from(
            data, at
        )
        start = at + header
        at = start + padded
        # Of a size 0 the next member would be this one again.
        if header < _ENTRY.size or at > end or end > len(data):
            raise ImageError(f"corrupt fatbin: it is truncated or damaged: {len(data)} bytes")
        compression = next((name for flag, name in _COMPRESSIONS.items() if flags & flag), "")
        name = _KINDS.get(kind, f"kind {kind}")
        suffix = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
        members.append(
            Member(
                kind=name,
                arch=f"{_PREFIXES.get(name, 'sm')}_{arch}{suffix}",
                size=full if compression else padded,
                compression=compression,
                stored=data[start : start + (compressed if compression else padded)],
            )
        )
    if not members:
        raise ImageError("the fatbin is empty: no image is in it")
    return tuple(members)


def readable(data: bytes) -> tuple[tuple[Cubin, ...], tuple[str, ...]]:
    """Return a fatbin's cubins and PTX, and why others cannot be read."""
    cubins, problems = [], []
    for member in read(data):
        try:
            image = member.data()
        except ImageError as error:
            problems.append(str(error))
            continue
        # An ELF file's type follows its 16 bytes of identification.
        unlinked = member.kind == "cubin" and image[16:17] == bytes([RELOCATABLE])
        cubins.append(Cubin(image, member.arch, kind="relocatable" if unlinked else member.kind))
    return tuple(cubins), tuple(problems)


def in_host_file(content: bytes | mmap) -> Iterator[tuple[str, bytes]]:
    """Yield the fatbins that nvcc put into a host file, each with the name of its section.

    Those that are yet to be linked (-rdc=true) stay in shared objects, unused.
    """
    file = Elf(content)
    for name in (".nv_fatbin", "__nv_relfatbin") if file.is_object else (".nv_fatbin",):
        section = file.body(file.section(name))
        at = 0
        while (at := section.find(FATBIN, at)) >= 0 and at + _HEADER.size <= len(section):
            *_, header_size, size = _HEADER.unpack_from(section, at)
            if at % 8 == 0:  # units follow each other there, with room between them
                yield name, section[at : at + header_size + size]
            at += header_size + size if at % 8 == 0 else 1


def merged_kernels(members: Iterable[Cubin]) -> tuple[Kernel, ...]:
    """Return the kernels of several images for one source, each once.

    What a kernel uses is the most that it uses in any of them; its parameters' offsets are those
    of the first.

    Raises
    ------
    ValueError
        A kernel is launched in another way in one than in another, or one cannot be parsed.
    """
    found: dict[str, tuple[str, Kernel]] = {}
    for member in members:
        for kernel in member.kernels:
            arch, known = found.get(kernel.name, (member.arch, kernel))
            one, other = ([param.size for param in x.params] for x in (known, kernel))
            if one != other or known.grid_in_clusters != kernel.grid_in_clusters:
                raise ValueError(
                    f"kernel {kernel.name!r} takes parameters of {one} bytes for {arch} and of "
                    f"{other} for {member.arch}, or counts its grid in clusters (__block_size__) "
                    "for one of them: callers cannot tell; give it one declaration, or two names"
                )
            found[kernel.name] = (arch, _larger(known, kernel))
    return tuple(kernel for _, kernel in found.values())


def _larger(one: Kernel, other: Kernel) -> Kernel:
    return one._replace(
        registers=max(one.registers, other.registers),
        static_smem_bytes=max(one.static_smem_bytes, other.static_smem_bytes),
        local_bytes=max(one.local_bytes, other.local_bytes),
        # What only some architectures fix is left to the driver.
        cluster=one.cluster if one.cluster == other.cluster else None,
        max_threads=min(one.max_threads, other.max_threads),
    )


@reading("LZ4 data")
def unlz4(data: bytes, size: int) -> bytes:
    """Return the `size` bytes that an LZ4 block, as CUDA 12's tools write them, stands for.

    A block is a row of sequences: a byte with two lengths, literal bytes, and how far back the
    bytes lie that are repeated next. The last sequence repeats none.
    """
    out = bytearray()
    position = 0

    def length(nibble: int) -> int:
        nonlocal position
        more = 255 if nibble == 15 else 0
        while more == 255:
            more = data[position]
            nibble += more
            position += 1
        return nibble

    while position < len(data):
        token = data[position]
        position += 1
        count = length(token >> 4)
        out += data[position : position + count]
        position += count
        if position >= len(data):
            break
        distance = data[position] | data[position + 1] << 8
        position += 2
        count = length(token & 15) + 4
        if not 0 < distance <= len(out):
            raise ImageError("damaged LZ4 data: a repetition reaches outside of it")
        # The bytes that are repeated may be those that the repetition itself writes.
        pattern = out[-distance:][:count]
        out += (pattern * -(-count // len(pattern)))[:count]
    if len(out) != size:
        raise ImageError(f"damaged LZ4 data: it holds {len(out)} bytes, not {size}")
    return bytes(out)


def zstd_module() -> Any:
    """Return Python's module for zstd, or the package zstandard; None where neither is there."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def unzstd(data: bytes, size: int) -> bytes:
    """Return the `size` bytes that a zstd frame, as newer tools write them, stands for."""
    module = zstd_module()
    if module is None:
        raise ImageError(
            "it is compressed by zstd: Python 3.14 reads it, or run: pip install zstandard"
        )
    try:
        found = bytes(module.ZstdDecompressor().decompress(data, size + 1))
    except module.ZstdError as error:
        raise ImageError(f"damaged zstd data: {error}") from None
    if len(found) != size:
        raise ImageError(f"damaged zstd data: it holds {len(found)} bytes, not {size}")
    return found
