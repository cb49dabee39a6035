// Kernels as values: in a table, behind a typedef, as a parameter and as a template argument.
__global__ void plus(const int* a, const int* b, int* c, int n) {
  if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) c[i] = a[i] + b[i];
}
__global__ void minus(const int* a, const int* b, int* c, int n) {
  if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) c[i] = a[i] - b[i];
}
template <int kBy>
__global__ void plus_times(const int* a, const int* b, int* c, int n) {
  if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) c[i] = a[i] + kBy * b[i];
}

typedef void (*BinaryKernel)(const int*, const int*, int*, int);

struct Entry {
  const char* name;
  BinaryKernel kernel;
  int block;
};

static const Entry kTable[] = {
    {"plus", plus, 128},
    {"minus", &minus, 64},
    {"plus_three_times", plus_times<3>, 32},
    {"plus_five_times", &plus_times<5>, 256},
};

static void launch(BinaryKernel kernel, int block, tvm::ffi::TensorView a, tvm::ffi::TensorView b,
                   tvm::ffi::TensorView c) {
  int n = static_cast<int>(a.numel());
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(a.device().device_type, a.device().device_id);
  kernel<<<(n + block - 1) / block, block, 0, stream>>>(
      (const int*)a.data_ptr(), (const int*)b.data_ptr(), (int*)c.data_ptr(), n);
}

void binary(tvm::ffi::String name, tvm::ffi::TensorView a, tvm::ffi::TensorView b,
            tvm::ffi::TensorView c) {
  for (const Entry& entry : kTable) {
    if (name == entry.name) return launch(entry.kernel, entry.block, a, b, c);
  }
  TVM_FFI_THROW(ValueError) << "no kernel is called " << name;
}

template <BinaryKernel kernel>
void fixed(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c) {
  launch(kernel, 512, a, b, c);
}

void fixed_minus(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c) {
  fixed<minus>(a, b, c);
}
