"""The descriptors of each version of Triton's."""

import pytest

from tvmffi_cubin.triton.launch import _of_descriptor, descriptor


@pytest.mark.parametrize(("version", "last"), [((3, 6), "x.shape[1] * 2"), ((3, 7), "x.shape[1]")])
def test_the_shape_of_padded_fp4_is_doubled_as_the_version_does(version, last):
    pointer, rank = descriptor("tensordesc<u8[64, 128]>")
    meta = {"swizzle": 3, "elem_type": 14, "block_size": [64, 128], "fp4_padded": True}
    (_, _, map_), *sizes = _of_descriptor(version, "x", rank, meta, None)
    assert (pointer, map_.dtype) == ("uint8_t*", "16u4_align16b")
    assert [value for _, _, value in sizes] == ["x.shape[0]", last, "x.stride[0]", "x.stride[1]"]
