// What every generated launcher shares: compiled once a toolchain, linked into each shared object.
// It must not depend on any one module, and nothing in it may throw.
#include "bind.h"
#include "instances.h"
#include "occupancy.h"
#include "preload.h"
#include "unload.h"

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
  } else if (kind == Kind::kRaw ? !RawFits(size, value) : !IntegerFits(kind, size, value)) {
    Failed("is out of the range of the parameter's type");
  }
  Done(text, value);
}

/*! \brief Notes a figure that is out of range, the first one that is. */
static void CheckRange(Evaluation* e, const char* name, char axis, int64_t value, int64_t least,
                       int64_t most) {
  if ((value >= least && value <= most) || e->failure != nullptr) return;
  e->failure = kOutOfRange;
  e->where = name;
  e->axis = axis;
  e->value = value;
  e->least = least;
  e->most = most;
}

/*! \brief Adds an attribute whose value is all zeros. */
static uint32_t* AddAttribute(Evaluation* e, uint32_t id) {
  LaunchAttribute* added = &e->attributes[e->num_attributes++];
  memset(added, 0, sizeof(*added));
  added->id = id;
  return added->words;
}

void Evaluation::SetDimensions(uint32_t id, const char* name, int64_t x, int64_t y, int64_t z) {
  const int64_t values[] = {x, y, z};
  uint32_t* words = AddAttribute(this, id);
  for (int i = 0; i < 3; ++i) {
    words[i] = static_cast<uint32_t>(values[i]);
    CheckRange(this, name, static_cast<char>('x' + i), values[i], 1, UINT32_MAX);
  }
}

void Evaluation::SetInteger(uint32_t id, const char* name, int64_t least, int64_t most,
                            int64_t value) {
  CheckRange(this, name, '\0', value, least, most);
  AddAttribute(this, id)[0] = static_cast<uint32_t>(value);
}

void Evaluation::SetFlag(uint32_t id, const char* text, bool on) {
  if (on) AddAttribute(this, id)[0] = 1;
  Done(text, 0);
}

void Evaluation::SetEvent(uint32_t id, int64_t handle) {
  if (handle != 0) memcpy(AddAttribute(this, id), &handle, sizeof(handle));
}

void Evaluation::SetRaw(uint32_t id, const unsigned char* value, uint32_t size) {
  memcpy(AddAttribute(this, id), value, size);
}

int64_t Evaluation::MaxCooperativeBlocks() {
  CUlaunchConfig config;
  // A figure that is out of range is told where it is used.
  if (failure != nullptr || !FillForOccupancy(*this, &config)) return 1;
  Occupancy found;
  const Status status = KernelOccupancy(OpenDriver(), kernel, device, config, &found);
  if (status.ok() && found.cooperative_blocks == 0) return Failed(kNothingFits);
  if (status.ok()) return found.cooperative_blocks;
  driver_result = status.result;
  driver_call = status.call;
  return Failed(kDriverFailed);
}

int DescribeOccupancy(EmbeddedKernel* kernels, int num_kernels, const TVMFFIAny* args, int num_args,
                      TVMFFIAny* result) {
  OccupancyQuestion question;
  if (num_args != kNumOccupancyArguments) {
    return Fail("TypeError", "occupancy: got %d arguments, wanted %d", num_args,
                kNumOccupancyArguments);
  }
  int64_t* const words = &question.kernel;
  for (int i = 0; i < num_args; ++i) {
    bool present = false;
    words[i] = 0;
    if (ReadOption("occupancy", "argument", args[i], &words[i], &present) != 0) return -1;
    if (words[i] < INT32_MIN || words[i] > INT32_MAX) {
      return Fail("ValueError", "occupancy: %lld is beyond any device's limit",
                  static_cast<long long>(words[i]));
    }
  }
  if (question.kernel < 0 || question.kernel >= num_kernels) {
    return Fail("ValueError", "occupancy: there is no kernel %lld",
                static_cast<long long>(question.kernel));
  }
  Text answer;
  const int device = static_cast<int>(question.device);
  if (AnswerOccupancy(&kernels[question.kernel], question, device, &answer) != 0) return -1;
  return ReturnText(answer.chars, strlen(answer.chars), result);
}

int Call(const FunctionPlan& function, const TVMFFIAny* args, int num_args) {
  return CallChecked(function, kNoOptions, args, num_args);
}

int CallWithOptions(const FunctionPlan& function, const TVMFFIAny* args, int num_args) {
  CallOptions options;
  if (ReadOptions(function.name, args, num_args, &options) != 0) return -1;
  return CallChecked(function, options, args + kNumOptions, num_args - kNumOptions);
}

int Call(const DispatchPlan& function, const TVMFFIAny* args, int num_args) {
  return CallFitting(function, kNoOptions, args, num_args);
}

int CallWithOptions(const DispatchPlan& function, const TVMFFIAny* args, int num_args) {
  CallOptions options;
  if (ReadOptions(function.name, args, num_args, &options) != 0) return -1;
  return CallFitting(function, options, args + kNumOptions, num_args - kNumOptions);
}

int Unload(EmbeddedImage* const* images, int num_images, EmbeddedKernel* kernels, int num_kernels) {
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  if (driver == nullptr) return 0;
  Refusals refusals;
  if (!InForkedChild()) {
    refusals = UnloadAll(driver, images, num_images, kernels, num_kernels);
  } else if (HoldsAnything(images, num_images)) {
    // The launches that other threads had begun never end here, and the driver refuses all calls.
    refusals.Note({CUDA_ERROR_NOT_INITIALIZED, "cuLibraryUnload"}, "all images");
  }
  return refusals.count == 0 ? 0 : FailUnload(refusals);
}

int Preload(EmbeddedKernel* kernels, int num_kernels, const TVMFFIAny* args, int num_args) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return Fail("LaunchError", "preload: %s", DriverProblem());
  int device = 0;
  if (ReadDevice(driver, args, num_args, &device) != 0) return -1;
  for (int i = 0; i < num_kernels; ++i) {
    if (PreloadKernel(driver, &kernels[i], device) != 0) return -1;
  }
  return 0;
}

int Bind(BoundTable* table, const TVMFFIAny* args, int num_args) {
  return BindValues(table, args, num_args);
}

int ReadBound(BoundTable* table, const TVMFFIAny* args, int num_args, TVMFFIAny* result) {
  return ReadBoundValue(table, args, num_args, result);
}

void ReleaseBound(BoundTable* table) { ReleaseBoundValues(table); }

int ReturnText(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes{text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
