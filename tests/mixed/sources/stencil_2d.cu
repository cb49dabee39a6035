// A convolution whose steps swap two buffers, with a struct of pointers and a ceil_div in a macro.
#include <utility>

#define DIVUP(m, n) ((m) / (n) + ((m) % (n) > 0))

typedef struct {
  int rows;
  int cols;
  float diffusion;
} grid_t;

inline __device__ float read_clamped(const float* __restrict__ field, grid_t g, int r, int c) {
  r = r < 0 ? 0 : (r >= g.rows ? g.rows - 1 : r);
  c = c < 0 ? 0 : (c >= g.cols ? g.cols - 1 : c);
  return field[r * g.cols + c];
}

__global__ void heat_step(const float* __restrict__ from, float* __restrict__ to, const grid_t g) {
  const int c = blockDim.x * blockIdx.x + threadIdx.x;
  const int r = blockDim.y * blockIdx.y + threadIdx.y;
  if (r < g.rows && c < g.cols) {
    float centre = from[r * g.cols + c];
    float around = read_clamped(from, g, r - 1, c) + read_clamped(from, g, r + 1, c) +
                   read_clamped(from, g, r, c - 1) + read_clamped(from, g, r, c + 1);
    to[r * g.cols + c] = centre + g.diffusion * (around - 4 * centre);
  }
}

// The result is in `field` where the number of steps is even, else in `other`.
void heat(tvm::ffi::TensorView field, tvm::ffi::TensorView other, int64_t steps, double diffusion) {
  grid_t g = {.rows = (int)field.size(0), .cols = (int)field.size(1), .diffusion = (float)diffusion};
  const dim3 threads(16, 16);
  const dim3 blocks(DIVUP(g.cols, threads.x), DIVUP(g.rows, threads.y));
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(field.device().device_type, field.device().device_id);
  float* from = (float*)field.data_ptr();
  float* to = (float*)other.data_ptr();
  for (int64_t step = 0; step < steps; ++step, std::swap(from, to))
    heat_step<<<blocks, threads, 0, stream>>>(from, to, g);
}
