"""The image parser, on images written by hand."""

from __future__ import annotations

import struct

import pytest
from elf_builder import Entry, Image, item, kparam, kparam_v2, number_item
from hypothesis import given, settings
from hypothesis import strategies as st

from tvmffi_cubin import elf
from tvmffi_cubin.cubin import Cubin, Parameter


def kernel_of(entry: Entry, **image):
    return elf.parse(Image([entry], **image).build()).kernels[0]


def shape(attribute: int, x: int, y: int, z: int) -> bytes:
    return item(attribute, struct.pack("<III", x, y, z))


def test_parameters_are_ordered_by_ordinal():
    kernel = kernel_of(Entry("k", kparam(1, 8, 4) + kparam(0, 0, 8)))
    assert kernel.params == (Parameter(0, 0, 8), Parameter(1, 8, 4))


def test_the_second_form_of_parameters_holds_more_than_4_kb():
    kernel = kernel_of(Entry("k", kparam_v2(1, 5000, 8) + kparam_v2(0, 0, 5000)))
    assert kernel.params == (Parameter(0, 0, 5000), Parameter(1, 5000, 8))


def test_registers_and_local_bytes():
    kernel = kernel_of(Entry("k", registers=40, frame=16, stack=64))
    assert (kernel.registers, kernel.local_bytes) == (40, 64)


def test_registers_fall_back_to_the_code_section():
    assert kernel_of(Entry("k", registers=None)).registers == 24


def test_a_recursive_kernel_reports_its_own_frame():
    assert kernel_of(Entry("k", frame=48, stack=0xFFFFFFFF)).local_bytes == 48


@pytest.mark.parametrize(("flags", "shared", "want"), [(0x500550, 400, 400), (0x5A055A, 1424, 400)])
def test_shared_bytes_leave_out_what_the_system_reserves(flags, shared, want):
    assert kernel_of(Entry("k", shared=shared), flags=flags).static_smem_bytes == want


def test_a_reserve_alone_is_no_shared_memory():
    assert kernel_of(Entry("k", shared=0)).static_smem_bytes == 0
    assert kernel_of(Entry("k")).static_smem_bytes == 0


def test_launch_bounds_limit_threads():
    assert kernel_of(Entry("k", shape(0x05, 16, 8, 2))).max_threads == 256
    assert kernel_of(Entry("k")).max_threads == 1024


def test_a_required_block_is_also_the_limit():
    kernel = kernel_of(Entry("k", shape(0x10, 32, 4, 2)))
    assert kernel.required_block == (32, 4, 2)
    assert kernel.max_threads == 256


def test_cluster_dimensions():
    explicit = number_item(0x3E, 0, 1)
    assert kernel_of(Entry("k", explicit + shape(0x3D, 2, 1, 1))).cluster == (2, 1, 1)
    assert kernel_of(Entry("k", explicit + shape(0x3D, 1, 1, 1))).cluster == (1, 1, 1)
    assert kernel_of(Entry("k", shape(0x3D, 4, 1, 1))).cluster == (4, 1, 1)
    # __block_size__ alone writes a cluster of one block.
    assert kernel_of(Entry("k", shape(0x3D, 1, 1, 1))).cluster is None


def test_a_grid_that_is_counted_in_clusters():
    of_clusters = number_item(0x5B, 0, layout=1)
    kernel = kernel_of(Entry("k", of_clusters + shape(0x3D, 2, 1, 1)))
    assert (kernel.cluster, kernel.grid_in_clusters) == ((2, 1, 1), True)
    assert not kernel_of(Entry("k", shape(0x3D, 2, 1, 1))).grid_in_clusters


ACCELERATED = {".nv.compat": number_item(0x02, 1, 2) + number_item(0x09, 1, 2)}


@pytest.mark.parametrize(
    ("flags", "osabi", "extra", "want"),
    [
        (0x4B054B, 0x33, {}, "sm_75"),
        (0x5A055A, 0x33, {}, "sm_90"),
        (0x5A0D5A, 0x33, {}, "sm_90a"),
        (0x6006402, 0x41, {}, "sm_100"),
        (0x600640A, 0x41, {}, "sm_100a"),
        (0x6005A04, 0x41, {}, "sm_90"),
        (0x6005A04, 0x41, ACCELERATED, "sm_90a"),
        (0x6006402, 0x41, {".nv.compat": number_item(0x09, 0, 2)}, "sm_100"),
        (0x6006402, 0x41, {".note.nv.tkinfo": b"ptxas\0-arch sm_100f \0"}, "sm_100f"),
        (0x6006702, 0x41, {".note.nv.tkinfo": b"ptxas\0-arch sm_100f \0"}, "sm_103"),
        (0x6007802, 0x41, {}, "sm_120"),
    ],
)
def test_architecture(flags, osabi, extra, want):
    image = Image([Entry("k")], flags=flags, osabi=osabi, abi_version=8, extra=extra)
    assert elf.parse(image.build()).arch == want


def test_kernels_come_in_symbol_order_and_reach_the_cubin():
    image = Image([Entry("b"), Entry("a"), Entry("_Z1cPf")]).build()
    assert [kernel.name for kernel in Cubin(image, "sm_90").kernels] == ["b", "a", "_Z1cPf"]


def test_an_image_without_kernels():
    assert elf.parse(Image().build()).kernels == ()


def test_an_unlinked_object_says_so():
    assert elf.parse(Image([Entry("k")], file_type=1).build()).relocatable
    assert not elf.parse(Image([Entry("k")]).build()).relocatable


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it is empty"),
        (b"\x7fELF\x02\x01", "truncated"),
        (b"\x50\xed\x55\xba\x01\0\x10\0", "fatbin"),
        (b"\xb1\x43\x62\x46\x01\0\0\0", "fatbin wrapper"),
        (b"\xed\x43\x4e\x7f\x01\x40", "LTO-IR"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"//\n// NVIDIA NVVM\n/* x */\n.version 8.8\n.target sm_90", "PTX"),
        (b'extern "C" __global__ void k() {}', "CUDA source"),
        (b"!<arch>\nfoo", "static library"),
        (b"hello world", "68 65 6c 6c"),
        (Image([Entry("k")], machine=62).build(), "another machine (62)"),
    ],
)
def test_what_is_no_cubin_is_named(data, text):
    with pytest.raises(ValueError, match=r"not a cubin: ") as error:
        elf.parse(data)
    assert text in str(error.value)


def test_text_is_a_type_error():
    with pytest.raises(TypeError, match="a cubin is bytes, not str"):
        elf.parse("x")  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999])
def test_a_truncated_image_says_so(share):
    data = Image([Entry("k", kparam(0, 0, 8))]).build()
    with pytest.raises(ValueError, match=r"corrupt cubin: .* truncated or damaged"):
        elf.parse(data[: int(len(data) * share)])


def test_a_section_that_nobody_reads_lies_inside_too():
    data = bytearray(Image([Entry("k")], extra={".text.dead": bytes(64)}).build())
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    rows = [table + 64 * index for index in range(count)]
    (dead,) = (row for row in rows if struct.unpack_from("<Q", data, row + 32) == (64,))
    struct.pack_into("<Q", data, dead + 24, len(data) - 63)
    with pytest.raises(ValueError, match=r"a section ends at byte \d+, .* truncated or damaged"):
        elf.parse(bytes(data))


def test_a_gap_in_the_parameters_is_corrupt():
    with pytest.raises(ValueError, match="kernel 'k' has gaps in its parameter list"):
        kernel_of(Entry("k", kparam(1, 8, 8)))


def test_an_attribute_that_overruns_is_corrupt():
    with pytest.raises(ValueError, match=r"overruns section \.nv\.info\.k"):
        kernel_of(Entry("k", struct.pack("<BBH", 4, 0x17, 12)))


def test_overlapping_sections_cost_no_more_than_the_budget():
    data = bytearray(Image([Entry(f"k{i}", bytes(4)) for i in range(400)]).build())
    (offset,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    for index in range(1, count):
        row = offset + 64 * index
        (kind,) = struct.unpack_from("<I", data, row + 4)
        if kind == 0x70000000:
            struct.pack_into("<QQ", data, row + 24, 0, len(data))
    with pytest.raises(ValueError, match="corrupt cubin"):
        elf.parse(bytes(data))


SAMPLE = Image(
    [
        Entry("k", kparam(0, 0, 8) + kparam(1, 8, 4) + shape(0x05, 256, 1, 1), shared=1424),
        Entry("_Z4fillIfEvPT_", kparam_v2(0, 0, 5000), stack=32),
    ],
    extra=ACCELERATED,
).build()


@settings(max_examples=2500, deadline=None)
@given(st.data())
def test_no_mutation_raises_anything_but_value_error(data):
    image = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 6))):
        position = data.draw(st.integers(0, len(image) - 1))
        width = data.draw(st.sampled_from([1, 2, 4, 8]))
        interesting = st.sampled_from(
            [0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1]
        )
        value = data.draw(st.one_of(interesting, st.integers(0, 2**64 - 1)))
        image[position : position + width] = value.to_bytes(8, "little")[:width]
    cut = data.draw(st.one_of(st.just(len(image)), st.integers(0, len(image))))
    message = ""
    try:
        parsed = elf.parse(bytes(image[:cut]))
    except ValueError as error:
        message = str(error)
    else:
        assert parsed.arch.startswith("sm_")
        assert all(1 <= kernel.max_threads <= 1024 for kernel in parsed.kernels)
    assert not message or message.startswith(("not a cubin: ", "corrupt cubin: "))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image": bytearray(b"x")}, "Cubin: image is bytes, got bytearray"),
        ({"signatures": [("k", "int n")]}, "Cubin: signatures maps str to str, got list"),
        ({"lowered_names": None}, "Cubin: lowered_names maps str to str, got NoneType"),
    ],
)
def test_a_cubin_of_wrong_fields_is_refused(fields, message):
    with pytest.raises(TypeError, match=message):
        Cubin(**{"image": b"x", "arch": "sm_90", **fields})
