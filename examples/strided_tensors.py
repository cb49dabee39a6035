"""Views that are not contiguous: a kernel that is given strides, and one that needs none."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

FUNCTIONS = {
    "pack": tc.Launch(
        grid=("ceil_div(x.shape[1], 32)", "ceil_div(x.shape[0], 8)"),
        block=(32, 8),
        args={
            "rows": "x.shape[0]",
            "columns": "x.shape[1]",
            "row_stride": "x.stride[0]",  # reading a stride lets x be any view
            "column_stride": "x.stride[1]",
        },
    ),
    "halve": tc.Launch(
        grid="ceil_div(x.numel, 256)",
        block=256,
        args={"n": "x.numel"},
        strided=["x"],  # so does this, for a kernel that copes without them
    ),
}

mod = tc.load_inline(
    "strided_tensors",
    cuda_sources=r"""
    // y is contiguous; x is any view of two dimensions, its strides counted in elements.
    __global__ void pack(const float* x, float* y, int rows, int columns,
                         long long row_stride, long long column_stride) {
      int column = blockIdx.x * blockDim.x + threadIdx.x;
      int row = blockIdx.y * blockDim.y + threadIdx.y;
      if (row < rows && column < columns)
        y[row * static_cast<long long>(columns) + column] =
            x[row * row_stride + column * column_stride];
    }

    // Touches every element once, in whatever order they lie in memory.
    __global__ void halve(float* x, long long n) {
      long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
      if (i < n) x[i] /= 2;
    }""",
    functions=FUNCTIONS,
    arch=arch(),
)


def main() -> None:
    for name in mod:
        print(mod[name].signature)
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    x = torch.rand(300, 200, device="cuda")
    for view in (x, x.t(), x[5:, ::3], x[:1].expand(9, -1)):
        y = torch.empty(view.shape, device="cuda")
        mod.pack(view, y)
        torch.testing.assert_close(y, view.contiguous(), rtol=0, atol=0)
    try:
        mod.pack(x, torch.empty(200, 300, device="cuda").t())
    except ValueError as error:
        print(error)  # nothing reads the strides of y, so it has to be contiguous
    else:
        raise AssertionError("a y that is not contiguous was accepted")

    halved = x / 2
    mod.halve(x.t())  # dense, though not contiguous
    torch.testing.assert_close(x, halved, rtol=0, atol=0)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
