// A tiled transpose in static shared memory, padded against bank conflicts.
#define TILE_DIM 32
#define BLOCK_ROWS 8

template <class T>
__global__ __launch_bounds__(TILE_DIM* BLOCK_ROWS) void transpose_kernel(const T* in, T* out,
                                                                         int rows, int cols) {
  __shared__ T tile[TILE_DIM][TILE_DIM + 1];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

void transpose(tvm::ffi::TensorView in, tvm::ffi::TensorView out) {
  TVM_FFI_ICHECK_EQ(in.ndim(), 2) << "a matrix is wanted";
  TVM_FFI_ICHECK_EQ(in.size(0), out.size(1));
  TVM_FFI_ICHECK_EQ(in.size(1), out.size(0));
  const int rows = in.size(0), cols = in.size(1);
  const dim3 threads{TILE_DIM, BLOCK_ROWS, 1};
  const dim3 blocks = {unsigned(cols + TILE_DIM - 1) / TILE_DIM,
                       unsigned(rows + TILE_DIM - 1) / TILE_DIM};
  const auto device = in.device();
  cudaStream_t stream = (cudaStream_t)TVMFFIEnvGetStream(device.device_type, device.device_id);
  switch (in.dtype().bits) {
    case 64:
      transpose_kernel<<<blocks, threads, 0, stream>>>(static_cast<const double*>(in.data_ptr()),
                                                       static_cast<double*>(out.data_ptr()), rows,
                                                       cols);
      break;
    case 32:
      transpose_kernel<<<blocks, threads, 0, stream>>>(
          static_cast<const uint32_t*>(in.data_ptr()), static_cast<uint32_t*>(out.data_ptr()), rows,
          cols);
      break;
    case 8:
      transpose_kernel<unsigned char><<<blocks, threads, 0, stream>>>(
          static_cast<unsigned char*>(in.data_ptr()), static_cast<unsigned char*>(out.data_ptr()),
          rows, cols);
      break;
    default:
      TVM_FFI_THROW(TypeError) << "elements of " << int(in.dtype().bits) << " bits";
  }
}
