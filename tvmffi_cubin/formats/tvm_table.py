"""What TVM says of its kernels, as it is read: a function, a table, a module; and the launches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

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
# What tags stand for; with TVM's own spelling of the second, and TileLang's of clusters.
FLAGS: Final = {
    "use_programmatic_dependent_launch": "programmatic_dependent_launch",
    "use_programtic_dependent_launch": "programmatic_dependent_launch",
    "use_cooperative_launch": "cooperative",
    "use_cooperative_groups": "cooperative",
}
_AXES: Final = {
    "blockIdx": "grid",
    "threadIdx": "block",
    "clusterCtaIdx": "cluster",
    "cluster_dim": "cluster",
    "preferredClusterCtaIdx": "preferred_cluster",
}
_VALUES: Final = {
    "use_dyn_shared_memory": "dynamic_smem_bytes",
    "programmatic_stream_serialization": "programmatic_dependent_launch",
    "programmatic_event.event": "programmatic_event",
    "launch_completion_event.event": "launch_completion_event",
    **{
        name: name
        for name in (
            *("dynamic_smem_bytes", "cluster_scheduling_policy", "priority", "mem_sync_domain"),
            *("stream", "cooperative"),
        )
    },
}
_ZEROS: Final = (
    *("programmatic_event.flags", "programmatic_event.trigger_at_block_start"),
    "launch_completion_event.flags",
)


class FunctionInfo(NamedTuple):
    """A kernel of TVM's: its arguments, and those of its launch.

    Parameters
    ----------
    name : str
        The kernel, and the function that is exported for it.
    arg_types : sequence of str
        Types of the kernel's parameters: ``"handle"``, ``"int32"``, ``"float32"``, ...
    launch_param_tags : sequence of str
        What a call passes after the kernel's arguments, in order (``"blockIdx.x"``,
        ``"threadIdx.x"``, at the end ``"tir.use_dyn_shared_memory"``), and flags that it does not
        (``"tir.use_cooperative_launch"``). Newer TVMs write ``"tirx."`` for the prefix.
    arg_extra_tags : sequence of int
        1 for each parameter that is a tensor map, else 0; may be shorter than `arg_types`.
    cuda_launch_fields : sequence of str
        The newest tables' form of tags: ``"grid.x"``, ``"cooperative"``, ...
    """

    name: str
    arg_types: tuple[str, ...] = ()
    launch_param_tags: tuple[str, ...] = ()
    arg_extra_tags: tuple[int, ...] = ()
    cuda_launch_fields: tuple[str, ...] = ()


class FunctionTable(dict[str, FunctionInfo]):
    """The functions of a module, by name; made of a sequence of them."""

    def __init__(self, functions: Iterable[FunctionInfo] = ()) -> None:
        super().__init__((info.name, info) for info in functions)

    def launches(self) -> dict[str, Launch]:
        """Return each function's launch, for ``load_inline(functions=..., embed_cubin=...)``.

        A function takes the kernel's arguments and then the values of its launch, in the order of
        the tags or fields; flags take none. Values of tags that are 0 count as 1, as in TVM.

        Raises
        ------
        ValueError
            A `Launch` has no counterpart of a tag, field or type; the message names it.
        """
        return {name: make_launch(info) for name, info in self.items()}


class CudaModule(NamedTuple):
    """A CUDA module of TVM's.

    Parameters
    ----------
    format : str
        What the code is: ``"cubin"``, ``"ptx"``, ``"fatbin"``, or ``"cuda"``, source text.
    table : FunctionTable
        Its functions.
    code : bytes
        The code.
    source : mapping of str to str
        What the code was made from, by kind (``"cuda"``), if TVM kept it.
    name : str
        The module's name.
    """

    format: str
    table: FunctionTable
    code: bytes
    source: Mapping[str, str] = {}
    name: str = "tvm_module"


def make_launch(info: FunctionInfo, taken: Collection[str] = ()) -> Launch:
    """Return how a function launches; its parameters have other names than those `taken`."""

    def free(name: str) -> str:
        while name in taken:
            name += "_"
        return name

    params = [f"{_c_type(info, i)} {free(f'arg{i}')}" for i in range(len(info.arg_types))]
    conditions: list[str] = []
    fields: dict[str, Any] = {}
    sizes: dict[str, dict[str, str]] = {"grid": {}, "block": {}}
    is_newest = bool(info.cuda_launch_fields)
    for text in info.cuda_launch_fields or info.launch_param_tags:
        word = re.sub(r"^(tirx?|tilelang)\.", "", text)
        if word in FLAGS:
            fields[FLAGS[word]] = True
            continue
        if word == "use_required_block_dimension":  # the image says it, and is asked
            continue
        name = free(word.removeprefix("use_").replace(".", "_"))
        params.append(f"{'void*' if word == 'stream' else 'int64_t'} {name}")
        field_, _, axis = word.replace("cluster_dim_", "cluster_dim.").partition(".")
        field_ = _AXES.get(field_, field_)
        if word in _VALUES:
            fields[_VALUES[word]] = name
        elif word in _ZEROS:
            conditions.append(f"{name} == 0")
        elif field_ not in _AXES.values() or axis not in ("x", "y", "z"):
            raise ValueError(f"function {info.name!r}: a Launch has no {text!r}")
        elif is_newest:
            sizes.setdefault(field_, {})[axis] = name
        else:  # TVM takes 0, as of an empty tensor, for 1
            conditions.append(f"{name} >= 0")
            sizes.setdefault(field_, {})[axis] = f"max({name}, 1)"
    preferred = sizes.get("preferred_cluster", {})
    if preferred and not is_newest:
        # Tags that prefer 1, 1, 1 prefer nothing, which is the cluster itself.
        for axis, least in sizes.get("cluster", {}).items():
            preferred[axis] = f"max({preferred[axis]}, {least})" if axis in preferred else least
    for field_, axes in sizes.items():
        fields[field_] = tuple(axes.get(axis, 1) for axis in "xyz")
    return Launch(params=", ".join(params), when=" and ".join(conditions) or None, **fields)


def _c_type(info: FunctionInfo, index: int) -> str:
    if info.arg_extra_tags[index : index + 1] == (1,):
        return "CUtensorMap"
    type_ = info.arg_types[index]
    if type_ not in C_TYPES:
        raise ValueError(
            f"function {info.name!r}: arg_types[{index}] is {type_!r}, which no kernel's parameter "
            f"has here; there are {', '.join(C_TYPES)}"
        )
    return C_TYPES[type_]
