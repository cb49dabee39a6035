"""NumPy and CuPy arrays on CuPy's own stream, or with torch if CuPy is not installed."""

import importlib.util

import numpy as np
from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "interop",
    cuda_sources=r"""
    __global__ void hypotenuse(const double* a, const double* b, double* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) c[i] = sqrt(a[i] * a[i] + b[i] * b[i]);
    }""",
    functions={
        "hypotenuse": tc.Launch(grid="ceil_div(a.numel, 256)", block=256, args={"n": "a.numel"}),
    },
    arch=arch(),  # [docs:skip]
)


def with_cupy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # [docs:cupy]
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:
        x, y = cupy.asarray(a), cupy.asarray(b)  # NumPy to the device
        z = cupy.empty_like(x)
        # tvm-ffi knows torch's current stream, not CuPy's: say which, for one call
        mod.hypotenuse.on(cupy.cuda.get_current_stream())(x, y, z)
        x *= 2  # CuPy's own kernels go to the same stream, before and after
        with tc.use_stream(stream):  # or for all calls in a block
            mod.hypotenuse(x, z, z)
        # [docs:end]
        return cupy.asnumpy(z)  # and back, when the stream is done


def with_torch(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    import torch

    x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    z = torch.empty_like(x)
    mod.hypotenuse(x, y, z)  # on torch's current stream
    x *= 2
    mod.hypotenuse(x, z, z)
    return z.cpu().numpy()


def main() -> None:
    print(mod.hypotenuse.signature)
    a, b = np.random.default_rng(0).standard_normal((2, 1000))
    try:
        mod.hypotenuse(a, b, np.empty_like(a))
    except ValueError as error:
        print(error)  # NumPy arrays are not on a device
    else:
        raise AssertionError("arrays in host memory were accepted")
    if reason := no_launch("cupy", "torch"):
        print(f"built, not launched: {reason}")
        return

    has_cupy = importlib.util.find_spec("cupy") is not None
    c = with_cupy(a, b) if has_cupy else with_torch(a, b)
    np.testing.assert_allclose(c, np.sqrt(5 * a * a + b * b), rtol=1e-12)
    print(f"launched on arrays of {'CuPy' if has_cupy else 'torch'}: the numbers are NumPy's")


if __name__ == "__main__":
    main()
