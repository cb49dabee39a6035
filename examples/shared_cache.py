"""A cache that machines share: one builds and signs, the next takes it and runs no compiler."""

import os
import secrets
import tempfile
from pathlib import Path

from gpu import arch, no_launch

import tvmffi_cubin as tc

folder = Path(tempfile.mkdtemp(prefix="shared_cache"))

# [docs:settings]
key = folder / "kernels.key"
key.touch(mode=0o600)
key.write_text(secrets.token_hex(32))  # once; every machine has a copy

os.environ["TVMFFI_CUBIN_CACHE_REMOTE"] = f"file://{folder}/remote"  # or s3://bucket/kernels
os.environ["TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE"] = str(key)
# [docs:end]
os.environ["TVMFFI_CUBIN_CACHE_REMOTE_BUDGET"] = "30"  # this machine may be busy

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""


def load() -> tc.Module:
    launch = tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})
    return tc.load_inline("saxpy", SAXPY, functions={"saxpy": launch}, arch=arch())


def machine(name: str) -> str:
    """What comes of the same call on a machine that has nothing yet: a cache folder of its own."""
    child = os.fork()
    if child == 0:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = str(folder / name)
        load()
        (folder / f"{name}.outcome").write_text(tc.cache_info().events[-1].outcome)
        raise SystemExit  # uploads are waited for
    os.waitpid(child, 0)
    return (folder / f"{name}.outcome").read_text()


def main() -> None:
    assert machine("first") == "built"
    assert machine("second") == "remote"
    print("the first machine built it, the second took it")
    os.environ["TVMFFI_CUBIN_CACHE_DIR"] = str(folder / "third")
    mod = load()
    info = tc.cache_info()
    assert (info.builds, info.remote_hits) == (0, 1)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.rand(1000, device="cuda")
    y = torch.ones_like(x)
    expected = 2.0 * x + y
    mod.saxpy(2.0, x, y)
    torch.testing.assert_close(y, expected)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
