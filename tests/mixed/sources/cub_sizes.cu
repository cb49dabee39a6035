// Host code that asks for the sizes of CUB's types, as kernels' traits do.
#include <cub/cub.cuh>

using namespace cub;

constexpr BlockScanAlgorithm kHow = BLOCK_SCAN_WARP_SCANS;

template <typename T, int kBlock, BlockScanAlgorithm kAlgorithm>
struct ScanTraits {
  using Scan = BlockScan<T, kBlock, kAlgorithm>;
  static constexpr int kBytes = sizeof(typename Scan::TempStorage);
};

template <typename Traits, typename Op>
__global__ void scan_block(float* x, Op op) {
  extern __shared__ __align__(16) char smem[];
  auto& storage = *reinterpret_cast<typename Traits::Scan::TempStorage*>(smem);
  float v = x[threadIdx.x];
  typename Traits::Scan(storage).InclusiveScan(v, v, op);
  x[threadIdx.x] = v;
}

struct Larger {
  __host__ __device__ float operator()(float a, float b) const { return a < b ? b : a; }
};

template <> struct ScanTraits<nv_bfloat16, 128, kHow>;  // CUB's headers have the type

int running_max(tvm::ffi::TensorView x) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  using Traits = ScanTraits<float, 128, kHow>;
  scan_block<Traits><<<1, 128, (Traits::kBytes + 1023) / 1024 * 1024, s>>>((float*)x.data_ptr(), Larger());
  return Traits::kBytes;
}
