"""Constexprs in grids, and the descriptors of each version of Triton's."""

from types import SimpleNamespace

import pytest

from tvmffi_cubin.triton.launch import CompiledKernel, _of_descriptor, descriptor, launch_grid


def compiled(**constants):
    return CompiledKernel(b"", (), constants, SimpleNamespace(num_ctas=1), (3, 9))


@pytest.mark.parametrize(("version", "last"), [((3, 6), "x.shape[1] * 2"), ((3, 7), "x.shape[1]")])
def test_the_shape_of_padded_fp4_is_doubled_as_the_version_does(version, last):
    kind = descriptor("tensordesc<u8[64, 128]>")
    meta = {"swizzle": 3, "elem_type": 14, "block_size": [64, 128], "fp4_padded": True}
    (_, _, map_), *sizes = _of_descriptor(version, "x", kind, meta, nan=False, tf32=False)
    assert map_.dtype == "16u4_align16b"
    assert [value for _, _, value in sizes] == ["x.shape[0]", last, "x.stride[0]", "x.stride[1]"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("ceil_div(n, B)", "ceil_div(n, 64)"),
        ("n - M", "n - -3"),
        ("BB + B", "128 + 64"),
        ("n * F + x.B", "n * 1 + x.B"),
    ],
)
def test_constexprs_stand_for_their_values_in_an_expression(text, written):
    assert launch_grid(compiled(B=64, BB=128, M=-3, F=True), text) == [written]
