"""`TensorMap`: a kernel's tensor map and the tensor that it is made of, validated when made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from .figures import Figure, check_figure, plain
from .map_extents import MAX_RANK, checked_extents, figure_sequence
from .tensor_map_modes import (
    DATA_TYPES,
    INTERLEAVES,
    L2_PROMOTIONS,
    OOB_FILLS,
    SWIZZLES,
    check_word,
    inner_problem,
    mode_problem,
)

__all__ = ["TensorMap"]

_CORNERS = {1: 32768, 2: 128, 3: 16}  # by the number of dimensions between N and C
_IM2COL = ("lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column")
_EXTENTS = ("global_dim", "global_strides")
_FIGURES = ("box_dim", "element_strides", *_IM2COL, *_EXTENTS)


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
        A value is of the wrong type, or one that the driver never takes; the message has the limit.
        What depends on the tensor is checked at each call.
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
        for name, known in (
            ("swizzle", SWIZZLES),
            ("interleave", INTERLEAVES),
            ("l2_promotion", L2_PROMOTIONS),
            ("oob_fill", OOB_FILLS),
        ):
            check_word(f"TensorMap: {name}", getattr(self, name), known)
        if self.dtype is not None:
            check_word("TensorMap: dtype", self.dtype, DATA_TYPES)
        if self.is_im2col:
            self._check_im2col()
        else:
            self._check_tiled()
        self._check_element_strides()
        self._check_modes()
        found = checked_extents(
            self.global_dim,
            self.global_strides,
            rank=self.rank,
            dtype=self.dtype,
            interleave=self.interleave,
        )
        for name, value in zip(_EXTENTS, found, strict=True):
            self._set(name, value)

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

    def fields(self) -> dict[str, Any]:
        """Return everything here as values for a key."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _check_tiled(self) -> None:
        if self.box_dim is None:
            raise TypeError("TensorMap: box_dim is missing (or, for im2col, TensorMap.im2col)")
        self._set("box_dim", figure_sequence("box_dim", self.box_dim, MAX_RANK))
        for i, figure in enumerate(self.box_dim):
            check_figure(f"TensorMap: box_dim[{i}]", figure, least=1, most=256)
        self._check_inner(f"box_dim[{self.rank - 1}]", self.box_dim[-1])

    def _check_im2col(self) -> None:
        missing = [name for name in _IM2COL if getattr(self, name) is None]
        if missing or self.box_dim is not None:
            wrong = f"{missing[0]} is missing" if missing else "box_dim is given, too"
            raise TypeError(
                f"TensorMap: {wrong}: an im2col map has {', '.join(_IM2COL)}, a tiled one box_dim"
            )
        corners = ("lower_corner", "upper_corner")
        for name in corners:
            self._set(name, figure_sequence(name, getattr(self, name), MAX_RANK - 2))
        if len(self.lower_corner) != len(self.upper_corner):
            raise ValueError(
                f"TensorMap: lower_corner has {len(self.lower_corner)} dimensions, upper_corner "
                f"{len(self.upper_corner)}"
            )
        limit = _CORNERS[len(self.lower_corner)]
        for name in corners:
            for i, figure in enumerate(getattr(self, name)):
                what = f"TensorMap: {name}[{i}]"
                check_figure(what, figure, least=-limit, most=limit - 1)
        for name in ("channels_per_pixel", "pixels_per_column"):
            self._set(name, plain(getattr(self, name)))
        check_figure("TensorMap: channels_per_pixel", self.channels_per_pixel, least=1, most=256)
        check_figure("TensorMap: pixels_per_column", self.pixels_per_column, least=1, most=1024)
        self._check_inner("channels_per_pixel", self.channels_per_pixel)

    def _check_inner(self, what: str, figure: Figure | None) -> None:
        """Check what one load has of the innermost dimension, as far as its type is known."""
        if not isinstance(figure, int) or self.dtype is None:
            return
        modes = {"swizzle": self.swizzle, "interleave": self.interleave}
        problem = inner_problem(figure, dtype=self.dtype, **modes)
        if problem:
            raise ValueError(f"TensorMap: {what} {problem}")

    def _check_element_strides(self) -> None:
        if self.element_strides is None:
            return
        strides = figure_sequence("element_strides", self.element_strides, MAX_RANK)
        self._set("element_strides", strides)
        if len(strides) != self.rank:
            raise ValueError(
                f"TensorMap: element_strides has {len(strides)} dimensions, wanted {self.rank}"
            )
        for i, figure in enumerate(strides):
            check_figure(f"TensorMap: element_strides[{i}]", figure, least=1, most=8)
        if self.interleave == "none" and isinstance(strides[-1], int) and strides[-1] != 1:
            raise ValueError(
                f"TensorMap: element_strides[{self.rank - 1}], of the innermost dimension, is "
                f"{strides[-1]}, wanted 1"
            )

    def _check_modes(self) -> None:
        problem = mode_problem(
            rank=self.rank,
            dtype=self.dtype,
            swizzle=self.swizzle,
            interleave=self.interleave,
            oob_fill=self.oob_fill,
        )
        if problem:
            raise ValueError(f"TensorMap: {problem}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
