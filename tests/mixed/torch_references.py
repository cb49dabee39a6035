"""What torch itself computes for the calls of the mixed sources, on the device of the tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

from . import torch_functions as functions
from .case import BFloat16, Call
from .torch_functions import Tensors

__all__ = ["REFERENCES", "TorchReference", "as_torch"]


class TorchReference(NamedTuple):
    """What torch computes, from the arguments as they are before the call.

    Attributes
    ----------
    compute : callable
        Returns what `Call.expected` has: arguments by position, what the call returns at -1.
    why : str
        Why the kernel may differ, by the call's own tolerances; empty where it may not by a bit.
    """

    compute: Callable[..., Tensors]
    why: str = ""


def as_torch(call: Call, device: str) -> list[Any]:
    """Return new arguments of a call, its arrays as tensors on a device."""
    return [_as_torch(arg, device) for arg in call.args]


def _as_torch(arg: Any, device: str) -> Any:
    if isinstance(arg, BFloat16):
        return torch.tensor(arg.values).to(device, torch.bfloat16)
    return torch.tensor(arg).to(device) if isinstance(arg, np.ndarray) else arg


CONTRACTED = "the kernel's compiler makes one rounding of a product and a sum"
ORDER = "sums come in another order"
FILTER = "the texture unit computes in fixed point"
FUNCTION = "the kernel has its own formula, or a faster one"


def exact(compute: Callable[..., Tensors]) -> TorchReference:
    return TorchReference(compute)


# By name of the case and of the function.
REFERENCES: dict[tuple[str, str], TorchReference] = {
    ("saxpy", "saxpy"): TorchReference(lambda a, x, y: {2: a * x + y}, CONTRACTED),
    ("vector_ops", "add"): exact(lambda a, b, out: {2: a + b}),
    ("vector_ops", "mul"): exact(lambda a, b, out: {2: a * b}),
    ("vector_ops", "fill"): exact(lambda out, value: {0: torch.full_like(out, value)}),
    ("kernel_table", "binary"): exact(functions.binary),
    ("kernel_table", "fixed_minus"): exact(lambda a, b, out: {2: a - b}),
    ("struct_params", "clamp"): exact(functions.clamp),
    ("bitonic_sort", "sort"): exact(lambda x: {0: x.sort().values}),
    ("launch_places", "everywhere"): exact(
        lambda x: functions.added_in_order(
            *(x, 1, 4, 8, 16, 32, 2, 64, 128, 256, 1000, 1000, 10000, 20000, 100000, 0.25, 0.5)
        )
    ),
    ("default_arguments", "ramps"): exact(functions.ramps),
    ("default_arguments", "fills"): exact(
        lambda a, b: {0: torch.full_like(a, 6), 1: torch.full_like(b, 301)}
    ),
    ("launch_operands", "operands"): exact(functions.operands),
    ("occupancy", "shapes"): exact(functions.occupied),
    ("runtime_launches", "launches"): exact(lambda x: {0: x * 3 + 2 + 10 - 1}),
    ("error_checks", "taken"): exact(lambda x, block: {0: x + 1 if block <= 1024 else x}),
    ("error_checks", "thrown"): exact(lambda x, block: {0: x + 1}),
    ("error_checks", "unasked"): exact(lambda x, block: {0: x + 1}),
    ("grid_sync", "normalised"): TorchReference(lambda x, partial: {0: x / x.sum()}, ORDER),
    ("dtype_switch", "silu"): TorchReference(lambda x, y: {1: F.silu(x)}, FUNCTION),
    ("template_constants", "linear"): TorchReference(functions.linear, CONTRACTED),
    ("enum_arguments", "epilogue_of"): TorchReference(functions.epilogue, FUNCTION),
    ("functors", "square"): exact(lambda x, y: {1: x.square()}),
    ("functors", "affine"): TorchReference(lambda x, y, a, b: {1: a * x + b}, CONTRACTED),
    ("functors", "square_then_affine"): TorchReference(
        lambda x, y, a, b: {1: a * x.square() + b}, CONTRACTED
    ),
    ("index_types", "gathered"): exact(lambda table, at, out: {2: table.index_select(0, at)}),
    ("specialisations", "describe_all"): exact(functions.described),
    ("packs", "every_pack"): TorchReference(functions.every_pack, CONTRACTED),
    ("overloads", "store_all"): exact(functions.stored),
    ("classes", "smoothed"): TorchReference(functions.ring_smoothed, CONTRACTED),
    ("from_torch", "leaky_relu"): exact(lambda x, slope: {-1: F.leaky_relu(x, slope)}),
    ("namespaces", "everything"): exact(
        lambda x: functions.added_in_order(x, 1, 10, 100, 1000, 10000, 100000, 1000000, 0.5)
    ),
    ("macros", "twice_and_half"): exact(lambda x, y, z: {1: x + x, 2: x / 2}),
    ("kernel_macros", "relu"): exact(lambda x, y: {1: x.relu()}),
    ("kernel_macros", "cube"): exact(lambda x, y: {1: x * x * x}),
    ("kernel_macros", "extremes"): exact(
        lambda x, y, *_: {2: torch.maximum(x, y), 3: torch.minimum(x, y)}
    ),
    ("two_way_helpers", "draw"): TorchReference(functions.mandelbrot, CONTRACTED),
    ("constexpr_helpers", "sum_float"): TorchReference(
        lambda x, y: functions.tile_sums(x, y, 1024), ORDER
    ),
    ("constexpr_helpers", "sum_bytes"): exact(
        lambda x, y: functions.tile_sums(x, y, 4096, times=2)
    ),
    ("relaxed_constexpr", "mixed"): exact(functions.hashed),
    ("std_names", "shifted"): TorchReference(functions.shifted, CONTRACTED),
    ("arch_branches", "numbers"): exact(
        lambda out, _: {0: torch.arange(len(out), device=out.device) * 10 + 1}
    ),
    ("misleading_text", "text"): exact(functions.texts),
    ("user_headers", "gelu_of"): TorchReference(lambda x, y: {1: F.gelu(x)}, FUNCTION),
    ("user_headers", "counted"): TorchReference(
        lambda x, n, y: {1: (x > 0).sum()[None], 2: x * x + (x > 0)}, CONTRACTED
    ),
    ("header_only", "tripled"): exact(lambda x, y: {1: 3 * x}),
    ("parts", "blended"): TorchReference(functions.blended, CONTRACTED),
    ("own_exports", "negate"): exact(lambda x: {0: -x}),
    ("own_exports", "absolute"): exact(lambda x: {0: x.abs()}),
    ("beside_cpp", "add_one"): exact(lambda x, y, stream: {1: x + 1}),
    ("transpose", "transpose"): exact(lambda x, y: {1: x.T}),
    ("dynamic_shared", "reverse"): exact(lambda x, y: {1: x.flip(1)}),
    ("dynamic_shared", "means"): TorchReference(functions.group_means, ORDER),
    ("dynamic_shared", "rotate_all"): exact(lambda a, b, by: {0: a.roll(-by), 1: b.roll(-by)}),
    ("large_shared", "reverse"): exact(lambda x, y: {1: x.flip(0)}),
    ("large_shared", "shift"): exact(lambda x, y, by: {1: x.roll(-by)}),
    ("constant_memory", "smoothed"): TorchReference(functions.five_taps, CONTRACTED),
    ("constant_memory", "filtered"): TorchReference(functions.filtered, CONTRACTED),
    ("device_globals", "run"): exact(functions.bucket_counts),
    ("half_math", "axpy"): TorchReference(lambda x, y, a: {1: y.add(x, alpha=a)}, CONTRACTED),
    ("half_math", "multiply"): exact(lambda x, y, by: {1: x * by}),
    ("half_math", "convert_to_float"): exact(lambda x, y: {1: x.float()}),
    ("half_math", "convert_to_bf16"): exact(lambda x, y: {1: x.bfloat16()}),
    ("vectorised", "scale"): exact(lambda x, y, by: {1: x * by}),
    ("vectorised", "add_bytes"): exact(lambda a, b, c: {2: a + b}),
    ("streams_and_copies", "pipeline"): exact(
        lambda x, y, host: {1: x.square() + x.new_tensor(host)}
    ),
    ("streams_and_copies", "first_square"): exact(lambda x, y: {1: x.square()}),
    ("async_copies", "turn"): exact(
        lambda x, y, most, way: {
            1: x.reshape(4, 64).flip(1).reshape(-1),
            2: torch.full_like(most, 2**14 - 1 if way == 2 else 0),
        }
    ),
    ("graphs_and_peers", "captured"): exact(lambda x, by: functions.added_in_order(x, by, by, by)),
    ("graphs_and_peers", "by_nodes"): exact(
        lambda x, y, z, by: {1: x + by + by, 2: torch.full_like(z, 7)}
    ),
    ("graphs_and_peers", "by_symbols"): exact(lambda x, by: {0: x + by}),
    ("arrays_and_textures", "shifted"): TorchReference(
        lambda x, y: {1: torch.cat([x[:, :1], x[:, :-1]], 1)}, FILTER
    ),
    ("arrays_and_textures", "normalized"): TorchReference(lambda x, y: {1: x / 255}, FILTER),
    ("arrays_and_textures", "twice"): exact(lambda x, y: {1: 2 * x}),
    ("arrays_and_textures", "box"): exact(lambda x, y: {1: x[1:, 1:, 1:]}),
    ("arrays_and_textures", "pitched"): exact(
        lambda host, y: {1: y.new_tensor(host).reshape(y.shape)}
    ),
    ("cooperative_tiles", "sums"): TorchReference(lambda x, y, tile: {1: x.sum(1)}, ORDER),
    ("cooperative_tiles", "maxima"): exact(lambda x, y: {1: x.amax(1)}),
    ("cub_block", "sums"): TorchReference(
        lambda x, y: functions.tile_sums(x, y, 128 if x.is_floating_point() else 256), ORDER
    ),
    ("cub_block", "scans"): exact(lambda x, y: {1: x.reshape(4, 256).cumsum(1).reshape(-1)}),
    ("cub_sizes", "running_max"): exact(lambda x: {0: x.cummax(0).values}),
    ("layer_norm", "layer_norm"): TorchReference(functions.layer_norm, ORDER),
    ("histogram", "histogram"): exact(lambda x, y: {1: torch.bincount(x % 64, minlength=64)}),
    ("two_pass_reduction", "sum"): TorchReference(lambda x, y: {1: x.sum()[None]}, ORDER),
    ("matmul", "matmul"): TorchReference(
        lambda a, b, c, alpha, beta: {2: torch.addmm(c, a, b, alpha=alpha, beta=beta)}, ORDER
    ),
    ("softmax", "softmax"): TorchReference(lambda x, y: {1: x.softmax(1)}, FUNCTION),
    ("scan", "inclusive_scan"): exact(lambda x, y, sums: {1: x.cumsum(0)}),
    ("stencil_2d", "heat"): TorchReference(functions.heat, CONTRACTED),
}
