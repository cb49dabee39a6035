"""`TensorMap`: a value; what is wrong is told when it is made."""

from __future__ import annotations

import pytest

from tvmffi_cubin import TensorMap

CORNERS = {"lower_corner": (-1, -1), "upper_corner": (1, 1)}
PIXELS = {**CORNERS, "channels_per_pixel": 64, "pixels_per_column": 128}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "a tiled map has box_dim, an im2col map lower_corner, upper_corner, chann"),
        ({"box_dim": (1,) * 6}, ValueError, "box_dim has 1 to 5 dimensions, got 6"),
        ({"box_dim": ("n +",)}, ValueError, "box_dim[0]: not an expression"),
        ({"box_dim": 16, "swizzle": "256B"}, ValueError, "swizzle is '256B'; there are none, 32B,"),
        ({"box_dim": 16, "dtype": "int8"}, ValueError, "dtype is 'int8'; there are uint8, "),
        ({**PIXELS, "upper_corner": 0}, ValueError, "upper_corner has 1 dimensions, wanted 2 for"),
        ({"box_dim": 16, "global_strides": ()}, TypeError, "is given without global_dim"),
        (
            {"box_dim": (8, 16), "global_dim": (8, 16), "global_strides": (64, 4)},
            ValueError,
            "global_strides has 2 dimensions, wanted 1 for a map of rank 2",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(options, error, message):
    with pytest.raises(error) as caught:
        TensorMap(**options)
    assert str(caught.value).startswith("TensorMap: ")
    assert message in str(caught.value)


def test_im2col_is_the_map_with_corners():
    made = TensorMap("x", **PIXELS, swizzle="128B")
    assert (made.is_im2col, made.rank) == (True, 4)


def test_a_map_with_its_own_dimensions_has_them_among_its_figures():
    made = TensorMap("x", box_dim=(8, 64), global_dim=["n", 64], global_strides="2 * n")
    assert made.global_dim == ("n", 64)
    assert made == TensorMap("x", box_dim=(8, 64), global_dim=("n", 64), global_strides=("2 * n",))
    assert TensorMap(box_dim=16, global_dim=16, global_strides=()).global_strides == ()
