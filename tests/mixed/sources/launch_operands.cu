// Two to four launch operands: ints, dim3 by name, by constructor and in braces, expressions.
__global__ void mark(int* out, int which) {
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0)
    atomicAdd(out + which, gridDim.x * 1000000 + gridDim.y * 100000 + gridDim.z * 10000 +
                               blockDim.x * 100 + blockDim.y * 10 + blockDim.z);
}

__global__ void mark_shared(int* out, int which) {
  extern __shared__ int row[];
  row[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += row[i];
    atomicAdd(out + which, sum);
  }
}

struct Config {
  dim3 grid() const { return {2, 1, 1}; }
  unsigned block = 4;
  size_t smem = 64;
};

template <int kBlock>
struct Shape {
  static constexpr int block = kBlock;
};

void operands(tvm::ffi::TensorView out) {
  int* p = static_cast<int*>(out.data_ptr());
  TVMFFIStreamHandle handle = TVMFFIEnvGetStream(out.device().device_type, out.device().device_id);
  cudaStream_t stream = static_cast<cudaStream_t>(handle);
  cudaStreamSynchronize(stream);  // what follows goes to stream 0 in part
  mark<<<1, 2>>>(p, 0);
  mark<<<dim3(1, 2), dim3(2, 2)>>>(p, 1);
  mark<<<dim3{1, 1, 2}, dim3{1, 2, 3}, 0>>>(p, 2);
  mark<<< 3 , 1 , 0 , 0 >>>(p, 3);
  const dim3 grid(2), block(1, 3);
  mark<<<grid, block, 0, 0>>>(p, 4);
  Config config;
  mark_shared<<<config.grid(), config.block, config.smem>>>(p, 5);
  mark_shared<<<1, Shape<8>::block, sizeof(int) * Shape<8>::block, nullptr>>>(p, 6);
  cudaStreamSynchronize(0);
  const int64_t n = 5;
  mark<<<(n + 1) / 2, n > 4 ? 4 : 2, 0, stream>>>(p, 7);
  mark<<<(1 << 2) >> 1, (8 >> 2), 0, stream>>>(p, 8);
  mark<<<
      dim3((unsigned)n,  // x
           1),           /* y, and a comma, in a comment */
      1,
      0,
      stream
  >>>(
      p,
      9
  );
}
