"""Fatbins, written by hand: what is in them, whatever they are."""

import random
import struct
import types

import pytest
from elf_builder import Entry, Image, kparam, number_item
from fatbin_builder import ELF, FAMILY, LTOIR, LZ4, PTX, SPECIFIC, ZSTD, Row, fatbin
from hypothesis import given, settings
from hypothesis import strategies as st
from packing import in_lz4, in_zstd

from tvmffi_cubin import fatbin as fatbins
from tvmffi_cubin import zstd
from tvmffi_cubin.cubin import Cubin

TEXT = b".version 8.8\n.target sm_90\n.entry k(.param .u64 a) { ret; }\n"


def image(*entries: Entry, **more) -> bytes:
    built = Image(list(entries) or [Entry("k", kparam(0, 0, 8))], **more).build()
    return built + bytes(-len(built) % 8)  # as fatbins pad them


def test_members_are_read_in_order_with_kind_architecture_and_size():
    elf = image()
    members = fatbins.read(
        fatbin(
            Row(80, elf),
            Row(90, elf, flags=SPECIFIC),
            Row(100, elf, flags=FAMILY | 0x1000000, more_header=bytes(40)),
            Row(90, TEXT, PTX),
            Row(80, b"12345678", LTOIR),
            Row(80, b"", 64),
        )
    )
    assert [(m.kind, m.arch, m.size) for m in members] == [
        ("cubin", "sm_80", len(elf)),
        ("cubin", "sm_90a", len(elf)),
        ("cubin", "sm_100f", len(elf)),
        ("ptx", "compute_90", -(-len(TEXT) // 8) * 8),
        ("ltoir", "lto_80", 8),
        ("kind 64", "sm_80", 0),
    ]
    assert members[0].data() == elf
    assert members[3].data() == TEXT


def test_bytes_after_the_container_are_not_its():
    assert len(fatbins.read(fatbin(Row(80, image())) + b"more")) == 1


def test_a_member_in_lz4_is_decompressed():
    elf = image()
    data = fatbin(Row(80, in_lz4(elf), flags=LZ4, full=len(elf)))
    (member,) = fatbins.read(data)
    assert (member.compression, member.size) == ("lz4", len(elf))
    assert member.data() == elf
    assert [kernel.name for kernel in fatbins.read_cubin(data).kernels] == ["k"]


@pytest.mark.parametrize("name", ["compression.zstd", "zstandard"])
def test_a_member_in_zstd_is_decompressed_by_what_there_is(name, monkeypatch):
    elf = image()
    stand_in = types.SimpleNamespace(ZstdError=KeyError)
    reversed_bytes = {"compression.zstd": PythonsOwn, "zstandard": Package}[name]
    stand_in.ZstdDecompressor = reversed_bytes

    def imported(wanted):
        if wanted != name:
            raise ImportError
        return stand_in

    monkeypatch.setattr(zstd.importlib, "import_module", imported)
    (member,) = fatbins.read(fatbin(Row(80, elf[::-1], flags=ZSTD, full=len(elf))))
    assert member.data() == elf
    (short,) = fatbins.read(fatbin(Row(80, elf[::-1], flags=ZSTD, full=len(elf) - 1)))
    with pytest.raises(ValueError, match="damaged zstd data"):
        short.data()


class PythonsOwn:
    def decompress(self, data, limit):
        return data[::-1][:limit]


class Package:
    def stream_reader(self, data):
        self.data = data
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def read(self, limit):
        return self.data[::-1][:limit]


def test_without_zstd_the_other_members_are_read_and_the_reason_is_given(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(zstd.importlib, "import_module", missing)
    monkeypatch.setattr(zstd, "_library", lambda: None)
    data = fatbin(Row(80, b"\x28\xb5\x2f\xfd", flags=ZSTD, full=9), Row(90, image()))
    cubins, problems = fatbins.readable(data)
    assert [cubin.arch for cubin in cubins] == ["sm_90"]
    assert problems == (
        "the member for sm_80: it is compressed by zstd: Python 3.14 reads it, or "
        "pip install zstandard, or the system's libzstd.so.1",
    )
    whole = fatbins.read_cubin(data)
    assert (whole.archs, len(whole.members)) == (("sm_80", "sm_90"), 1)


@pytest.mark.skipif(zstd._library() is None, reason="the system has no libzstd.so.1")
def test_a_member_in_zstd_is_decompressed_by_the_system_s_library(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(zstd.importlib, "import_module", missing)
    elf = image()
    whole = fatbins.read_cubin(fatbin(Row(80, in_zstd(elf), flags=ZSTD, full=len(elf))))
    assert [kernel.name for kernel in whole.kernels] == ["k"]
    for size, problem in ((len(elf) - 1, "too small"), (len(elf) + 1, f"holds {len(elf)} bytes")):
        (member,) = fatbins.read(fatbin(Row(80, in_zstd(elf), flags=ZSTD, full=size)))
        with pytest.raises(ValueError, match=f"damaged zstd data: .*{problem}"):
            member.data()
    (member,) = fatbins.read(fatbin(Row(80, in_zstd(elf)[:-9], flags=ZSTD, full=len(elf))))
    with pytest.raises(ValueError, match="damaged zstd data"):
        member.data()


@pytest.mark.parametrize("flags", [ZSTD, LZ4])
def test_a_small_member_that_announces_a_huge_image_is_refused(flags):
    (member,) = fatbins.read(fatbin(Row(80, bytes(64), flags=flags, full=1 << 31)))
    with pytest.raises(ValueError, match="announces 2147483648 bytes, of 64 at most 16793536 are"):
        member.data()


@pytest.mark.skipif(not zstd.is_readable(), reason="nothing here reads zstd")
def test_many_small_members_of_huge_images_are_not_all_read():
    # A block of one byte, repeated 128 KiB times.
    block = (1 << 20 | 2).to_bytes(3, "little") + b"\0"
    last = (1 << 20 | 3).to_bytes(3, "little") + b"\0"
    size = 100 << 17
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", size) + block * 99 + last
    data = fatbin(*[Row(80, frame, flags=ZSTD, full=size)] * 8)
    cubins, problems = fatbins.readable(data)
    assert len(cubins) < 4
    assert "with those before it, it announces more than" in problems[-1]


def test_whatever_zstd_is_there_reads_damaged_data_as_a_value_error():
    (member,) = fatbins.read(fatbin(Row(80, b"\x28\xb5\x2f\xfdxyz", flags=ZSTD, full=9)))
    with pytest.raises(ValueError, match="zstd"):
        member.data()


@pytest.mark.parametrize("row", [Row(80, b"x", LTOIR), Row(80, b"x", 64)])
def test_a_member_that_is_neither_cubin_nor_ptx_is_not_read(row):
    (member,) = fatbins.read(fatbin(row))
    with pytest.raises(ValueError, match="which is not read here"):
        member.data()


def test_an_unlinked_member_is_told_from_an_image():
    whole = fatbins.read_cubin(fatbin(Row(80, image(file_type=1)), Row(90, image())))
    assert [member.kind for member in whole.members] == ["relocatable", "cubin"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a fatbin: it begins with nothing"),
        (b"\x7fELF" + bytes(60), "not a fatbin: it begins with 7f 45 4c 46"),
        (fatbin(Row(80, bytes(64)))[:-1], "announces 144 bytes and has 143"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 8, 8), "announces 16 bytes and has 16"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 8) + bytes(8), "at byte 16 is cut off"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + bytes(64), "overruns the container"),
    ],
)
def test_what_is_no_whole_fatbin_is_a_value_error(data, message):
    with pytest.raises(ValueError, match=message):
        fatbins.read(data)


def test_an_empty_fatbin_has_no_members_and_is_no_image():
    assert fatbins.read(fatbin()) == ()
    with pytest.raises(ValueError, match="empty: no image"):
        fatbins.read_cubin(fatbin())


def test_a_huge_announced_size_is_refused_unread():
    (member,) = fatbins.read(fatbin(Row(80, bytes(8), flags=LZ4, full=1 << 60)))
    with pytest.raises(ValueError, match="at most"):
        member.data()


# Kernels over the members


def test_kernels_are_those_of_all_members_each_as_the_most_that_it_uses():
    old = image(Entry("k", kparam(0, 0, 8), registers=40, shared=100), flags=0x500550)
    new = image(
        Entry("k", kparam(0, 16, 8), registers=16, shared=1024 + 300, frame=8),
        Entry("only", kparam(0, 0, 4)),
    )
    whole = fatbins.read_cubin(fatbin(Row(80, old), Row(90, new), Row(90, TEXT, PTX)))
    k, only = whole.kernels
    assert (k.name, only.name) == ("k", "only")
    assert (k.registers, k.static_smem_bytes, k.local_bytes) == (40, 300, 8)
    assert k.params[0].offset == 0


def test_a_kernel_with_other_parameters_elsewhere_is_a_value_error():
    other = image(Entry("k", kparam(0, 0, 8) + kparam(1, 8, 4)))
    whole = fatbins.read_cubin(fatbin(Row(80, image()), Row(90, other)))
    with pytest.raises(
        ValueError, match=r"'k' takes .*\[8\] bytes for sm_80 and .*\[8, 4\] for sm_9"
    ):
        whole.kernels  # noqa: B018


def cluster(*dims):
    return struct.pack("<BBH3I", 4, 0x3D, 12, *dims)


def test_a_cluster_that_only_some_members_fix_is_left_to_the_driver():
    plain, fixed = image(Entry("k", b"")), image(Entry("k", cluster(2, 1, 1)))
    for one, other, merged in (
        (plain, fixed, None),
        (fixed, plain, None),
        (fixed, fixed, (2, 1, 1)),
    ):
        whole = fatbins.read_cubin(fatbin(Row(80, one), Row(90, other)))
        assert whole.kernels[0].cluster == merged


def test_a_grid_that_is_counted_in_clusters_for_some_members_alone_is_a_value_error():
    plain = image(Entry("k", cluster(2, 1, 1)))
    counted = image(Entry("k", number_item(0x5B, 0, layout=1) + cluster(2, 1, 1)))
    whole = fatbins.read_cubin(fatbin(Row(80, plain), Row(90, counted)))
    with pytest.raises(
        ValueError, match="grid of kernel 'k' in clusters for one of sm_80 and sm_9"
    ):
        whole.kernels  # noqa: B018
    single = image(Entry("k", number_item(0x5B, 0, layout=1) + cluster(1, 1, 1)))
    whole = fatbins.read_cubin(fatbin(Row(80, image(Entry("k", b""))), Row(90, single)))
    assert not whole.kernels[0].grid_in_clusters


def test_members_of_another_image_are_none():
    assert Cubin(image(), "sm_80").members == ()


# Whatever the bytes


@settings(max_examples=300)
@given(st.data())
def test_any_damage_to_a_fatbin_gives_members_or_a_value_error(data):
    elf = image()
    rows = [Row(80, elf), Row(90, in_lz4(elf), flags=LZ4, full=len(elf)), Row(90, TEXT, PTX)]
    whole = bytearray(fatbin(*rows))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.sampled_from([*range(16 + 64), *range(len(whole))]))
        whole[at] = data.draw(st.integers(0, 255))
    whole = whole[: data.draw(st.integers(0, len(whole)))]
    read_all(bytes(whole))


@settings(max_examples=300)
@given(st.binary(max_size=300), st.sampled_from([PTX, ELF, LTOIR, 0, 99]), st.integers(0, 2**26))
def test_any_payload_gives_kernels_or_a_value_error(payload, kind, flags):
    read_all(fatbin(Row(80, payload, kind, flags, full=random.Random(flags).randrange(400))))


def read_all(data: bytes) -> None:
    try:
        cubin = fatbins.read_cubin(data)
        members = cubin.members
    except ValueError:
        return
    assert len(members) <= len(cubin.archs) or len(set(cubin.archs)) < len(fatbins.read(data))
    try:
        kernels = cubin.kernels
    except ValueError:
        return
    assert len({kernel.name for kernel in kernels}) == len(kernels)
