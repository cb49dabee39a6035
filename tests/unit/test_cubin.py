"""The reader of cubins, on images written by hand."""

from __future__ import annotations

import struct

import pytest
from elf_builder import Entry, Image, item, kparam, kparam_v2, number_item

from tvmffi_cubin import CubinError
from tvmffi_cubin.kernels import nv_info
from tvmffi_cubin.kernels.cubin import Cubin
from tvmffi_cubin.kernels.image import read_image


def read(data: bytes) -> Cubin:
    image = read_image(Cubin(data, "", name="k.cubin"), wanted=("cubin", "relocatable"))
    image.kernels  # noqa: B018 - parses it
    return image


def kernel_of(info: bytes = b"", *, flags: int = 0x5A055A, **entry):
    return nv_info.kernels(Image([Entry("k", info, **entry)], flags=flags).build())[0]


def shape(attribute: int, x: int, y: int, z: int) -> bytes:
    return item(attribute, struct.pack("<III", x, y, z))


EXPLICIT, COUNTED = number_item(0x3E, 0, 1), number_item(0x5B, 0, layout=1)


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        # Either form of parameters, in any order.
        (
            kernel_of(kparam(1, 8, 4) + kparam(0, 0, 8)),
            {"param_sizes": (8, 4)},
        ),
        (
            kernel_of(kparam_v2(1, 5000, 8) + kparam_v2(0, 0, 5000)),
            {"param_sizes": (5000, 8)},
        ),
        # A recursive kernel's stack has no bound.
        (kernel_of(frame=48, stack=0xFFFFFFFF), {"local_bytes": 48}),
        # From sm_90 on the system reserves 1 KB.
        (kernel_of(flags=0x500550, shared=400), {"static_smem_bytes": 400}),
        (kernel_of(flags=0x5A055A, shared=1424), {"static_smem_bytes": 400}),
        (kernel_of(shape(0x05, 16, 8, 2)), {"max_threads": 256, "required_block": None}),
        (kernel_of(shape(0x10, 32, 4, 2)), {"max_threads": 256, "required_block": (32, 4, 2)}),
        # __block_size__ alone writes a cluster of one block.
        (kernel_of(shape(0x3D, 1, 1, 1)), {"cluster": None}),
        (
            kernel_of(EXPLICIT + shape(0x3D, 2, 1, 1)),
            {"cluster": (2, 1, 1), "grid_in_clusters": False},
        ),
    ],
)
def test_what_a_kernel_takes_and_uses(kernel, wanted):
    assert {name: getattr(kernel, name) for name in wanted} == wanted


ACCELERATED = {".nv.compat": number_item(0x02, 1, 2) + number_item(0x09, 1, 2)}
FAMILY = {".note.nv.tkinfo": b"ptxas\0-arch sm_100f \0"}


@pytest.mark.parametrize(
    ("flags", "osabi", "extra", "want"),
    [
        (0x4B054B, 0x33, {}, "sm_75"),
        (0x5A0D5A, 0x33, {}, "sm_90a"),
        (0x6006402, 0x41, {}, "sm_100"),
        (0x6005A04, 0x41, ACCELERATED, "sm_90a"),
        (0x6006402, 0x41, {".nv.compat": number_item(0x09, 0, 2)}, "sm_100"),
        (0x6006402, 0x41, FAMILY, "sm_100f"),
    ],
)
def test_architecture(flags, osabi, extra, want):
    image = Image([Entry("k")], flags=flags, osabi=osabi, abi_version=8, extra=extra)
    assert read(image.build()).arch == want


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it is empty"),
        (b"\x50\xed\x55\xba\x01\0\x10\0", "corrupt fatbin"),
        (b"//\n// NVIDIA NVVM\n/* x */\n.version 8.8\n.target sm_90", "PTX"),
        (b'extern "C" __global__ void k() {}', "CUDA source"),
        (b"!<arch>\nfoo", "static library"),
        (Image([Entry("k")], machine=62).build(), "shared object or program"),
        (Image([Entry("k", kparam(1, 8, 8))]).build(), "'k' has gaps in its parameter list"),
        (Image([Entry("k", struct.pack("<BBH", 4, 0x17, 12))]).build(), "corrupt cubin"),
        *((Image([Entry("k")]).build()[:size], "corrupt ELF") for size in (300, 600, -1)),
    ],
)
def test_what_is_no_cubin_is_named(data, text):
    with pytest.raises(CubinError, match=text):
        read(data)
    with pytest.raises(TypeError, match="Cubin: image is bytes, got str"):
        Cubin("k.cubin", "sm_90")
