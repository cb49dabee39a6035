"""Fatbins, written by hand: what is in them, whatever they are."""

import struct
import sys

import pytest
from elf_builder import Entry, Image, item, kparam, number_item
from fatbin_builder import FAMILY, LTOIR, LZ4, PTX, SPECIFIC, ZSTD, Row, fatbin

from tvmffi_cubin import CubinError
from tvmffi_cubin.kernels.cubin import Cubin
from tvmffi_cubin.kernels.image import read_image

TEXT = b".version 8.8\n.target sm_90\n.entry k(.param .u64 a) { ret; }\n"


def read(*rows: Row) -> Cubin:
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
                Row(90, TEXT, PTX),
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
        ("ptx", "compute_90", TEXT),
    ]
    assert whole.unreadable == ("the member for lto_80: it is ltoir, which is not read here",)
    whole = read(Row(80, image(file_type=1)), Row(90, elf))
    assert [member.kind for member in whole.members] == ["relocatable", "cubin"]


@pytest.mark.parametrize("package", ["lz4.block", "zstandard"])
def test_a_member_that_is_compressed_is_read_where_its_package_is_there(package, monkeypatch):
    module = pytest.importorskip(package)
    if package == "zstandard":
        flags, block = ZSTD, module.ZstdCompressor().compress(bytes(1000))
    else:
        flags, block = LZ4, module.compress(bytes(1000), store_size=False)

    def whole(data: bytes) -> Cubin:
        return read(Row(80, data, flags=flags, full=1000), Row(90, image()))

    assert whole(block).members[0].image == bytes(1000)
    assert whole(block[:-3]).unreadable[0].startswith("the member for sm_80: damaged data")
    for name in ("lz4.block", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    unread = whole(block)
    assert (unread.archs, [x.arch for x in unread.members]) == (("sm_80", "sm_90"), ["sm_90"])
    assert "the member for sm_80: it is compressed; run: pip install" in unread.unreadable[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (fatbin(Row(80, bytes(64)))[:-1], "truncated or damaged: 143 bytes"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + bytes(64), "corrupt fatbin: it is trunca"),
        (fatbin(), "the fatbin is empty"),
    ],
)
def test_what_is_no_whole_fatbin_is_an_error(data, message):
    with pytest.raises(CubinError, match=message):
        read_image(Cubin(data, ""))


def test_kernels_are_those_of_all_members_each_as_the_most_that_it_uses():
    cluster = item(0x3D, struct.pack("<3I", 2, 1, 1))
    old = image(Entry("k", kparam(0, 0, 8), registers=40, shared=100), flags=0x500550)
    new = image(
        Entry("k", kparam(0, 16, 8) + cluster, registers=16, shared=1024 + 300, frame=8),
        Entry("only", kparam(0, 0, 4) + cluster),
    )
    k, only = read(Row(80, old), Row(90, new), Row(90, TEXT, PTX)).kernels
    assert (k.name, k.registers, k.static_smem_bytes, k.local_bytes) == ("k", 40, 300, 8)
    assert (k.param_sizes, k.cluster) == ((8,), None)
    assert (only.name, only.cluster) == ("only", (2, 1, 1))
    more = image(Entry("k", kparam(0, 0, 8) + kparam(1, 8, 4)))
    with pytest.raises(ValueError, match="'k' takes other parameters for sm_90"):
        read(Row(80, image()), Row(90, more)).kernels  # noqa: B018
    fixed = image(Entry("k", cluster))
    counted = image(Entry("k", number_item(0x5B, 0, layout=1) + cluster))
    with pytest.raises(ValueError, match="or counts its grid in clusters"):
        read(Row(80, fixed), Row(90, counted)).kernels  # noqa: B018
