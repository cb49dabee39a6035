// With C++ of its own beside it, which declares what is defined here and is called from here.
int64_t rounded_up(int64_t n, int64_t to);

__global__ void add_one_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}

void add_one(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t raw_stream) {
  DLDataType f32_dtype{kDLFloat, 32, 1};
  TVM_FFI_ICHECK(x.dtype() == f32_dtype) << "x must be a float tensor";
  cudaStream_t stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  if (raw_stream != -1) TVM_FFI_ICHECK_EQ(reinterpret_cast<int64_t>(stream), raw_stream);
  int64_t n = x.size(0), block = 128;
  add_one_kernel<<<rounded_up(n, block) / block, block, 0, stream>>>(
      static_cast<float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), n);
}
