"""What torch computes for the calls of mixed sources that take more than an expression."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812

Tensors = Mapping[int, torch.Tensor]


def added_in_order(x: torch.Tensor, *values: float) -> Tensors:
    for value in values:
        x = x + value
    return {0: x}


def clamp(x: torch.Tensor, out: torch.Tensor, low: float, high: float, negate: bool) -> Tensors:
    weights = torch.tensor([1.0, 2.0, 3.0, 1.0], device=x.device)
    y = x.clamp(low, high) * weights[: len(x)].reshape(-1, 1, 1)
    return {1: -y if negate else y}


def binary(name: str, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> Tensors:
    times = {"plus": 1, "minus": -1, "plus_three_times": 3, "plus_five_times": 5}
    return {3: torch.add(a, b, alpha=times[name])}


def ramps(*outs: torch.Tensor) -> Tensors:
    i = torch.arange(40, device=outs[0].device)
    first = 1 + 2.0 * i + 3
    return {0: first, 1: 5 + 2.0 * i + 3, 2: 2.5 + i + 3, 3: -(1 + 0.5 * i - 1 + first)}


def operands(out: torch.Tensor) -> Tensors:
    shapes = [(1, 1, 1, 2, 1, 1), (1, 2, 1, 2, 2, 1), (1, 1, 2, 1, 2, 3), (3, 1, 1, 1, 1, 1)]
    shapes += [(2, 1, 1, 1, 3, 1), (3, 1, 1, 4, 1, 1), (2, 1, 1, 2, 1, 1), (5, 1, 1, 1, 1, 1)]
    launched = torch.tensor(shapes, device=out.device)
    each = (launched * launched.new_tensor([10**6, 10**5, 10**4, 100, 10, 1])).sum(1)
    marks = each * launched[:, :3].prod(1)
    shared = torch.stack([2 * torch.arange(4).sum(), torch.arange(8).sum()]).to(out.device)
    return {0: torch.cat([marks[:5], shared, marks[5:]])}


def occupied(x: torch.Tensor) -> Tensors:
    y = x + 1 + 1
    y[:128] += 1
    return {0: y}


def group_means(values: torch.Tensor, groups: torch.Tensor, out: torch.Tensor) -> Tensors:
    counts = torch.bincount(groups, minlength=len(out))
    return {2: torch.zeros_like(out).index_add(0, groups, values) / counts.clamp(min=1)}


def five_taps(x: torch.Tensor, y: torch.Tensor) -> Tensors:
    weights = torch.tensor([0.0625, 0.25, 0.375, 0.25, 0.0625], device=x.device)
    padded = F.pad(x[None], (2, 2), mode="replicate")[0]
    return {1: (padded.unfold(0, 5, 1) * weights).sum(1)}


def filtered(
    x: torch.Tensor, y: torch.Tensor, offsets: list[int], taps: list[float], scale: float
) -> Tensors:
    rolled = torch.stack([x.roll(-offset) for offset in offsets])
    return {1: (rolled * x.new_tensor(taps)[:, None]).sum(0) * scale}


def bucket_counts(x: torch.Tensor, out: torch.Tensor, shift: float) -> Tensors:
    ends = torch.tensor([-1.0, 0.0, 1.0], device=x.device)
    return {1: torch.bincount(torch.bucketize(x + shift, ends, right=True), minlength=4)}


def ring_smoothed(x: torch.Tensor, y: torch.Tensor) -> Tensors:
    weights = torch.tensor([1 / 3, 0.5, 1.0, 0.5, 1 / 3], device=x.device)
    padded = F.pad(x[None], (2, 2), mode="circular")[0]
    return {1: (padded.unfold(0, 5, 1) * weights).sum(1)}


def mandelbrot(out: torch.Tensor, most: int) -> Tensors:
    rows, cols = out.shape
    places = {"dtype": torch.float64, "device": out.device}
    re = (-2 + 3 * torch.arange(cols, **places) / cols).float().expand(rows, cols)
    im = (-1.5 + 3 * torch.arange(rows, **places) / rows).float()[:, None].expand(rows, cols)
    x, y, steps = torch.zeros_like(re), torch.zeros_like(im), torch.zeros_like(out)
    inside = torch.ones_like(out, dtype=torch.bool)
    for _ in range(most):
        inside = inside & (x * x + y * y <= 4)
        x, y = x * x - y * y + re, 2 * x * y + im
        steps += inside
    return {0: steps}


def tile_sums(x: torch.Tensor, sums: torch.Tensor, tile: int, times: int = 1) -> Tensors:
    padded = F.pad(x.float(), (0, -len(x) % tile))
    return {1: times * padded.reshape(-1, tile).sum(1)}


def hashed(out: torch.Tensor, rounds: int) -> Tensors:
    state, low = torch.arange(len(out), device=out.device), 0xFFFFFFFF
    for _ in range((rounds + 1) // 2):
        state = state * 2654435761 & low
        state = (state << 13 | state >> 19) & low ^ 0x9E3779B9
    return {0: torch.where(state > low // 2, state - low - 1, state)}


def shifted(x: torch.Tensor, y: torch.Tensor, low: float, high: float) -> Tensors:
    by = (torch.arange(len(x), device=x.device) % 3 + 1) * 10
    return {1: x.clamp(low, high) * 0.5 + by + 101}


def texts(out: torch.Tensor) -> Tensors:
    wanted = torch.zeros_like(out)
    wanted[:4] = 5 + 4 + 1_000_000 + 1
    wanted[4:6] = 2 + 4 + 16 + 1
    return {0: wanted}


def blended(x: torch.Tensor, y: torch.Tensor, t: float) -> Tensors:
    return {1: torch.lerp(2 * x.float() + 1, 0.5 - x.float(), t)}


def layer_norm(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    y: torch.Tensor,
    mean: torch.Tensor,
    eps: float,
) -> Tensors:
    return {3: F.layer_norm(x, gamma.shape, gamma, beta, eps), 4: x.mean(1, dtype=mean.dtype)}


def heat(field: torch.Tensor, other: torch.Tensor, steps: int, diffusion: float) -> Tensors:
    for _ in range(steps):
        p = F.pad(field[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        field = field + diffusion * (around - 4 * field)
    return {0: field}


def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None, y: torch.Tensor, relu: bool
) -> Tensors:
    out = F.linear(x, w[None], bias)[:, 0]
    relu = relu if bias is not None else len(w) > 2
    return {3: out.relu() if relu else out}


def epilogue(
    x: torch.Tensor, out: torch.Tensor, activation: int, columns: bool, up: bool
) -> Tensors:
    value = 4 * (x, x.relu(), F.gelu(x))[activation]
    y = (value.ceil() if up else value.floor()) / 4
    return {1: y.T if columns else y}


def described(f: torch.Tensor, i: torch.Tensor, d: torch.Tensor, out: torch.Tensor) -> Tensors:
    ramp = torch.arange(out.shape[1], device=out.device) * 0.5
    return {3: torch.stack([f, i.float() * 10, -d.float(), ramp])}


def every_pack(a: torch.Tensor, b: torch.Tensor, *outs: torch.Tensor) -> Tensors:
    y = (a + b + b + 2) * 0.5 + 2
    y[0] += 1 + 20 + 300
    constants = zip(outs[1:], (1, 2.5, 4.5), strict=True)
    return {2: y, **{at: torch.full_like(x, v) for at, (x, v) in enumerate(constants, 3)}}


def stored(*outs: torch.Tensor) -> Tensors:
    values = (2.5, 8, 4.5, 2.5, 48)
    pairs = zip(outs, values, strict=True)
    return {at: torch.full_like(out, value) for at, (out, value) in enumerate(pairs)}
