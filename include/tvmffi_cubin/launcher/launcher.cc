// The body of generated launchers, which interprets the tables of plan.h. It is compiled once per
// toolchain and linked into every module; nothing in it throws or needs a C++ library.
//
// Each function that a module exports is an assembly stub that replaces the first argument with its
// table and jumps to one of these entry points. Those of a module are called only by the package's
// own Python code (module/), which has checked the arguments.
#include <stdlib.h>

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

// The device that an argument names; -1: the current one.
int DeviceIn(const TVMFFIAny& any) {
  return any.v_int64 < 0 ? CurrentDevice() : static_cast<int>(any.v_int64);
}

// A function and the options of its calls; the attributes follow it.
struct ConfiguredFunction {
  const FunctionPlan* function;
  CallOptions options;
  CUlaunchAttribute attributes[];
};

int CallConfigured(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny*) {
  const auto& configured = *static_cast<const ConfiguredFunction*>(self);
  return CallFunction(*configured.function, configured.options, args, num_args);
}

// A value to bind for a device.
struct Binding {
  BoundSlot* slot;
  int device;          // -1: all
  TVMFFIObject* keep;  // what keeps the value alive; null: unbind
  Argument value;

  BoundCell MakeCell() const {
    if (keep == nullptr) return {};
    BoundCell cell{keep, malloc(slot->param->size)};
    memcpy(cell.value, value.address, slot->param->size);
    TVMFFIObjectIncRef(keep);
    return cell;
  }
};

}  // namespace

TVMFFI_CUBIN_ENTRY(call, FunctionPlan) { return CallFunction(table, kNoOptions, args, num_args); }

TVMFFI_CUBIN_ENTRY(doc, FunctionPlan) { return ReturnText(table.doc, strlen(table.doc), result); }

TVMFFI_CUBIN_ENTRY(manifest, ModulePlan) {
  const auto size = static_cast<size_t>(table.manifest_end - table.manifest);
  return ReturnText(table.manifest, size, result);
}

// Makes a tvm-ffi function that calls a function with options. Arguments: its name, stream, grid x
// y z, block x y z, dynamic_smem_bytes, attributes (bytes: an array of CUlaunchAttribute); None
// keeps the function's own.
TVMFFI_CUBIN_ENTRY(configure, ModulePlan) {
  const FunctionPlan* function = table.functions;
  const TVMFFIByteArray name = TextIn(args[0]), bytes = BytesIn(args[9]);
  while (!IsText(name, function->name)) ++function;
  CallOptions options;
  if (args[1].type_index != kTVMFFINone) options.given |= UINT64_C(1) << 7;
  options.config.hStream = static_cast<CUstream>(args[1].v_ptr);
  for (int i = 0; i < 7; ++i) {
    const TVMFFIAny& given = args[2 + i];
    if (given.type_index == kTVMFFINone) continue;
    if (given.type_index != kTVMFFIInt || given.v_int64 < 0 || given.v_int64 > UINT32_MAX) {
      return Fail("ValueError", "%s: %s: got %s, expected 0 to %u", function->name, kFigures[i],
                  DescribeArgument(given).chars, UINT32_MAX);
    }
    (&options.config.gridDimX)[i] = static_cast<unsigned>(given.v_int64);
    options.given |= UINT64_C(1) << i;
  }
  auto* made = static_cast<ConfiguredFunction*>(malloc(sizeof(ConfiguredFunction) + bytes.size));
  options.config.attrs = made->attributes;
  options.config.numAttrs = static_cast<unsigned>(bytes.size / sizeof(CUlaunchAttribute));
  if (bytes.size != 0) memcpy(made->attributes, bytes.data, bytes.size);
  for (unsigned i = 0; i < options.config.numAttrs; ++i) {
    options.given |= UINT64_C(1) << (8 + made->attributes[i].id);
  }
  made->function = function;
  made->options = options;
  TVMFFIObjectHandle handle = nullptr;
  if (TVMFFIFunctionCreate(made, CallConfigured, free, &handle) != 0) return -1;
  result->type_index = kTVMFFIFunction;
  result->v_obj = static_cast<TVMFFIObject*>(handle);
  return 0;
}

// Loads all kernels on the device that the argument names; -1: the current one.
TVMFFI_CUBIN_ENTRY(preload, ModulePlan) {
  const int device = DeviceIn(args[0]);
  for (int i = 0; i < table.num_kernels; ++i) {
    EmbeddedKernel* const kernel = &table.kernels[i];
    GateUse use(&kernel->image->gate);
    DeviceScope scope;
    Status status = scope.Enter(device);
    if (status.ok()) status = LoadKernel(kernel, device);
    if (status.ok() || LacksKernel(*kernel, status.result)) continue;
    return FailKernel("preload", *kernel, device, status);
  }
  return 0;
}

// Unloads images and releases contexts once no launch is in progress, and raises the first error; a
// later call loads and retains them again.
TVMFFI_CUBIN_ENTRY(unload, ModulePlan) {
  if (!IsDriverOpen()) return 0;
  CaptureScope relaxed;
  Status first;
  // Close all of them: a launch of any image may have any context current.
  for (int i = 0; i < table.num_images; ++i) table.images[i].gate.Close();
  for (int i = 0; i < table.num_kernels; ++i) {
    __atomic_store_n(&table.kernels[i].handle, nullptr, __ATOMIC_SEQ_CST);
    __atomic_store_n(&table.kernels[i].opted_in.devices, 0, __ATOMIC_SEQ_CST);
  }
  for (int i = 0; i < table.num_images; ++i) {
    const Status status = table.images[i].library.Unload();
    if (first.ok()) first = status;
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    // Fails if someone has reset the device, or the driver is shutting down.
    if (primary_contexts[i] != nullptr) entry::cuDevicePrimaryCtxRelease(i);
    __atomic_store_n(&primary_contexts[i], nullptr, __ATOMIC_RELEASE);
  }
  for (int i = 0; i < table.num_images; ++i) table.images[i].gate.Open();
  return first.ok() ? 0 : Fail("LaunchError", "unload: %s", DescribeStatus(first).chars);
}

// A kernel's occupancy. Arguments: its row, device (-1: the current one), block x y z,
// dynamic_smem_bytes, cluster x y z. Result: a JSON list of FindOccupancy's figures and of what the
// driver reports for the kernel there, in the order of `Occupancy` in Python.
TVMFFI_CUBIN_ENTRY(occupancy, ModulePlan) {
  unsigned given[9];
  for (int i = 0; i < 9; ++i) given[i] = static_cast<unsigned>(args[i].v_int64);
  EmbeddedKernel* const kernel = &table.kernels[given[0]];
  const int device = DeviceIn(args[1]);
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  memcpy(&cluster.value.clusterDim, &given[6], 3 * sizeof(unsigned));
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, &cluster, given[6] != 0};
  memcpy(&config.blockDimX, &given[2], 4 * sizeof(unsigned));
  Occupancy found;
  GateUse use(&kernel->image->gate);
  const Status status = OccupancyOf(kernel, device, config, &found);
  if (!status.ok()) return FailKernel("occupancy", *kernel, device, status);
  const int optin = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  Text text;
  text.Add("[%d,%d,%d,%ld,%d,%d,%d]", device, found.blocks_per_sm,
           DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
           found.cooperative_blocks, found.cluster_blocks, found.clusters,
           optin - KernelAttribute(kernel->handle, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  return ReturnText(text.chars, text.used, result);
}

// Binds all values at once, or none if one is invalid: a launch sees either the old values or the
// new. Arguments: the device, -1 for the current one, None for all; for each value the slot's
// number, the value, converted as in a call (None unbinds), and the object that keeps it alive.
TVMFFI_CUBIN_ENTRY(bind, ModulePlan) {
  const auto count = static_cast<size_t>(num_args / 3);
  const bool for_all = args[0].type_index == kTVMFFINone;
  Binding* const bindings = TVMFFI_CUBIN_ALLOCA(Binding, count + 1);
  for (size_t i = 0; i < count; ++i) {
    const TVMFFIAny *const given = &args[1 + 3 * i], &value = given[1];
    Binding* const binding = &bindings[i];
    binding->slot = &table.bound->slots[given->v_int64];
    binding->device = for_all ? -1 : DeviceIn(args[0]);
    binding->keep = nullptr;
    if (value.type_index == kTVMFFINone) continue;
    binding->keep = given[2].v_obj;
    const Param& param = *binding->slot->param;
    // For a tensor, the device becomes its own.
    const Problem problem = Convert(param, value, &binding->device, &binding->value);
    if (problem == Problem::kNone) continue;
    Text reason;
    const char* kind = AddProblem(param, value, problem, binding->device, &reason);
    return Fail(kind, "bind: %s (%s): %s", param.name, param.type, reason.chars);
  }
  auto* const before = static_cast<BoundCell*>(calloc(count * kMaxDevices, sizeof(BoundCell)));
  BoundCell* end = before;
  table.bound->gate.Close();
  for (size_t i = 0; i < count; ++i) {
    BoundCell** const cells = &bindings[i].slot->cells;
    if (*cells == nullptr) *cells = static_cast<BoundCell*>(calloc(kMaxDevices, sizeof(BoundCell)));
    for (int j = 0; j < kMaxDevices; ++j) {
      if (bindings[i].device >= 0 && bindings[i].device != j) continue;
      *end++ = (*cells)[j];
      (*cells)[j] = bindings[i].MakeCell();
    }
  }
  table.bound->gate.Open();
  // Outside the gate, since this may run Python code.
  for (BoundCell* cell = before; cell != end; ++cell) {
    if (cell->keep != nullptr) TVMFFIObjectDecRef(cell->keep);
    free(cell->value);
  }
  free(before);
  return 0;
}

// Sets where an image's file is, and what makes it. Arguments: the image's name; the folder, None
// for the shared object's; a function, called with the image's name and the path if the file is
// missing, or None to keep the previous one.
TVMFFI_CUBIN_ENTRY(set_image_file, ModulePlan) {
  const TVMFFIByteArray name = TextIn(args[0]), folder = TextIn(args[1]);
  for (int i = 0; i < table.num_images; ++i) {
    EmbeddedImage* const image = &table.images[i];
    if (image->path == nullptr || !IsText(name, image->name)) continue;
    const char* told = folder.data != nullptr ? strndup(folder.data, folder.size) : nullptr;
    __atomic_store_n(&image->folder, told, __ATOMIC_RELEASE);
    if (args[2].type_index != kTVMFFIFunction) continue;
    TVMFFIObjectIncRef(args[2].v_obj);
    __atomic_store_n(&image->maker, args[2].v_obj, __ATOMIC_RELEASE);
  }
  return 0;
}
