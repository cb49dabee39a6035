"""Reads fatbins, containers of images for several architectures."""

from __future__ import annotations

import importlib
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from mmap import mmap
from typing import Any

from ..errors import ImageError
from .cubin import Cubin, Kernel
from .elf import Elf, reading

MAGIC = b"\x50\xed\x55\xba"
_HEADER = struct.Struct("<6xHQ")
_ENTRY = struct.Struct("<H2xIQI8xI8xQ8xQ")

_KINDS = {1: ("ptx", "compute"), 2: ("cubin", "sm"), 8: ("ltoir", "lto")}
_SPECIFIC, _FAMILY = 0x100000, 0x200000
_LZ4, _ZSTD = 0x2000, 0x8000


@reading()
def _entries(data: bytes) -> list[tuple[Cubin, str, int]]:
    """Return the members as stored, the package that unpacks each, and its unpacked size."""
    at, size = _HEADER.unpack_from(data)
    end, entries = at + size, []
    while at < end:
        number, header, padded, compressed, arch, flags, full = _ENTRY.unpack_from(data, at)
        start = at + header
        at = start + padded
        # With a size of 0, the next member would be this one again.
        if header < _ENTRY.size or at > end or end > len(data):
            raise ImageError(f"truncated or damaged: it has {len(data)} bytes")
        kind, prefix = _KINDS.get(number, (f"kind {number}", "sm"))
        suffix = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
        package = "lz4" if flags & _LZ4 else "zstandard" if flags & _ZSTD else ""
        stored = data[start : start + (compressed if package else padded)]
        entries.append((Cubin(stored, f"{prefix}_{arch}{suffix}", kind=kind), package, full))
    return entries


def archs(data: bytes) -> str:
    """Return the architectures that a fatbin has images for, in order."""
    return ", ".join(dict.fromkeys(stored.arch for stored, *_ in _entries(data)))


def members(data: bytes) -> Iterator[Cubin | str]:
    """Yield a fatbin's cubins and PTX; for other members, why they cannot be read."""
    for stored, package, size in _entries(data):
        found = _unpacked(stored, package, size)
        yield f"the member for {stored.arch}: {found}" if isinstance(found, str) else found


def _unpacked(stored: Cubin, package: str, size: int) -> Cubin | str:
    kind, image = stored.kind, stored.image
    if kind not in ("cubin", "ptx"):
        return f"cannot read {kind}"
    try:
        if package == "lz4":
            block: Any = importlib.import_module("lz4.block")
            image = block.decompress(image, uncompressed_size=size)
        elif package:
            own = "compression.zstd" if sys.version_info >= (3, 14) else package
            zstd: Any = importlib.import_module(own)
            image = zstd.ZstdDecompressor().decompress(image, size + 1)
    except ImportError:
        return f"it is compressed; run: pip install {package}"
    except Exception as error:  # each package has its own classes
        return f"damaged data: {error}"
    if kind == "ptx":
        image = image.rstrip(b"\0")
    elif image[16:17] == b"\1":  # e_type follows e_ident; 1 is a relocatable file
        kind = "relocatable"
    return replace(stored, image=image, kind=kind)


def in_host_file(content: bytes | mmap) -> Iterator[tuple[str, bytes]]:
    """Yield the fatbins that nvcc embedded in a host file, each with its section's name."""
    file = Elf(content)
    # Unlinked ones (-rdc=true) remain in shared objects, unused.
    for name in (".nv_fatbin", "__nv_relfatbin") if file.is_object else (".nv_fatbin",):
        section = file.body(file.named.get(name))
        at = section.find(MAGIC)
        while 0 <= at <= len(section) - _HEADER.size:
            header_size, size = _HEADER.unpack_from(section, at)
            yield name, section[at : at + header_size + size]
            at = section.find(MAGIC, at + header_size + size)  # padding lies between them


def merged_kernels(members: Iterable[Cubin]) -> tuple[Kernel, ...]:
    """Return the kernels of several images, each from the first image that has it."""
    found: dict[str, Kernel] = {}
    for member in members:
        for kernel in member.kernels:
            known = found.setdefault(kernel.name, kernel)
            passed = {(x.param_sizes, x.grid_in_clusters and x.cluster) for x in (known, kernel)}
            if len(passed) > 1:
                raise ValueError(
                    f"kernel {kernel.name!r} has different parameters or a different "
                    f"__block_size__ for {member.arch}: use one declaration, or two names"
                )
    return tuple(found.values())
