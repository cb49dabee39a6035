// Template constants and bools, chosen by nested switches; an if constexpr in the kernel.
template <int kWidth, bool kHasBias, bool kRelu = false>
__global__ void linear_small(const float* x, const float* w, const float* bias, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum += x[row * kWidth + i] * w[i];
  if constexpr (kHasBias) sum += bias[0];
  if constexpr (kRelu) sum = sum > 0.f ? sum : 0.f;
  y[row] = sum;
}

template <int kWidth>
void run(const float* x, const float* w, const float* bias, float* y, int rows, bool relu,
         cudaStream_t stream) {
  constexpr int kBlock = kWidth >= 8 ? 64 : 128;
  const int blocks = (rows + kBlock - 1) / kBlock;
  if (bias != nullptr) {
    if (relu) {
      linear_small<kWidth, true, true><<<blocks, kBlock, 0, stream>>>(x, w, bias, y, rows);
    } else {
      linear_small<kWidth, true><<<blocks, kBlock, 0, stream>>>(x, w, bias, y, rows);
    }
  } else {
    linear_small<kWidth, false, (kWidth > 2)><<<blocks, kBlock, 0, stream>>>(x, w, nullptr, y, rows);
  }
}

void linear(tvm::ffi::TensorView x, tvm::ffi::TensorView w,
            tvm::ffi::Optional<tvm::ffi::TensorView> bias, tvm::ffi::TensorView y, bool relu) {
  auto stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  auto* px = static_cast<const float*>(x.data_ptr());
  auto* pw = static_cast<const float*>(w.data_ptr());
  auto* pb = bias.has_value() ? static_cast<const float*>(bias.value().data_ptr()) : nullptr;
  auto* py = static_cast<float*>(y.data_ptr());
  const int rows = static_cast<int>(x.size(0));
  switch (x.size(1)) {
    case 2: return run<2>(px, pw, pb, py, rows, relu, stream);
    case 4: return run<4>(px, pw, pb, py, rows, relu, stream);
    case 8: return run<8>(px, pw, pb, py, rows, relu, stream);
    default: TVM_FFI_THROW(ValueError) << "no kernel for a width of " << x.size(1);
  }
}
