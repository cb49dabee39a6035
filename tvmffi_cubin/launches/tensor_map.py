"""`TensorMap`: a kernel's tensor map, and the tensor that it describes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from .values import Figure, Record, figure, figures

# The names of each mode's values, in the order of the driver's enumeration.
MODES = {
    "dtype": (
        *("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"),
        *("bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz"),
        *("16u4_align8b", "16u4_align16b", "16u6_align16b"),
    ),
    "swizzle": (
        *("none", "32B", "64B", "128B"),
        *("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"),
    ),
    "interleave": ("none", "16B", "32B"),
    "l2_promotion": ("none", "64B", "128B", "256B"),
    "oob_fill": ("zeros", "nan"),
}
# The most values that each field can have, in the order of `TensorMapOptions` in core/tensor_map.h.
FIGURES = {
    "box_dim": 5, "element_strides": 5, "lower_corner": 3, "upper_corner": 3,
    "channels_per_pixel": 1, "pixels_per_column": 1, "global_dim": 5, "global_strides": 4,
}  # fmt: skip
_IM2COL = ("lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column")


def _word(value: Any, *, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"expected one of {', '.join(words)}, got {value!r}")
    return str(value)


_CHECKS: dict[str, Any] = {
    **{mode: partial(_word, words=words) for mode, words in MODES.items()},
    **{x: figure if most == 1 else partial(figures, most=most) for x, most in FIGURES.items()},
    "global_strides": partial(figures, most=4, least=0),
}


@dataclass(repr=False, eq=False)
class TensorMap(Record, checks=_CHECKS):
    """How to make a ``const __grid_constant__ CUtensorMap`` parameter, in ``Launch(args=...)``.

    Each call encodes the map from the tensor's address, shape and strides. Dimensions are in the
    tensor's order (``x.shape``), outermost first; only the coordinates in a kernel's instructions
    are innermost first. Numbers are constants or expressions.

    Parameters
    ----------
    tensor : str, optional
        The function's parameter that the map describes; if the kernel has no such parameter, the
        function takes the tensor in the map's place. Default: the map's own name.
    box_dim : int, str or a sequence of up to five
        Box size in elements in each dimension, 1 to 256.
    element_strides : int, str or a sequence of up to five, optional
        The step from one element of the box to the next in each dimension, 1 to 8. Default: 1.
    swizzle : str
        ``"none"``, ``"32B"``, ``"64B"``, ``"128B"``, ``"128B_atom_32B"``,
        ``"128B_atom_32B_flip_8B"`` or ``"128B_atom_64B"``.
    interleave : str
        ``"none"``, ``"16B"`` or ``"32B"``.
    l2_promotion : str
        ``"none"``, ``"64B"``, ``"128B"`` or ``"256B"``.
    oob_fill : str
        What out-of-bounds reads return: ``"zeros"`` or, for floating-point types, ``"nan"``.
    dtype : str, optional
        Such as ``"float16"``, ``"tfloat32"`` or ``"16u4_align8b"``; default: the tensor's own.
        Elements have the size of the tensor's, or are 4- or 6-bit values in a tensor of bytes; then
        numbers for the innermost dimension count values.
    lower_corner, upper_corner : int, str or a sequence of up to three
        For an im2col map, which reads a channels-last image as a convolution does: the start of the
        box of filter positions, relative to the tensor's start, and its end, relative to the
        tensor's end, in each dimension except the first (N) and the last (C). Usually -padding, and
        padding - (filter size - 1) * dilation.
    channels_per_pixel, pixels_per_column : int or str
        Elements along C per load, 1 to 256, and pixels per load, 1 to 1024.
    global_dim : int, str or a sequence of up to five, optional
        The shape of the memory, in elements of the map's data type, instead of the tensor's own.
        Then only the tensor's address matters, and with `dtype` a bare address is enough. Nothing
        checks that the memory is that large.
    global_strides : int, str or a sequence of up to four, optional
        Strides in bytes of all dimensions of `global_dim` except the innermost. Default: no gaps.

    Raises
    ------
    TypeError, ValueError
        A value has the wrong type, or the numbers of dimensions differ. What the driver accepts is
        checked at each call.
    """

    tensor: str | None = None
    box_dim: Any = None
    element_strides: Any = None
    swizzle: str = "none"
    interleave: str = "none"
    l2_promotion: str = "none"
    oob_fill: str = "zeros"
    dtype: str | None = None
    lower_corner: Any = None
    upper_corner: Any = None
    channels_per_pixel: Figure | None = None
    pixels_per_column: Figure | None = None
    global_dim: Any = None
    global_strides: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [getattr(self, name) is not None for name in _IM2COL]
        if any(given) != all(given) or any(given) == (self.box_dim is not None):
            raise TypeError(f"TensorMap: pass box_dim or, for im2col, {', '.join(_IM2COL)}")
        if self.global_strides is not None and self.global_dim is None:
            raise TypeError("TensorMap: global_strides requires global_dim")
        missing = {"element_strides": 0, "global_dim": 0, "global_strides": 1, "upper_corner": 2}
        for name, count in missing.items():
            value, wanted = getattr(self, name), self.rank - count
            if value is not None and len(value) != wanted:
                raise ValueError(f"TensorMap: {name} has {len(value)} dimensions, not {wanted}")

    @property
    def is_im2col(self) -> bool:
        """Whether it is an im2col map, not a tiled one."""
        return self.box_dim is None

    @property
    def rank(self) -> int:
        """The rank that its tensor must have, unless `global_dim` is given."""
        return len(self.lower_corner) + 2 if self.is_im2col else len(self.box_dim)
