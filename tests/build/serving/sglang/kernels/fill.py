import torch

from sglang.kernels.jit.utils.compile.loader import Unit, load_jit


def fill_module(dtype: torch.dtype, head_dim: int, *, fast: bool, depth: int = 1):
    assert dtype is torch.bfloat16
    flags = (f"-DHEAD={head_dim}", f"-DFAST={fast:d}", f"-DDEPTH={depth}")
    return load_jit("fill", Unit("cuda.cu", True, "// fill\n"), cuda_cflags=flags)
