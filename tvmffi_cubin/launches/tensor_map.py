"""`TensorMap`: a kernel's tensor map and the tensor that it is made of.

What the driver takes is checked at each call, in core/tensor_map_check.h; here is checked what
kind of values are given, and that dimensions agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .figures import Figure, check_figure, figures, plain

# The words of the modes, in the order of the driver's numbers.
DATA_TYPES = (
    *("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"),
    *("bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz"),
    *("16u4_align8b", "16u4_align16b", "16u6_align16b"),
)
SWIZZLES = (
    *("none", "32B", "64B", "128B"),
    *("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"),
)
INTERLEAVES = ("none", "16B", "32B")
L2_PROMOTIONS = ("none", "64B", "128B", "256B")
OOB_FILLS = ("zeros", "nan")

_MODES = {
    "swizzle": SWIZZLES,
    "interleave": INTERLEAVES,
    "l2_promotion": L2_PROMOTIONS,
    "oob_fill": OOB_FILLS,
}
_MAX_RANK = 5
_CORNERS = ("lower_corner", "upper_corner")
_IM2COL = (*_CORNERS, "channels_per_pixel", "pixels_per_column")
_FIGURES = ("box_dim", "element_strides", *_IM2COL, "global_dim", "global_strides")
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class TensorMap:
    """What a ``const __grid_constant__ CUtensorMap`` parameter is given, in ``Launch(args=...)``.

    The map is made at each call, of the tensor's address, shape and strides. Dimensions are
    everywhere as the tensor has them (``x.shape``), outermost first; only the coordinates in a
    kernel's instructions come innermost first. Figures are constants or expressions.

    Parameters
    ----------
    tensor : str, optional
        The function's parameter that the map is of; where the kernel has no such parameter, the
        function takes the tensor in the map's place. Default: the map's own name. Its strides may
        be any that the driver takes, the innermost one being 1 element.
    box_dim : int, str or a sequence of up to five
        Elements of a box in each dimension, 1 to 256.
    element_strides : int, str or a sequence of up to five, optional
        The step from one element of the box to the next in each dimension, 1 to 8; 1 in the
        innermost one unless `interleave` is set. Default: 1.
    swizzle : str
        ``"none"``, ``"32B"``, ``"64B"``, ``"128B"``, ``"128B_atom_32B"``,
        ``"128B_atom_32B_flip_8B"`` or ``"128B_atom_64B"``; the box's innermost dimension must not
        have more bytes.
    interleave : str
        ``"none"``, ``"16B"`` or ``"32B"``.
    l2_promotion : str
        ``"none"``, ``"64B"``, ``"128B"`` or ``"256B"``.
    oob_fill : str
        What is read outside of the tensor: ``"zeros"`` or, of floating types, ``"nan"``.
    dtype : str, optional
        Where it is not to be the tensor's own: ``"uint8"``, ``"uint16"``, ``"uint32"``,
        ``"int32"``, ``"uint64"``, ``"int64"``, ``"float16"``, ``"bfloat16"``, ``"float32"``,
        ``"float64"``, ``"float32_ftz"``, ``"tfloat32"``, ``"tfloat32_ftz"``, ``"16u4_align8b"``,
        ``"16u4_align16b"`` or ``"16u6_align16b"``. Elements have the same size as the tensor's, or
        are the 4- or 6-bit values that it has in bytes: figures of the innermost dimension, the
        tensor's too, then count values.
    lower_corner, upper_corner : int, str or a sequence of up to three
        Of an im2col map; see `im2col`.
    channels_per_pixel, pixels_per_column : int or str
        Likewise.
    global_dim : int, str or a sequence of up to five, optional
        What the memory is taken for, in elements of the map's data type, where that is not the
        tensor's own shape: a flat buffer as a matrix, a part of one. Of the tensor the address
        alone counts then, and with `dtype` its own dtype neither, so that a bare address will do,
        too; that the memory is that large is the caller's to see to.
    global_strides : int, str or a sequence of up to four, optional
        In bytes, of all dimensions of `global_dim` but the innermost. Default: without gaps.

    Raises
    ------
    TypeError, ValueError
        A value is of the wrong type, or dimensions differ in number. What the driver takes is
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
        if self.tensor is not None and not isinstance(self.tensor, str):
            raise TypeError(
                f"TensorMap: tensor is a parameter's name, got {type(self.tensor).__name__}"
            )
        if self.tensor is not None and not self.tensor.isidentifier():
            raise ValueError(f"TensorMap: tensor: {self.tensor!r} is not a parameter's name")
        for name, words in _MODES.items():
            _check_word(name, getattr(self, name), words)
        if self.dtype is not None:
            _check_word("dtype", self.dtype, DATA_TYPES)
        if self.is_im2col:
            missing = [name for name in _IM2COL if getattr(self, name) is None]
            if missing or self.box_dim is not None:
                wrong = f"{missing[0]} is missing" if missing else "box_dim is given, too"
                raise TypeError(
                    f"TensorMap: {wrong}: an im2col map has {', '.join(_IM2COL)}, a tiled one "
                    "box_dim"
                )
            for name in _CORNERS:
                self._set(name, _MAX_RANK - 2)
            count = len(self.lower_corner)
            self._check_count("upper_corner", count)
        elif self.box_dim is None:
            raise TypeError("TensorMap: box_dim is missing (or, for im2col, TensorMap.im2col)")
        else:
            self._set("box_dim", _MAX_RANK)
        self._check_extents()
        for name in ("channels_per_pixel", "pixels_per_column"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        for name, figure in self.figures():
            check_figure(f"TensorMap: {name}", figure, least=_LEAST, most=_MOST)

    @classmethod
    def im2col(
        cls,
        tensor: str | None = None,
        *,
        lower_corner: Any,
        upper_corner: Any,
        channels_per_pixel: Figure,
        pixels_per_column: Figure,
        **options: Any,
    ) -> TensorMap:
        """Return the map of an image, channels last, as a convolution reads it.

        Parameters
        ----------
        lower_corner : int, str or a sequence of up to three
            In each dimension but the first (N) and the last (C): where the box of pixels begins at
            which filters are placed, from the tensor's beginning; mostly minus the padding.
        upper_corner : int, str or a sequence of up to three
            Where it ends, from the tensor's end; mostly the padding minus (the filter's size - 1)
            times its dilation.
        channels_per_pixel : int or str
            Elements along C of one load, 1 to 256.
        pixels_per_column : int or str
            Pixels of one load, 1 to 1024.
        **options
            As of `TensorMap`.
        """
        return cls(
            tensor,
            lower_corner=lower_corner,
            upper_corner=upper_corner,
            channels_per_pixel=channels_per_pixel,
            pixels_per_column=pixels_per_column,
            **options,
        )

    @property
    def is_im2col(self) -> bool:
        """Whether it is an im2col map, not a tiled one."""
        return any(getattr(self, name) is not None for name in _IM2COL)

    @property
    def rank(self) -> int:
        """The rank that its tensor must have, unless `global_dim` is given."""
        return len(self.lower_corner) + 2 if self.is_im2col else len(self.box_dim)

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Yield each figure with its place: ``"box_dim[0]"``, ``"channels_per_pixel"``."""
        for name in _FIGURES:
            value = getattr(self, name)
            if isinstance(value, tuple):
                yield from ((f"{name}[{i}]", figure) for i, figure in enumerate(value))
            elif value is not None:
                yield name, value

    def with_figures(self, change: Callable[[str, Figure], Figure]) -> TensorMap:
        """Return it with each figure changed; `change` gets its field's name and the figure."""
        changed: dict[str, Any] = {}
        for name in _FIGURES:
            value = getattr(self, name)
            if isinstance(value, tuple):
                changed[name] = tuple(change(name, figure) for figure in value)
            elif value is not None:
                changed[name] = change(name, value)
        return replace(self, **changed)

    def _check_extents(self) -> None:
        if self.element_strides is not None:
            self._set("element_strides", _MAX_RANK)
            self._check_count("element_strides", self.rank)
        if self.global_dim is None:
            if self.global_strides is not None:
                raise TypeError("TensorMap: global_strides is given without global_dim")
            return
        self._set("global_dim", _MAX_RANK)
        self._check_count("global_dim", self.rank)
        if self.global_strides is None:
            return
        self._set("global_strides", _MAX_RANK, least=0)
        self._check_count(
            "global_strides", self.rank - 1, ": all of global_dim's but the innermost"
        )
        if not self.global_strides:
            # There is nothing to say of a single dimension.
            object.__setattr__(self, "global_strides", None)

    def _set(self, name: str, most: int, *, least: int = 1) -> None:
        found = figures(name, getattr(self, name), most=most, least=least, of="TensorMap: ")
        object.__setattr__(self, name, found)

    def _check_count(self, name: str, wanted: int, why: str = "") -> None:
        count = len(getattr(self, name))
        if count != wanted:
            raise ValueError(f"TensorMap: {name} has {count} dimensions, wanted {wanted}{why}")


def _check_word(name: str, value: object, words: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"TensorMap: {name} is a str, got {type(value).__name__}")
    if value not in words:
        raise ValueError(f"TensorMap: {name} is {value!r}; there are {', '.join(words)}")
