// The body of generated launchers: what works on the tables of plan.h. It is compiled once a
// toolchain and linked into every module: nothing in it depends on one of them, throws, or needs a
// C++ library.
//
// Each function that a module exports is a stub in its assembly that puts its table in the place
// of the first argument and jumps to one of these entries.
#include <stdlib.h>

#include "bound.h"
#include "call.h"

using namespace tvmffi_cubin;

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define TVMFFI_CUBIN_ENTRY(name, Table)                                     \
  extern "C" __attribute__((visibility("hidden"))) int tvmffi_cubin_##name( \
      const Table& table, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)

namespace {

int ReturnText(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes{text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

/*! \brief Reads a whole number that Python passes; whether it is given, which None is not. */
int ReadNumber(const char* function, const char* what, const TVMFFIAny& any, int64_t least,
               int64_t most, int64_t* out, bool* is_given) {
  *is_given = any.type_index != kTVMFFINone;
  if (!*is_given) return 0;
  *out = any.v_int64;
  if (any.type_index == kTVMFFIInt && *out >= least && *out <= most) return 0;
  if (any.type_index != kTVMFFIInt) {
    return Fail("TypeError", "%s: %s: got %s, wanted an int", function, what,
                DescribeArgument(any).chars);
  }
  return Fail("ValueError", "%s: %s is %lld, wanted %lld to %lld", function, what,
              static_cast<long long>(*out), static_cast<long long>(least),
              static_cast<long long>(most));
}

/*! \brief A function and the options of its calls; the attributes lie behind it. */
struct ConfiguredFunction {
  const FunctionPlan* function;
  CallOptions options;
  CUlaunchAttribute attributes[];
};

int CallConfigured(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny*) {
  const auto& configured = *static_cast<const ConfiguredFunction*>(self);
  return CallFunction(*configured.function, configured.options, args, num_args);
}

}  // namespace

TVMFFI_CUBIN_ENTRY(call, FunctionPlan) { return CallFunction(table, kNoOptions, args, num_args); }

TVMFFI_CUBIN_ENTRY(doc, FunctionPlan) { return ReturnText(table.doc, strlen(table.doc), result); }

TVMFFI_CUBIN_ENTRY(manifest, ModulePlan) {
  const auto size = static_cast<size_t>(table.manifest_end - table.manifest);
  return ReturnText(table.manifest, size, result);
}

/*!
 * \brief Makes a tvm-ffi function that calls a function with options. The arguments: its name,
 * stream, grid x y z, block x y z, dynamic_smem_bytes, attributes (bytes: an array of
 * CUlaunchAttribute, each in the place of the function's own); None leaves each as the function
 * says.
 */
TVMFFI_CUBIN_ENTRY(configure, ModulePlan) {
  const FunctionPlan* function = nullptr;
  const TVMFFIByteArray name = num_args == 10 ? TextIn(args[0]) : TVMFFIByteArray{nullptr, 0};
  for (int i = 0; i < table.num_functions && name.data != nullptr; ++i) {
    if (IsText(name, table.functions[i].name)) function = &table.functions[i];
  }
  if (function == nullptr) return Fail("ValueError", "configure: wanted a function and 9 options");
  TVMFFIByteArray bytes{nullptr, 0};
  constexpr size_t kSize = sizeof(CUlaunchAttribute);
  if (args[9].type_index != kTVMFFINone && (!AsBytes(args[9], &bytes) || bytes.size % kSize != 0)) {
    return Fail("TypeError", "%s: attributes: got %s, wanted bytes, a multiple of %zu",
                function->name, DescribeArgument(args[9]).chars, kSize);
  }
  CallOptions options;
  int64_t value = 0;
  if (args[1].type_index == kTVMFFIOpaquePtr) {
    options.has_stream = true;
    value = reinterpret_cast<int64_t>(args[1].v_ptr);
  } else if (ReadNumber(function->name, "stream", args[1], INT64_MIN, INT64_MAX, &value,
                        &options.has_stream) != 0) {
    return -1;
  }
  options.config.hStream = reinterpret_cast<CUstream>(value);
  for (int i = 0; i < 7; ++i) {
    bool is_given = false;
    if (ReadNumber(function->name, kFigures[i], args[2 + i], 0, UINT32_MAX, &value, &is_given)) {
      return -1;
    }
    if (!is_given) continue;
    FiguresOf(&options.config)[i] = static_cast<unsigned>(value);
    options.replaced |= 1u << (Step::kGrid + i / 3);
  }
  auto* made = static_cast<ConfiguredFunction*>(malloc(sizeof(ConfiguredFunction) + bytes.size));
  if (bytes.size != 0) {
    memcpy(made->attributes, bytes.data, bytes.size);
    options.config.attrs = made->attributes;
    options.config.numAttrs = static_cast<unsigned>(bytes.size / kSize);
    for (int i = Step::kDimensions; i <= Step::kRaw; ++i) options.replaced |= 1u << i;
  }
  made->function = function;
  made->options = options;
  TVMFFIObjectHandle handle = nullptr;
  if (TVMFFIFunctionCreate(made, CallConfigured, free, &handle) != 0) return -1;
  result->type_index = kTVMFFIFunction;
  result->v_obj = static_cast<TVMFFIObject*>(handle);
  return 0;
}

/*! \brief Loads all kernels on the device that the one argument names; None: the current one. */
TVMFFI_CUBIN_ENTRY(preload, ModulePlan) {
  if (!OpenDriver()) return Fail("LaunchError", "preload: %s", DriverProblem());
  if (num_args != 1) return Fail("TypeError", "preload: wanted the device");
  int64_t number = CurrentDevice();
  bool is_given = false;
  if (ReadNumber("preload", "device", args[0], 0, INT32_MAX, &number, &is_given) != 0) return -1;
  const int device = static_cast<int>(number);
  for (int i = 0; i < table.num_kernels; ++i) {
    EmbeddedKernel* const kernel = &table.kernels[i];
    GateUse use(&kernel->image->gate);
    DeviceScope scope;
    Status status = scope.Enter(device);
    if (status.ok()) status = LoadKernel(kernel);
    if (status.ok()) status = LoadHere(kernel->handle);
    if (status.ok() || LacksKernel(*kernel, status.result)) continue;
    return FailKernel("preload", *kernel, device, nullptr, status);
  }
  return 0;
}

/*!
 * \brief Unloads images and releases contexts once no launch is under way, all of it, whatever is
 * refused; a later call loads and retains them again.
 */
TVMFFI_CUBIN_ENTRY(unload, ModulePlan) {
  // In a fork the launches that other threads had begun never end, and the driver takes no calls.
  if (!IsDriverOpen() || InForkedChild()) return 0;
  // All of them: a launch of any image may have any context current.
  for (int i = 0; i < table.num_images; ++i) CloseGate(&table.images[i]->gate);
  for (int i = 0; i < table.num_images; ++i) WaitForUsers(&table.images[i]->gate);
  for (int i = 0; i < table.num_kernels; ++i) {
    EmbeddedKernel* const kernel = &table.kernels[i];
    __atomic_store_n(&kernel->handle, nullptr, __ATOMIC_SEQ_CST);
    kernel->limits.Reset();
    if (kernel->declared != nullptr) __atomic_store_n(&kernel->max_threads, 0u, __ATOMIC_RELAXED);
  }
  Status first;
  for (int i = 0; i < table.num_images; ++i) {
    const Status status = table.images[i]->library.Unload();
    if (first.ok()) first = status;
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    const Status status = ReleasePrimaryContext(i);
    if (first.ok()) first = status;
  }
  for (int i = 0; i < table.num_images; ++i) OpenGate(&table.images[i]->gate);
  if (first.ok()) return 0;
  Text text;
  DescribeStatus(first, text.chars, sizeof(text.chars));
  return Fail("LaunchError",
              "unload: %s. The rest is unloaded, and another unload() tries again what is left",
              text.chars);
}

/*!
 * \brief What a kernel can have resident. The arguments: its row, device, block x y z,
 * dynamic_smem_bytes, cluster x y z; the result: a JSON list of FindOccupancy's figures and of what
 * the driver says of the kernel there, in the order of `Occupancy` in Python.
 */
TVMFFI_CUBIN_ENTRY(occupancy, ModulePlan) {
  if (!OpenDriver()) return Fail("LaunchError", "occupancy: %s", DriverProblem());
  int64_t given[9] = {};
  if (num_args != 9) return Fail("TypeError", "occupancy: got %d arguments, wanted 9", num_args);
  for (int i = 0; i < num_args; ++i) {
    bool is_given = false;
    const int64_t least = i == 1 ? -1 : 0, most = i == 0 ? table.num_kernels - 1 : INT32_MAX;
    if (ReadNumber("occupancy", "an argument", args[i], least, most, &given[i], &is_given)) {
      return -1;
    }
  }
  EmbeddedKernel* const kernel = &table.kernels[given[0]];
  const int device = given[1] < 0 ? CurrentDevice() : static_cast<int>(given[1]);
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = static_cast<unsigned>(given[6]);
  cluster.value.clusterDim.y = static_cast<unsigned>(given[7]);
  cluster.value.clusterDim.z = static_cast<unsigned>(given[8]);
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, &cluster, given[6] != 0};
  for (int i = 0; i < 4; ++i) FiguresOf(&config)[3 + i] = static_cast<unsigned>(given[2 + i]);
  Occupancy found;
  GateUse use(&kernel->image->gate);
  const Status status = OccupancyOf(kernel, device, config, &found);
  if (!status.ok()) return FailKernel("occupancy", *kernel, device, nullptr, status);
  const auto kernels = [&](CUfunction_attribute attribute) {
    return KernelAttribute(kernel->handle, device, attribute);
  };
  const auto devices = [&](CUdevice_attribute attribute) {
    return DeviceAttribute(device, attribute);
  };
  const int smem = kernels(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  Text text;
  text.Add("[%d,%d,%d,%lld,%d,%d,%d,%d,%d,%d,%d]", device, found.blocks_per_sm,
           devices(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
           static_cast<long long>(found.cooperative_blocks), found.cluster_blocks, found.clusters,
           kernels(CU_FUNC_ATTRIBUTE_NUM_REGS), smem, kernels(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
           kernels(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
           devices(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - smem);
  return ReturnText(text.chars, text.used, result);
}

TVMFFI_CUBIN_ENTRY(bind, ModulePlan) { return Bind(table.bound, args, num_args); }

TVMFFI_CUBIN_ENTRY(bound, ModulePlan) { return ReadBound(table.bound, args, num_args, result); }

TVMFFI_CUBIN_ENTRY(set_image_file, ModulePlan) { return SetImageFile(table, args, num_args); }

// Where the module has anything to bind, its assembly defines this.
extern "C" __attribute__((weak, visibility("hidden"))) BoundTable __tvmffi_cubin_bound;

__attribute__((destructor)) static void ReleaseAllBound() {
  if (&__tvmffi_cubin_bound != nullptr) ReleaseBound(&__tvmffi_cubin_bound);
}
