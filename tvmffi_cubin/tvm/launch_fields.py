"""What the fields of TVM's newest tables mean: ``"grid.x"``, ``"programmatic_event.event"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .unknown_word import unknown_word

__all__ = ["Field", "read_fields"]


class Field(NamedTuple):
    """What one field says of a launch.

    Attributes
    ----------
    kind : str
        ``"dimension"``; ``"figure"``, a number; ``"flag"``; ``"handle"``; ``"zero"``, what a launch
        only has as 0; ``"other"``, what it does not have.
    field : str
        The field of `tvmffi_cubin.Launch`, where it has one.
    axis : int
        Of a dimension: 0 for x.
    """

    kind: str
    field: str = ""
    axis: int = 0


_DIMENSIONS = ("grid", "block", "cluster", "preferred_cluster")
_FIGURES = ("dynamic_smem_bytes", "cluster_scheduling_policy", "priority", "mem_sync_domain")
_OTHERS = (
    "mem_sync_domain_map.default",
    "mem_sync_domain_map.remote",
    "access_policy_window.base_ptr",
    "access_policy_window.num_bytes",
    "access_policy_window.hit_ratio",
    "access_policy_window.hit_prop",
    "access_policy_window.miss_prop",
    "preferred_shared_memory_carveout",
    "nvlink_util_centric_scheduling",
    "portable_cluster_size_mode",
    "shared_memory_mode",
)
_KNOWN = {
    **{
        f"{field}.{letter}": Field("dimension", field, axis)
        for field in _DIMENSIONS
        for axis, letter in enumerate("xyz")
    },
    **{field: Field("figure", field) for field in _FIGURES},
    "stream": Field("handle", "stream"),
    "cooperative": Field("flag", "cooperative"),
    "programmatic_stream_serialization": Field("flag", "programmatic_dependent_launch"),
    "programmatic_event.event": Field("handle", "programmatic_event"),
    "programmatic_event.flags": Field("zero"),
    "programmatic_event.trigger_at_block_start": Field("zero"),
    "launch_completion_event.event": Field("handle", "launch_completion_event"),
    "launch_completion_event.flags": Field("zero"),
    **dict.fromkeys(_OTHERS, Field("other")),
}


def read_fields(names: Sequence[str]) -> list[tuple[str, Field]]:
    """Return what each field means, in order.

    Raises
    ------
    ValueError
        One is unknown or there twice.
    """
    found: dict[str, Field] = {}
    for name in names:
        if name not in _KNOWN:
            raise ValueError(f"cuda_launch_fields has {unknown_word(name, _KNOWN)}")
        if name in found:
            raise ValueError(f"cuda_launch_fields has {name!r} twice")
        found[name] = _KNOWN[name]
    return [*found.items()]
