"""The reader of cubins, on images written by hand."""

from __future__ import annotations

import struct

import pytest
from elf_builder import Entry, Image, item, kparam, kparam_v2, number_item

from tvmffi_cubin import CubinError
from tvmffi_cubin.kernels import nv_info
from tvmffi_cubin.kernels.cubin import Cubin, Parameter
from tvmffi_cubin.kernels.image import read_image


def read(data: bytes) -> Cubin:
    image = read_image(Cubin(data, "", name="k.cubin"), wanted=("cubin", "relocatable"))
    image.kernels  # noqa: B018 - parses it
    return image


def kernel_of(entry: Entry, **image):
    return nv_info.kernels(Image([entry], **image).build())[0]


def shape(attribute: int, x: int, y: int, z: int) -> bytes:
    return item(attribute, struct.pack("<III", x, y, z))


def test_parameters_of_either_form_are_ordered_by_ordinal():
    kernel = kernel_of(Entry("k", kparam(1, 8, 4) + kparam(0, 0, 8)))
    assert kernel.params == (Parameter(0, 0, 8), Parameter(1, 8, 4))
    kernel = kernel_of(Entry("k", kparam_v2(1, 5000, 8) + kparam_v2(0, 0, 5000)))
    assert kernel.params == (Parameter(0, 0, 5000), Parameter(1, 5000, 8))


def test_registers_and_local_bytes():
    kernel = kernel_of(Entry("k", registers=40, frame=16, stack=64))
    assert (kernel.registers, kernel.local_bytes) == (40, 64)
    # A recursive kernel's stack has no bound.
    assert kernel_of(Entry("k", frame=48, stack=0xFFFFFFFF)).local_bytes == 48


@pytest.mark.parametrize(
    ("flags", "shared", "want"),
    [(0x500550, 400, 400), (0x5A055A, 1424, 400), (0x5A055A, 0, 0), (0x5A055A, None, 0)],
)
def test_shared_bytes_leave_out_what_the_system_reserves(flags, shared, want):
    assert kernel_of(Entry("k", shared=shared), flags=flags).static_smem_bytes == want


def test_blocks_are_limited_by_bounds_and_by_a_required_shape():
    assert kernel_of(Entry("k", shape(0x05, 16, 8, 2))).max_threads == 256
    assert kernel_of(Entry("k")).max_threads == 1024
    kernel = kernel_of(Entry("k", shape(0x10, 32, 4, 2)))
    assert (kernel.required_block, kernel.max_threads) == ((32, 4, 2), 256)


def test_cluster_dimensions():
    explicit, of_clusters = number_item(0x3E, 0, 1), number_item(0x5B, 0, layout=1)
    assert kernel_of(Entry("k", explicit + shape(0x3D, 1, 1, 1))).cluster == (1, 1, 1)
    # __block_size__ alone writes a cluster of one block.
    assert kernel_of(Entry("k", shape(0x3D, 1, 1, 1))).cluster is None
    kernel = kernel_of(Entry("k", explicit + shape(0x3D, 2, 1, 1)))
    assert (kernel.cluster, kernel.grid_in_clusters) == ((2, 1, 1), False)
    assert kernel_of(Entry("k", of_clusters + shape(0x3D, 2, 1, 1))).grid_in_clusters


ACCELERATED = {".nv.compat": number_item(0x02, 1, 2) + number_item(0x09, 1, 2)}


@pytest.mark.parametrize(
    ("flags", "osabi", "extra", "want"),
    [
        (0x4B054B, 0x33, {}, "sm_75"),
        (0x5A0D5A, 0x33, {}, "sm_90a"),
        (0x6006402, 0x41, {}, "sm_100"),
        (0x600640A, 0x41, {}, "sm_100a"),
        (0x6005A04, 0x41, ACCELERATED, "sm_90a"),
        (0x6006402, 0x41, {".nv.compat": number_item(0x09, 0, 2)}, "sm_100"),
        (0x6006402, 0x41, {".note.nv.tkinfo": b"ptxas\0-arch sm_100f \0"}, "sm_100f"),
        (0x6006702, 0x41, {".note.nv.tkinfo": b"ptxas\0-arch sm_100f \0"}, "sm_103"),
    ],
)
def test_architecture(flags, osabi, extra, want):
    image = Image([Entry("k")], flags=flags, osabi=osabi, abi_version=8, extra=extra)
    assert read(image.build()).arch == want


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it is empty"),
        (b"\x7fELF\x02\x01", "truncated"),
        (b"\x50\xed\x55\xba\x01\0\x10\0", "corrupt fatbin"),
        (b"\xed\x43\x4e\x7f\x01\x40", "LTO-IR"),
        (b"//\n// NVIDIA NVVM\n/* x */\n.version 8.8\n.target sm_90", "PTX"),
        (b'extern "C" __global__ void k() {}', "CUDA source"),
        (b"!<arch>\nfoo", "static library"),
        (b"hello world", "68 65 6c 6c"),
        (Image([Entry("k")], machine=62).build(), "a shared object or a program of the host"),
    ],
)
def test_what_is_no_cubin_is_named(data, text):
    with pytest.raises(CubinError, match="k.cubin: ") as error:
        read(data)
    assert text in str(error.value)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999])
def test_a_truncated_image_says_so(share):
    data = Image([Entry("k", kparam(0, 0, 8))]).build()
    with pytest.raises(CubinError, match=r"corrupt .*truncated or damaged"):
        read(data[: int(len(data) * share)])


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (kparam(1, 8, 8), "kernel 'k' has gaps in its parameter list"),
        (struct.pack("<BBH", 4, 0x17, 12), "corrupt cubin: it is truncated or damaged"),
        (item(0x17, b"1234"), "corrupt cubin: it is truncated or damaged"),
    ],
)
def test_corrupt_attributes_are_an_error(info, message):
    with pytest.raises(CubinError, match=message):
        kernel_of(Entry("k", info))


def test_an_image_is_bytes():
    with pytest.raises(TypeError, match="Cubin: image is bytes, got str"):
        Cubin("k.cubin", "sm_90")
