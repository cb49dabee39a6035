"""`FunctionInfo`: what TVM's table says of a kernel, and the `Launch` that does it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..launches.launch import Launch

# By what TVM writes for the type of an argument.
C_TYPES: Final = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "handle": "void*",
    "bool": "bool",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "grid_constant": "CUtensorMap",  # TileLang's mark of a tensor map, in the binary form alone
}
# What a tag or field stands for: a kind, the field of a `Launch`, and of a dimension its axis.
_Word = tuple[str, str, int]


def _axes(names: Mapping[str, str], kind: str) -> dict[str, _Word]:
    return {
        name + letter: (kind, field_, axis)
        for name, field_ in names.items()
        for axis, letter in enumerate("xyz")
    }


_TAGS: Final = _axes(
    {
        "blockIdx.": "grid",
        "threadIdx.": "block",
        "clusterCtaIdx.": "cluster",
        "preferredClusterCtaIdx.": "preferred_cluster",
        "cluster_dim_": "cluster",  # TileLang's
    },
    "size",
) | {
    "use_dyn_shared_memory": ("value", "dynamic_smem_bytes", 0),
    "use_programmatic_dependent_launch": ("on", "programmatic_dependent_launch", 0),
    "use_programtic_dependent_launch": ("on", "programmatic_dependent_launch", 0),  # TVM's own
    "use_cooperative_launch": ("on", "cooperative", 0),
    "use_required_block_dimension": ("none", "", 0),  # the image says it, and is asked
}
_DIMENSIONS = ("grid", "block", "cluster", "preferred_cluster")
_VALUES = ("dynamic_smem_bytes", "cluster_scheduling_policy", "priority", "mem_sync_domain")
_FIELDS: Final = _axes({f"{name}.": name for name in _DIMENSIONS}, "dimension") | {
    **{name: ("value", name, 0) for name in _VALUES},
    "stream": ("value", "stream", 0),
    "cooperative": ("flag", "cooperative", 0),
    "programmatic_stream_serialization": ("flag", "programmatic_dependent_launch", 0),
    "programmatic_event.event": ("value", "programmatic_event", 0),
    "programmatic_event.flags": ("zero", "", 0),
    "programmatic_event.trigger_at_block_start": ("zero", "", 0),
    "launch_completion_event.event": ("value", "launch_completion_event", 0),
    "launch_completion_event.flags": ("zero", "", 0),
}


@dataclass(frozen=True)
class FunctionInfo:
    """A kernel of TVM's: what it takes, and what its launch takes after that.

    Parameters
    ----------
    name : str
        The kernel, and the function that is exported for it.
    arg_types : sequence of str
        Types of the kernel's parameters: ``"handle"``, ``"int32"``, ``"float32"``, ...
    launch_param_tags : sequence of str
        What a call passes after the kernel's arguments, in order (``"blockIdx.x"``,
        ``"threadIdx.x"``, ``"clusterCtaIdx.x"``, at the end ``"tir.use_dyn_shared_memory"``), and
        flags for which it passes nothing (``"tir.use_programtic_dependent_launch"``, as TVM spells
        it, ``"tir.use_cooperative_launch"``). The prefix may be ``"tirx."``, as in newer TVMs.
    arg_extra_tags : sequence of int
        1 for each parameter that is a tensor map, else 0; may be shorter than `arg_types`.
    cuda_launch_fields : sequence of str
        In the newest tables, in place of tags: ``"grid.x"``, ``"cooperative"``, ...
    cuda_kernel_attrs : mapping of str to int
        What the kernel was compiled for: ``"required_block_size"``, ``"max_registers"``, ...
    """

    name: str
    arg_types: tuple[str, ...] = ()
    launch_param_tags: tuple[str, ...] = ()
    arg_extra_tags: tuple[int, ...] = ()
    cuda_launch_fields: tuple[str, ...] = ()
    cuda_kernel_attrs: Mapping[str, int] = field(default_factory=dict, hash=False)

    def launch(self) -> Launch:
        """Return how the function launches, in TVM's calling convention.

        See `FunctionTable.launches`.
        """
        return make_launch(self, kernel=self.name)


def make_launch(
    info: FunctionInfo, *, kernel: str | None = None, taken: Collection[str] = ()
) -> Launch:
    """Return how a function launches; its parameters have other names than those `taken`.

    Raises
    ------
    ValueError
        It has an argument or a launch that a `Launch` has not; the message names both.
    """
    try:
        values = _read_words(info, taken)
        arguments = [
            f"{_c_type(info, i)} {_free(f'arg{i}', taken)}" for i in range(len(info.arg_types))
        ]
    except ValueError as error:
        raise ValueError(f"function {info.name!r}: {error}") from None
    params = ", ".join(arguments + values.pop("params"))
    return Launch(kernel=kernel, params=params, **values)


def _read_words(info: FunctionInfo, taken: Collection[str]) -> dict[str, Any]:
    """Return the fields of a launch, and under ``"params"`` what a call passes for them."""
    if info.launch_param_tags and info.cuda_launch_fields:
        raise ValueError("there are launch_param_tags and cuda_launch_fields, wanted one of them")
    params, conditions = [], []
    seen: dict[tuple[str, int], str] = {}
    fields: dict[str, Any] = {}
    sizes: dict[str, dict[int, str]] = {}
    for text in (*info.launch_param_tags, *info.cuda_launch_fields):
        word, (kind, field_, axis) = _known(text, is_tag=bool(info.launch_param_tags))
        if other := seen.get((field_ or word, axis)):
            raise ValueError(f"{other!r} and {text!r} say the same")
        if "use_dyn_shared_memory" in "".join(seen.values()) and kind == "size":
            raise ValueError(f"{text!r} comes after the dynamic shared memory, whose value is last")
        seen[field_ or word, axis] = text
        name = _free(word.removeprefix("use_").replace(".", "_"), taken)
        if kind not in ("on", "none"):
            params.append(f"{'void*' if field_ == 'stream' else 'int64_t'} {name}")
        if kind == "size":  # TVM takes 0, as of an empty tensor, for 1
            conditions.append(f"{name} >= 0")
            name = f"max({name}, 1)"
        if kind in ("size", "dimension"):
            sizes.setdefault(field_, {})[axis] = name
        elif kind == "zero":
            conditions.append(f"{name} == 0")
        elif kind != "none":
            fields[field_] = {"on": True, "flag": f"{name} != 0"}.get(kind, name)
    cluster, preferred = sizes.get("cluster", {}), sizes.get("preferred_cluster", {})
    if preferred and not cluster:
        raise ValueError("there is a preferred cluster, and no cluster, its least size")
    if preferred and info.launch_param_tags:
        # Tags that prefer 1, 1, 1 prefer nothing, which is the cluster itself.
        for axis, least in cluster.items():
            preferred[axis] = f"max({preferred[axis]}, {least})" if axis in preferred else least
    for field_ in ("grid", "block", *sizes):
        axes = sizes.get(field_, {})
        fields[field_] = tuple(axes.get(axis, 1) for axis in range(max(axes, default=0) + 1))
    return {**fields, "params": params, "when": " and ".join(conditions) or None}


def _known(text: str, *, is_tag: bool) -> tuple[str, _Word]:
    known, word = (_TAGS, re.sub(r"^(tirx?|tilelang)\.", "", text)) if is_tag else (_FIELDS, text)
    if word in known:
        return word, known[word]
    from difflib import get_close_matches

    close = get_close_matches(text, known, 1)
    hint = f"; is {close[0]!r} meant?" if close else ""
    what = "launch_param_tags" if is_tag else "cuda_launch_fields"
    raise ValueError(f"{what} has {text!r}, which a Launch has not{hint}")


def _c_type(info: FunctionInfo, index: int) -> str:
    if info.arg_extra_tags[index : index + 1] == (1,):
        return "CUtensorMap"
    type_ = info.arg_types[index]
    if type_ not in C_TYPES:
        raise ValueError(
            f"arg_types[{index}] is {type_!r}, which no kernel's parameter has here; there are "
            f"{', '.join(C_TYPES)}"
        )
    return C_TYPES[type_]


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name
