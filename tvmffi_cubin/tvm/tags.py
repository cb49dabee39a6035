"""What TVM's launch-parameter tags mean: ``"blockIdx.x"``, ``"tir.use_dyn_shared_memory"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .unknown_word import unknown_word

__all__ = ["DYNAMIC_SMEM", "FLAGS", "Tag", "read_tags"]


class Tag(NamedTuple):
    """What one tag says of a launch.

    Attributes
    ----------
    field : str
        The field of `tvmffi_cubin.Launch`; ``"required_block"`` says something of the kernel alone.
    axis : int or None
        Of a dimension: 0 for x.
    has_value : bool
        Whether a call passes a value for it, as opposed to a flag, which is on.
    """

    field: str
    axis: int | None = None
    has_value: bool = True


DYNAMIC_SMEM = "use_dyn_shared_memory"
"""The tag, without its prefix, whose value comes last."""

FLAGS = {
    # The second spelling is TVM's own.
    "use_programmatic_dependent_launch": "programmatic_dependent_launch",
    "use_programtic_dependent_launch": "programmatic_dependent_launch",
    "use_cooperative_launch": "cooperative",
    "use_required_block_dimension": "required_block",
}
"""Tags without a value, without their prefix, and the field that each turns on."""

_DIMENSIONS = {
    "blockIdx": "grid",
    "threadIdx": "block",
    "clusterCtaIdx": "cluster",
    "preferredClusterCtaIdx": "preferred_cluster",
}


def _known() -> dict[str, Tag]:
    known = {
        f"{word}.{letter}": Tag(field, axis)
        for word, field in _DIMENSIONS.items()
        for axis, letter in enumerate("xyz")
    }
    for prefix in ("tir.", "tirx."):
        known[prefix + DYNAMIC_SMEM] = Tag("dynamic_smem_bytes")
        known |= {prefix + word: Tag(field, None, False) for word, field in FLAGS.items()}
    # TileLang's TVM has the first of these, its forks the others.
    for prefix in ("tir.", "tirx.", "tilelang.", ""):
        for axis, letter in enumerate("xyz"):
            known[f"{prefix}cluster_dim_{letter}"] = Tag("cluster", axis)
    return known


_KNOWN = _known()


def read_tags(tags: Sequence[str]) -> list[tuple[str, Tag]]:
    """Return what each tag means, in order.

    Raises
    ------
    ValueError
        One is unknown, is repeated, or says what another does; or the size of the dynamic shared
        memory is not the last value.
    """
    found: list[tuple[str, Tag]] = []
    before: dict[tuple[str, int | None], str] = {}
    for tag in tags:
        meaning = _KNOWN.get(tag)
        if meaning is None:
            raise ValueError(f"launch_param_tags has {unknown_word(tag, _KNOWN)}")
        other = before.setdefault(meaning[:2], tag)
        if len(before) == len(found):
            same = "twice" if other == tag else f"and {other!r}, which mean the same"
            raise ValueError(f"launch_param_tags has {tag!r} {same}")
        found.append((tag, meaning))
    for tag, meaning in found[:-1]:
        if meaning.field == "dynamic_smem_bytes":
            raise ValueError(f"launch_param_tags has {tag!r} before others: its value comes last")
    return found
