// A tiled matrix product with a tile of each thread's own in registers.
template <int BM, int BN, int BK, int TM>
__global__ void __launch_bounds__((BM / TM) * BN)
    sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[BK][BM];
  __shared__ float Bs[BK][BN];
  const int col = threadIdx.x % BN, row = (threadIdx.x / BN) * TM;
  const int first_row = blockIdx.y * BM, first_col = blockIdx.x * BN;
  constexpr int kThreads = (BM / TM) * BN;
  float sums[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += kThreads) {
      int r = i / BK, k = i % BK;
      As[k][r] = first_row + r < M && k0 + k < K ? A[(first_row + r) * K + k0 + k] : 0.f;
    }
    for (int i = threadIdx.x; i < BK * BN; i += kThreads) {
      int k = i / BN, c = i % BN;
      Bs[k][c] = k0 + k < K && first_col + c < N ? B[(k0 + k) * N + first_col + c] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float b = Bs[k][col];
      for (int t = 0; t < TM; ++t) sums[t] += As[k][row + t] * b;
    }
    __syncthreads();
  }
  for (int t = 0; t < TM; ++t) {
    int r = first_row + row + t, c = first_col + col;
    if (r < M && c < N) C[r * N + c] = alpha * sums[t] + (beta == 0.f ? 0.f : beta * C[r * N + c]);
  }
}

template <int BM, int BN, int BK = 8, int TM = 4>
void launch_sgemm(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c, float alpha,
                  float beta) {
  static_assert(BM % TM == 0);
  const int M = a.size(0), K = a.size(1), N = b.size(1);
  TVM_FFI_ICHECK(b.size(0) == K && c.size(0) == M && c.size(1) == N) << "the shapes do not fit";
  dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM), block((BM / TM) * BN);
  sgemm<BM, BN, BK, TM><<<grid, block, 0,
      (cudaStream_t)TVMFFIEnvGetStream(a.device().device_type, a.device().device_id)>>>(
      M, N, K, alpha, (const float*)a.data_ptr(), (const float*)b.data_ptr(), beta,
      (float*)c.data_ptr());
}

void matmul(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c, double alpha,
            double beta) {
  if (a.size(0) >= 64) launch_sgemm<64, 32>(a, b, c, alpha, beta);
  else launch_sgemm<16, 16>(a, b, c, alpha, beta);
}
