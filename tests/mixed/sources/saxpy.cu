// The shortest one: a kernel, a host function, one launch on the caller's stream.
__global__ void saxpy_kernel(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

void saxpy(double a, tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int64_t n = x.numel();
  cudaStream_t stream = static_cast<cudaStream_t>(
      TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  saxpy_kernel<<<(n + 255) / 256, 256, 0, stream>>>(
      a, static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), n);
}
