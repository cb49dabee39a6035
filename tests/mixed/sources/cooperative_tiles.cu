// Cooperative groups within a block: tiles, a reduction, labelled groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <climits>

namespace cg = cooperative_groups;

template <int kTile>
__device__ float tile_sum(const cg::thread_block_tile<kTile>& tile, float v) {
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) v += tile.shfl_down(v, offset);
  return v;
}

template <int kTile>
__global__ void row_sums(const float* x, float* y, int rows, int cols) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<kTile>(block);
  int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows) return;
  float sum = 0.f;
  for (int c = tile.thread_rank(); c < cols; c += kTile) sum += x[row * cols + c];
  sum = tile_sum<kTile>(tile, sum);
  if (tile.thread_rank() == 0) y[row] = sum;
}

__global__ void row_maxima(const int* x, int* y, int cols) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int most = INT_MIN;
  for (int c = warp.thread_rank(); c < cols; c += warp.size()) most = max(most, x[blockIdx.x * cols + c]);
  most = cg::reduce(warp, most, cg::greater<int>());
  if (warp.thread_rank() == 0) y[blockIdx.x] = most;
}

void sums(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int tile) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  int rows = x.size(0), cols = x.size(1);
  int blocks = (rows * tile + 127) / 128;
  auto* in = (const float*)x.data_ptr();
  auto* out = (float*)y.data_ptr();
  if (tile == 8) row_sums<8><<<blocks, 128, 0, s>>>(in, out, rows, cols);
  else if (tile == 32) row_sums<32><<<blocks, 128, 0, s>>>(in, out, rows, cols);
  else TVM_FFI_THROW(ValueError) << "no tiles of " << tile;
}

void maxima(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  row_maxima<<<x.size(0), 32, 0, s>>>((const int*)x.data_ptr(), (int*)y.data_ptr(), x.size(1));
}
