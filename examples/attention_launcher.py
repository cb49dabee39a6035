"""Attention from a cubin: cluster, scheduling policy and dependent launch, from your own C++."""

from gpu import arch, no_launch

import tvmffi_cubin as tc

KERNEL = r"""
#include <cooperative_groups.h>
// A query of 64 floats a head; along x a cluster's blocks share out the n keys, a multiple of 4.
extern "C" __global__ void attend(const float* q, const float* k, const float* v, float* o, int n) {
  extern __shared__ float weight[];  // of this block's keys
  __shared__ float sums[65];         // of weighted values, and of weights
  auto cluster = cooperative_groups::this_cluster();
  const int keys = n / 4, t = threadIdx.x, head = blockIdx.z * gridDim.y + blockIdx.y;
  const long long first = (static_cast<long long>(head) * n + blockIdx.x * keys) * 64;
  cudaGridDependencySynchronize();  // the kernel before this one may still write q, k and v
  for (int j = t; j < keys; j += 64) {
    float score = 0;
    for (int d = 0; d < 64; ++d) score += q[head * 64 + d] * k[first + j * 64 + d];
    weight[j] = expf(score / 8);
  }
  __syncthreads();
  float sum = 0, weights = 0;
  for (int j = 0; j < keys; ++j) sum += weight[j] * v[first + j * 64 + t], weights += weight[j];
  sums[t] = sum, sums[64] = weights;
  cluster.sync();  // the sums of all blocks are there
  sum = weights = 0;
  for (int i = 0; i < 4; ++i) {  // a cluster has two heads along y
    const float* other = cluster.map_shared_rank(sums, cluster.block_rank() / 4 * 4 + i);
    sum += other[t], weights += other[64];
  }
  if (blockIdx.x == 0) o[head * 64 + t] = sum / weights;
  cluster.sync();  // a block's shared memory goes with it
}
"""

LAUNCHER = r"""
// [docs:launcher]
#include <tvmffi_cubin/tvmffi_cubin.h>

using namespace tvmffi_cubin;
using tvm::ffi::TensorView;
EMBED_CUBIN(attention);

void Attention(TensorView q, TensorView k, TensorView v, TensorView out) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(attention, "attend");
  const int device = q.device().device_id, n = k.size(2);
  LaunchConfig config(Dim3(4, q.size(1), q.size(0)), 64);  // the grid counts blocks
  config.SetCluster({4, 2, 1})
      .SetClusterSchedulingPolicy(CU_CLUSTER_SCHEDULING_POLICY_SPREAD)
      .SetProgrammaticDependentLaunch()
      .SetDynamicSmemBytes(n / 4 * sizeof(float))
      .SetStream(static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device)))
      .SetDevice(device);
  CheckDriver(kernel.Launch(config, q.data_ptr(), k.data_ptr(), v.data_ptr(), out.data_ptr(), n));
}
// [docs:end]
"""

cubin = tc.nvrtc.compile(KERNEL, arch=arch())  # or bytes or a file of a prebuilt image
mod = tc.load_inline("attention", LAUNCHER, functions="Attention", embed_cubin={"attention": cubin})


def main() -> None:
    if reason := no_launch():
        print(f"built, not launched: {reason}")
        return
    import torch

    q = torch.randn(3, 8, 1, 64, device="cuda")
    k, v = torch.randn(2, 3, 8, 1024, 64, device="cuda")
    out = torch.empty_like(q)
    mod.Attention(q, k, v, out)
    wanted = torch.softmax(q.double() @ k.double().mT / 8, dim=-1) @ v.double()
    torch.testing.assert_close(out.double(), wanted, rtol=1e-4, atol=1e-5)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
