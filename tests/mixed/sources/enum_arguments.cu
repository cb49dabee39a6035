// Enumerations as template arguments: scoped, unscoped, nested in a struct.
enum class Activation : int { kNone = 0, kRelu, kGelu };
enum Layout { ROW_MAJOR, COLUMN_MAJOR };
struct Policy {
  enum Rounding { Down, Up };
};

template <Activation act>
__device__ __forceinline__ float activate(float v) {
  if constexpr (act == Activation::kRelu) return fmaxf(v, 0.f);
  else if constexpr (act == Activation::kGelu) return 0.5f * v * (1.f + erff(v * 0.70710678f));
  else return v;
}

template <Activation act, Layout layout, Policy::Rounding rounding>
__global__ void epilogue(const float* x, float* y, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols) return;
  float v = activate<act>(x[r * cols + c]) * 4.f;
  v = (rounding == Policy::Up ? ceilf(v) : floorf(v)) / 4.f;
  y[layout == ROW_MAJOR ? r * cols + c : c * rows + r] = v;
}

template <Activation act>
static void launch_layout(const float* x, float* y, int rows, int cols, bool columns, bool up,
                          cudaStream_t s) {
  dim3 block(32, 4);
  dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  if (columns && up)
    epilogue<act, COLUMN_MAJOR, Policy::Up><<<grid, block, 0, s>>>(x, y, rows, cols);
  else if (columns)
    epilogue<act, COLUMN_MAJOR, Policy::Down><<<grid, block, 0, s>>>(x, y, rows, cols);
  else if (up)
    epilogue<act, ROW_MAJOR, Policy::Up><<<grid, block, 0, s>>>(x, y, rows, cols);
  else
    epilogue<act, ROW_MAJOR, Policy::Down><<<grid, block, 0, s>>>(x, y, rows, cols);
}

void epilogue_of(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int activation, bool columns,
                 bool up) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  const float* in = (const float*)x.data_ptr();
  float* out = (float*)y.data_ptr();
  int rows = x.size(0), cols = x.size(1);
  switch (static_cast<Activation>(activation)) {
    case Activation::kNone:
      launch_layout<Activation::kNone>(in, out, rows, cols, columns, up, s);
      break;
    case Activation::kRelu:
      launch_layout<Activation::kRelu>(in, out, rows, cols, columns, up, s);
      break;
    case Activation::kGelu:
      launch_layout<Activation::kGelu>(in, out, rows, cols, columns, up, s);
      break;
  }
}
