"""Several GPUs: launches follow their tensors, threads on all of them, loading before the first."""

from concurrent.futures import ThreadPoolExecutor

from gpu import arch, no_launch

import tvmffi_cubin as tc

mod = tc.load_inline(
    "several_gpus",
    cuda_sources=r"""
    __global__ void scale(const float* x, float* y, float by, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = by * x[i];
    }""",
    functions={"scale": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})},
    arch=arch(),  # [docs:skip]
)


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    # [docs:call]
    devices = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    for device in devices:
        mod.preload(device)  # or the first launch there loads

    def work(device: torch.device, by: float) -> torch.Tensor:
        stream = torch.cuda.Stream(device)
        with torch.cuda.stream(stream):  # each thread has a current stream of its own
            x = torch.arange(1000.0, device=device)
            y = torch.empty_like(x)
            mod.scale(x, y, by)  # on the device of x
        stream.synchronize()
        return y

    factors = [float(by) for by in range(32)]
    where = [devices[index % len(devices)] for index in range(len(factors))]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, where, factors))

    mod.unload()  # frees it on all devices; a later launch would load again
    # [docs:end]
    for y, by in zip(results, factors, strict=True):
        torch.testing.assert_close(y.cpu(), by * torch.arange(1000.0))
    print(f"launched on {len(devices)} device(s): the numbers are torch's")


if __name__ == "__main__":
    main()
