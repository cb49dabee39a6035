"""Reads cubins: kernels, parameters and resources from ``.nv.info``; architecture; symbols."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from math import prod

from .cubin import Kernel
from .elf import GLOBAL, Elf, Symbol, reading

# Symbol types: functions, variables, and NVIDIA's own for the variables of an unlinked image.
_FUNCTION, _SHARED = 2, (2, 1, 13)
_ENTRY = 0x10
SPACE = 0xE0  # bits of `Symbol.other` that tell global, shared and constant memory apart
_OSABI_CUDA13 = 0x41

# EIATTR_*: the attributes of .nv.info and .nv.info.<kernel>.
_MAX_THREADS, _REQNTID = 0x05, 0x10
_FRAME_SIZE, _REGCOUNT = 0x11, 0x2F
_KPARAM_INFO, _KPARAM_INFO_V2 = 0x17, 0x45
_CTA_PER_CLUSTER, _EXPLICIT_CLUSTER, _BLOCKS_ARE_CLUSTERS = 0x3D, 0x3E, 0x5B
_ACCELERATOR_TARGET = 0x09  # EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET, in .nv.compat
_FORMAT_SIZED = 4


@reading()
def kernels(data: bytes) -> tuple[Kernel, ...]:
    """Return the kernels of a cubin, in the symbol table's order."""
    elf = Elf(data)
    usage = {}
    for attribute, value in _attributes(elf, ".nv.info"):
        if attribute in (_FRAME_SIZE, _REGCOUNT):
            number, used = struct.unpack_from("<II", value)
            usage[number, attribute] = used
    return tuple(
        _kernel(elf, x, usage)
        for x in elf.symbols()
        if x.type == _FUNCTION and x.other & _ENTRY and not x.is_undefined
    )


def shared_symbols(data: bytes) -> list[Symbol]:
    """Return the functions and variables of a relocatable cubin that only one unit may define."""
    # Weak ones, from templates and inline functions, may be in several.
    return [x for x in Elf(data).symbols() if x.binding == GLOBAL and x.type in _SHARED]


@reading()
def arch(elf: Elf) -> str:
    """Return the architecture that a cubin is for."""
    number = _number(elf)
    accelerated = elf.flags & (0x8 if elf.ident[7] >= _OSABI_CUDA13 else 0x800)
    # CUDA 13 moved the `a` of sm_90a from the flags to its own section.
    if accelerated or (_ACCELERATOR_TARGET, b"\1\0") in _attributes(elf, ".nv.compat"):
        return f"sm_{number}a"
    # The `f` of sm_100f is recorded only in the assembler's command line.
    family = re.search(rb"\bsm_%df\b" % number, elf.body(elf.named.get(".note.nv.tkinfo")))
    return f"sm_{number}{'f' if family else ''}"


def _number(elf: Elf) -> int:
    return int(elf.flags >> 8 & 0xFFFF if elf.ident[7] >= _OSABI_CUDA13 else elf.flags & 0xFF)


def _kernel(elf: Elf, symbol: Symbol, usage: Mapping[tuple[int, int], int]) -> Kernel:
    found, sizes = {}, {}
    for attribute, value in _attributes(elf, f".nv.info.{symbol.name}"):
        found[attribute] = value
        if attribute in (_KPARAM_INFO, _KPARAM_INFO_V2):
            _, ordinal, _, bits = struct.unpack_from("<IHHI", value)
            # The upper bits of the newer form hold the pointee's space and alignment.
            sizes[ordinal] = bits >> 18 if attribute == _KPARAM_INFO else bits & 0xFFFF
    required, most, cluster = (
        struct.unpack_from("<III", found[attribute]) if attribute in found else None
        for attribute in (_REQNTID, _MAX_THREADS, _CTA_PER_CLUSTER)
    )
    if cluster == (1, 1, 1) and _EXPLICIT_CLUSTER not in found:  # from __block_size__ alone
        cluster = None
    shared = elf.named.get(f".nv.shared.{symbol.name}")
    # From sm_90 on, the size includes each block's first bytes, which the system reserves.
    reserved = 1024 if _number(elf) >= 90 else 0
    return Kernel(
        name=symbol.name,
        param_sizes=tuple(sizes[ordinal] for ordinal in sorted(sizes)),
        registers=usage.get((symbol.number, _REGCOUNT), 0),
        static_smem_bytes=max(0, shared.size - reserved) if shared else 0,
        local_bytes=usage.get((symbol.number, _FRAME_SIZE), 0),
        max_threads=min(prod(required or most or (1024,)), 1024),
        required_block=required,
        cluster=cluster,
        grid_in_clusters=_BLOCKS_ARE_CLUSTERS in found and prod(cluster or (1,)) > 1,
    )


def _attributes(elf: Elf, name: str) -> Iterator[tuple[int, bytes]]:
    data, at = elf.body(elf.named.get(name)), 0
    while at < len(data):
        layout, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        # Either the value itself, of two bytes, or the size of the value that follows.
        size = value if layout == _FORMAT_SIZED else 0
        yield attribute, data[at : at + size] if size else struct.pack("<H", value)
        at += size
