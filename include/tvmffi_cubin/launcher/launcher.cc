// What every generated launcher shares: compiled once a toolchain, linked into each shared object.
// It must not depend on any one module, and nothing in it may throw.
#include "instances.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

int64_t Evaluation::Shape(int argument, int dimension) const {
  const DLTensor& tensor = *arguments[argument].tensor;
  return tensor.shape[dimension < 0 ? tensor.ndim + dimension : dimension];
}

int64_t Evaluation::Stride(int argument, int dimension) {
  const DLTensor& tensor = *arguments[argument].tensor;
  if (dimension < 0) dimension += tensor.ndim;
  if (tensor.strides != nullptr) return tensor.strides[dimension];
  // DLPack leaves out those of a compact tensor.
  int64_t stride = 1;
  for (int i = tensor.ndim - 1; i > dimension; --i) stride = Mul(stride, tensor.shape[i]);
  return stride;
}

int64_t Evaluation::Numel(int argument) {
  const DLTensor& tensor = *arguments[argument].tensor;
  if (IsEmpty(tensor)) return 0;
  int64_t count = 1;
  for (int i = 0; i < tensor.ndim; ++i) count = Mul(count, tensor.shape[i]);
  return count;
}

void Evaluation::Store(int index, Kind kind, uint32_t size, const char* text, int64_t value) {
  Argument* out = &computed[index];
  out->address = &out->storage;
  out->storage.i64 = value;
  if (kind == Kind::kFloat || kind == Kind::kBfloat) {
    if (!StoreFloat(kind, size, static_cast<double>(value), out)) Failed("is out of range");
  } else if (!IntegerFits(kind, size, value)) {
    Failed("is out of the range of the parameter's type");
  }
  Done(text, value);
}

int Call(const FunctionPlan& function, const TVMFFIAny* args, int num_args) {
  return CallChecked(function, CallOptions(), args, num_args);
}

int CallWithOptions(const FunctionPlan& function, const TVMFFIAny* args, int num_args) {
  CallOptions options;
  if (ReadOptions(function.name, args, num_args, &options) != 0) return -1;
  return CallChecked(function, options, args + kNumOptions, num_args - kNumOptions);
}

int Call(const DispatchPlan& function, const TVMFFIAny* args, int num_args) {
  return CallFitting(function, CallOptions(), args, num_args);
}

int CallWithOptions(const DispatchPlan& function, const TVMFFIAny* args, int num_args) {
  CallOptions options;
  if (ReadOptions(function.name, args, num_args, &options) != 0) return -1;
  return CallFitting(function, options, args + kNumOptions, num_args - kNumOptions);
}

int Unload(EmbeddedImage* const* images, int num_images, EmbeddedKernel* kernels, int num_kernels) {
  Status first;
  for (int i = 0; i < num_images; ++i) {
    const Status status = UnloadImage(images[i], kernels, num_kernels);
    if (first.ok()) first = status;
  }
  if (first.ok()) return 0;
  Text text;
  DescribeStatus(first, text.chars, sizeof(text.chars));
  return Fail("LaunchError", "unload: %s", text.chars);
}

int ReturnText(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes{text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
