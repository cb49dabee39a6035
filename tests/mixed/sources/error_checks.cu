// Launches that are refused, and what host code finds out about them.
__global__ void touch(float* x) { x[threadIdx.x] += 1.f; }

static cudaStream_t stream_of(tvm::ffi::TensorView t) {
  return (cudaStream_t)TVMFFIEnvGetStream(t.device().device_type, t.device().device_id);
}

// Taken by the code: the name of the error, and success behind it.
tvm::ffi::Array<tvm::ffi::String> taken(tvm::ffi::TensorView x, int block) {
  touch<<<1, block, 0, stream_of(x)>>>(static_cast<float*>(x.data_ptr()));
  cudaError_t peeked = cudaPeekAtLastError();
  cudaError_t got = cudaGetLastError();
  cudaError_t after = cudaGetLastError();
  return {cudaGetErrorName(peeked), cudaGetErrorName(got), cudaGetErrorName(after)};
}

// Nobody asks here: nvcc's program goes on as if nothing had been.
void unasked(tvm::ffi::TensorView x, int block) {
  touch<<<1, block, 0, stream_of(x)>>>(static_cast<float*>(x.data_ptr()));
}
