// CUDA arrays, pitched memory, texture and surface objects: what images are made of.
#include <cuda_runtime.h>

#include <vector>

#define CUDA_OK(call)                                                                    \
  do {                                                                                   \
    auto result = call;                                                                  \
    TVM_FFI_ICHECK(result == cudaSuccess) << #call << ": " << cudaGetErrorString(result); \
  } while (false)

__global__ void sampled(float* to, cudaTextureObject_t image, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) to[y * width + x] = tex2D<float>(image, x - 1 + 0.5f, y + 0.5f);
}

__global__ void halfway(float* to, cudaTextureObject_t bytes, int n) {
  const int i = threadIdx.x;
  if (i < n) to[i] = tex1Dfetch<float>(bytes, i);
}

__global__ void doubled(cudaSurfaceObject_t image, int width) {
  const int x = threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  const float value = surf2Dread<float>(image, x * 4, y);
  surf2Dwrite(2 * value, image, x * 4, y);
}

cudaResourceDesc of_array(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

// y is x, one place to the right; the ends are repeated.
void shifted(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  CUDA_OK(cudaDeviceSynchronize());
  const int height = x.size(0), width = x.size(1);
  const size_t row = width * sizeof(float);
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA_OK(cudaMallocArray(&array, &channels, width, height));
  CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, x.data_ptr(), row, row, height, cudaMemcpyDefault));
  cudaChannelFormatDesc found{};
  CUDA_OK(cudaGetChannelDesc(&found, array));
  TVM_FFI_ICHECK(found.x == 32 && found.y == 0 && found.f == cudaChannelFormatKindFloat);
  const cudaResourceDesc resource = of_array(array);
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
  texture.filterMode = cudaFilterModeLinear;
  texture.readMode = cudaReadModeElementType;
  cudaTextureObject_t image;
  CUDA_OK(cudaCreateTextureObject(&image, &resource, &texture, nullptr));
  sampled<<<dim3((width + 31) / 32, height), 32>>>((float*)y.data_ptr(), image, width, height);
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaDestroyTextureObject(image));
  CUDA_OK(cudaFreeArray(array));
}

// y is x / 255.
void normalized(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  CUDA_OK(cudaDeviceSynchronize());
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = x.data_ptr();
  resource.res.linear.desc = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  resource.res.linear.sizeInBytes = x.numel();
  cudaTextureDesc texture{};
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t bytes;
  CUDA_OK(cudaCreateTextureObject(&bytes, &resource, &texture, nullptr));
  halfway<<<1, 64>>>((float*)y.data_ptr(), bytes, static_cast<int>(x.numel()));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaDestroyTextureObject(bytes));
}

// y is 2 * x, by way of a surface.
void twice(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  CUDA_OK(cudaDeviceSynchronize());
  const int height = x.size(0), width = x.size(1);
  const size_t row = width * sizeof(float);
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA_OK(cudaMallocArray(&array, &channels, width, height, cudaArraySurfaceLoadStore));
  CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, x.data_ptr(), row, row, height,
                              cudaMemcpyDeviceToDevice));
  const cudaResourceDesc resource = of_array(array);
  cudaSurfaceObject_t image;
  CUDA_OK(cudaCreateSurfaceObject(&image, &resource));
  doubled<<<height, 64>>>(image, width);
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaMemcpy2DFromArray(y.data_ptr(), row, array, 0, 0, row, height,
                                cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaDestroySurfaceObject(image));
  CUDA_OK(cudaFreeArray(array));
}

// y is x from its second layer, row and column on, through an array; copies count its elements.
void box(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  CUDA_OK(cudaDeviceSynchronize());
  const size_t depth = x.size(0), height = x.size(1), width = x.size(2);
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA_OK(cudaMalloc3DArray(&array, &channels, make_cudaExtent(width, height, depth)));
  cudaMemcpy3DParms in{};
  in.srcPtr = make_cudaPitchedPtr(x.data_ptr(), width * sizeof(float), width, height);
  in.dstArray = array;
  in.extent = make_cudaExtent(width, height, depth);
  in.kind = cudaMemcpyDeviceToDevice;
  CUDA_OK(cudaMemcpy3D(&in));
  cudaMemcpy3DParms out{};
  out.srcArray = array;
  out.srcPos = make_cudaPos(1, 1, 1);
  out.dstPtr = make_cudaPitchedPtr(y.data_ptr(), (width - 1) * sizeof(float), width - 1,
                                   height - 1);
  out.extent = make_cudaExtent(width - 1, height - 1, depth - 1);
  out.kind = cudaMemcpyDeviceToDevice;
  CUDA_OK(cudaMemcpy3DAsync(&out, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFreeArray(array));
}

// y is host, whose pages are the driver's for a while, by way of rows that are padded.
void pitched(tvm::ffi::Array<double> host, tvm::ffi::TensorView y) {
  CUDA_OK(cudaDeviceSynchronize());
  const size_t height = y.size(0), width = y.size(1), row = width * sizeof(float);
  std::vector<float> values(host.begin(), host.end());
  CUDA_OK(cudaHostRegister(values.data(), height * row, cudaHostRegisterDefault));
  float* padded;
  size_t pitch;
  CUDA_OK(cudaMallocPitch(&padded, &pitch, row, height));
  TVM_FFI_ICHECK(pitch > row);
  CUDA_OK(cudaMemset2D(padded, pitch, 0, row, height));
  CUDA_OK(cudaMemcpy2D(padded, pitch, values.data(), row, row, height, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy2D(y.data_ptr(), row, padded, pitch, row, height, cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaHostUnregister(values.data()));
  CUDA_OK(cudaFree(padded));
}
