"""The readers of cubins, PTX and fatbins, on images written by hand."""

from __future__ import annotations

import struct
import sys

import pytest
from elf_builder import (
    FAMILY,
    LTOIR,
    LZ4,
    PTX,
    SPECIFIC,
    ZSTD,
    Entry,
    Image,
    Row,
    fatbin,
    item,
    kparam,
    kparam_v2,
    number_item,
)  # fmt: skip

from tvmffi_cubin import CubinError
from tvmffi_cubin.kernels import nv_info, ptx
from tvmffi_cubin.kernels.cubin import Cubin, read_image


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
        (kernel_of(kparam(1, 8, 4) + kparam(0, 0, 8)), {"param_sizes": (8, 4)}),
        (kernel_of(kparam_v2(1, 5000, 8) + kparam_v2(0, 0, 5000)), {"param_sizes": (5000, 8)}),
        # From sm_90 on the system reserves 1 KB.
        (kernel_of(flags=0x5A055A, shared=1424), {"static_smem_bytes": 400}),
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
OF_FAMILY = {".note.nv.tkinfo": b"ptxas\0-arch sm_100f \0"}


@pytest.mark.parametrize(
    ("flags", "osabi", "extra", "want"),
    [
        (0x4B054B, 0x33, {}, "sm_75"),
        (0x5A0D5A, 0x33, {}, "sm_90a"),
        (0x6006402, 0x41, {}, "sm_100"),
        (0x6005A04, 0x41, ACCELERATED, "sm_90a"),
        (0x6006402, 0x41, OF_FAMILY, "sm_100f"),
    ],
)
def test_architecture(flags, osabi, extra, want):
    image = Image([Entry("k")], flags=flags, osabi=osabi, extra=extra)
    assert read(image.build()).arch == want


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not an image: it starts with b''"),
        (b"\x50\xed\x55\xba\x01\0\x10\0", "truncated or damaged"),
        (b"//\n// NVIDIA NVVM\n/* x */\n.version 8.8\n.target sm_90", "'ptx'"),
        (b'extern "C" __global__ void k() {}', "not an image: it starts with .* __global__"),
        (b"!<arch>\nfoo", "'library'"),
        (Image([Entry("k")], machine=62).build(), "'shared object'"),
        (Image([Entry("k")]).build()[:600], "truncated or damaged"),
    ],
)
def test_what_is_no_cubin_is_named(data, text):
    with pytest.raises(CubinError, match=text):
        read(data)
    with pytest.raises(TypeError, match="Cubin: image must be bytes, got str"):
        Cubin("k.cubin", "sm_90")


# PTX


HEAD = "//\n// Compiler Build ID: CL-1\n//\n.version 8.8\n.target sm_90\n.address_size 64\n"
TEXT = (
    HEAD
    + """
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 everyones[100];  // .entry comment( {
.global .align 1 .b8 text[8] = {1, 2, 3};
.visible .entry declared_only(.param .u64 p);
	// .globl	_Z4fillIfEvPT_S0_
.visible .entry _Z4fillIfEvPT_S0_(
	.param .u8 a,
	.param .u64 .ptr .global .align 4 b,
	.param .align 4 .b8 c[12],
	.param .align 64 .b8 d[128],
	.param .f16x2 e,
	.param .b128 f
)
.maxntid 16, 8
.minnctapersm 2
{
  .reg .b32 %r<3>;
  { .reg .b32 %r1; mov.b64 {%r1, %r2}, %rd1; }
  ret;
}
.entry $fixed.1
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{ ret; }
"""
)


def test_kernels_are_as_the_text_declares_them():
    assert ptx.arch(TEXT.encode()) == "compute_90"
    fill, fixed = Cubin(TEXT.encode(), "compute_90", kind="ptx").kernels
    assert (fill.name, fixed.name) == ("_Z4fillIfEvPT_S0_", "$fixed.1")
    assert (fill.param_sizes, fixed.param_sizes) == ((1, 8, 12, 128, 4, 16), ())
    assert (fill.max_threads, fill.required_block, fill.cluster) == (128, None, None)
    assert (fixed.max_threads, fixed.required_block, fixed.cluster) == (64, (64, 1, 1), (2, 1, 1))
    assert not fixed.grid_in_clusters
    counted = ptx.kernels(TEXT.replace(".explicitcluster", ".blocksareclusters").encode())
    assert [kernel.grid_in_clusters for kernel in counted if kernel.cluster] == [True]


@pytest.mark.parametrize("text", ["hello", ".version 8.8", "// .version 8.8\n.target sm_90"])
def test_other_text_has_no_architecture(text):
    assert ptx.arch(text.encode()) == ""


# Fatbins


PTX_TEXT = b".version 8.8\n.target sm_90\n.entry k(.param .u64 a) { ret; }\n"


def read_fatbin(*rows: Row) -> Cubin:
    return read_image(Cubin(fatbin(*rows), ""))


def image(*entries: Entry, **more) -> bytes:
    built = Image(list(entries) or [Entry("k", kparam(0, 0, 8))], **more).build()
    return built + bytes(-len(built) % 8)  # as fatbins pad them


def test_members_are_read_in_order_with_kind_and_architecture():
    elf = image()
    whole = read_image(
        Cubin(
            fatbin(
                Row(80, elf),
                Row(90, elf, flags=SPECIFIC),
                Row(100, elf, flags=FAMILY | 0x1000000, more_header=bytes(40)),
                Row(90, PTX_TEXT, PTX),
                Row(80, b"12345678", LTOIR),
            )
            + b"more",
            "",
        )
    )
    assert whole.arch == "sm_80, sm_90a, sm_100f, compute_90, lto_80"
    assert [(m.kind, m.arch, m.image) for m in whole.members] == [
        ("cubin", "sm_80", elf),
        ("cubin", "sm_90a", elf),
        ("cubin", "sm_100f", elf),
        ("ptx", "compute_90", PTX_TEXT),
    ]
    assert whole.unreadable == ("the member for lto_80: cannot read ltoir",)
    whole = read_fatbin(Row(80, image(file_type=1)), Row(90, elf))
    assert [member.kind for member in whole.members] == ["relocatable", "cubin"]


@pytest.mark.parametrize("package", ["lz4.block", "zstandard"])
def test_a_member_that_is_compressed_is_read_where_its_package_is_there(package, monkeypatch):
    module = pytest.importorskip(package)
    if package == "zstandard":
        flags, block = ZSTD, module.ZstdCompressor().compress(bytes(1000))
    else:
        flags, block = LZ4, module.compress(bytes(1000), store_size=False)

    def whole(data: bytes) -> Cubin:
        return read_fatbin(Row(80, data, flags=flags, full=1000), Row(90, image()))

    assert whole(block).members[0].image == bytes(1000)
    assert whole(block[:-3]).unreadable[0].startswith("the member for sm_80: damaged data")
    for name in ("lz4.block", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    unread = whole(block)
    assert (unread.archs, [x.arch for x in unread.members]) == (("sm_80", "sm_90"), ["sm_90"])
    assert "the member for sm_80: it is compressed; run: pip install" in unread.unreadable[0]


def test_kernels_are_those_of_all_members_each_as_the_first_has_it():
    cluster = item(0x3D, struct.pack("<3I", 2, 1, 1))
    old = image(Entry("k", kparam(0, 0, 8), registers=40, shared=100), flags=0x500550)
    new = image(
        Entry("k", kparam(0, 16, 8) + cluster, registers=16, shared=1024 + 300),
        Entry("only", kparam(0, 0, 4) + cluster),
    )
    k, only = read_fatbin(Row(80, old), Row(90, new), Row(90, PTX_TEXT, PTX)).kernels
    assert (k.name, k.registers, k.static_smem_bytes, k.local_bytes) == ("k", 40, 100, 8)
    assert (k.param_sizes, k.cluster) == ((8,), None)
    assert (only.name, only.cluster) == ("only", (2, 1, 1))
    more = image(Entry("k", kparam(0, 0, 8) + kparam(1, 8, 4)))
    with pytest.raises(ValueError, match="'k' has different parameters .* for sm_90"):
        read_fatbin(Row(80, image()), Row(90, more)).kernels  # noqa: B018
