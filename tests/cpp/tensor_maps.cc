// A wrapper that makes tensor maps of whatever it is given, for the tests of their checks.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);

using tvm::ffi::Array;
using tvm::ffi::Bytes;
using tvm::ffi::TensorView;
using namespace tvmffi_cubin;

namespace {

template <typename Number>
void Copy(const Array<int64_t>& from, Number* to) {
  for (size_t i = 0; i < from.size() && i < kMaxMapRank; ++i) to[i] = static_cast<Number>(from[i]);
}

Bytes BytesOf(const TensorMap& map) {
  return Bytes(reinterpret_cast<const char*>(&map), sizeof(map));
}

// modes: data type, swizzle, interleave, L2 promotion, fill.
TensorMapOptions WithModes(TensorMapOptions options, const Array<int64_t>& modes,
                           const Array<int64_t>& steps) {
  options.type = static_cast<int8_t>(modes[0]);
  Copy(steps, options.element_strides);
  return options.SetSwizzle(static_cast<CUtensorMapSwizzle>(modes[1]))
      .SetInterleave(static_cast<CUtensorMapInterleave>(modes[2]))
      .SetL2Promotion(static_cast<CUtensorMapL2promotion>(modes[3]))
      .SetOobFill(static_cast<CUtensorMapFloatOOBfill>(modes[4]));
}

TensorMapOptions Boxes(const Array<int64_t>& box) {
  TensorMapOptions options;
  options.rank = static_cast<int32_t>(box.size());
  Copy(box, options.box_dim);
  return options;
}

TensorMapOptions Im2col(const Array<int64_t>& l, const Array<int64_t>& u, int64_t channels,
                        int64_t pixels) {
  if (l.size() == 1) return TensorMapOptions::Im2col({l[0]}, {u[0]}, channels, pixels);
  if (l.size() == 2) return TensorMapOptions::Im2col({l[0], l[1]}, {u[0], u[1]}, channels, pixels);
  return TensorMapOptions::Im2col({l[0], l[1], l[2]}, {u[0], u[1], u[2]}, channels, pixels);
}

TensorMapMemory Memory(const Array<int64_t>& modes, int64_t address, const Array<int64_t>& shape,
                       const Array<int64_t>& strides) {
  TensorMapMemory memory{};
  memory.type = static_cast<CUtensorMapDataType>(modes[0]);
  memory.address = reinterpret_cast<void*>(address);
  memory.rank = static_cast<int32_t>(shape.size());
  Copy(shape, memory.shape);
  Copy(strides, memory.strides);
  return memory;
}

}  // namespace

Bytes Tiled(TensorView x, Array<int64_t> box, Array<int64_t> modes, Array<int64_t> steps) {
  return BytesOf(TensorMap(x, WithModes(Boxes(box), modes, steps)));
}

Bytes TiledMemory(int64_t address, Array<int64_t> shape, Array<int64_t> strides, Array<int64_t> box,
                  Array<int64_t> modes, Array<int64_t> steps) {
  return BytesOf(TensorMap::OfMemory(Memory(modes, address, shape, strides),
                                     WithModes(Boxes(box), modes, steps)));
}

Bytes Im2colMemory(int64_t address, Array<int64_t> shape, Array<int64_t> strides,
                   Array<int64_t> lower, Array<int64_t> upper, Array<int64_t> counts,
                   Array<int64_t> modes, Array<int64_t> steps) {
  return BytesOf(
      TensorMap::OfMemory(Memory(modes, address, shape, strides),
                          WithModes(Im2col(lower, upper, counts[0], counts[1]), modes, steps)));
}

void Launch(TensorView x) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "mapped");
  TensorMap map(x, TensorMapOptions::Tiled({8, 64}).SetSwizzle(CU_TENSOR_MAP_SWIZZLE_128B));
  int n = 7;
  void* args[] = {&map, &n};
  CheckDriver(kernel.Launch(args, LaunchConfig(1, 32)));
  CheckDriver(kernel.Launch(LaunchConfig(1, 32), map, n));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(tiled, Tiled);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(tiled_memory, TiledMemory);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(im2col_memory, Im2colMemory);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(launch, Launch);
