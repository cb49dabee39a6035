"""A source of one kernel, and what loads sources for sm_90."""

import tvmffi_cubin as tc

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def load(source, functions=None, *, name="mod", **options):
    return tc.load_inline(name, source, functions=functions, arch="sm_90", **options)
