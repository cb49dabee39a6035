// What a call goes through that works, one part of the launcher's body; the other is cold.cc. The
// two are compiled side by side, once a toolchain, and merged into one object, which every shared
// object links: nothing in them may depend on one module, or throw.
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
  if (handle == 0) return;
  // The driver reads at any address that it is given, and nothing lies in the first page.
  const bool completes = id == kLaunchCompletionEvent;
  CheckRange(this, completes ? "launch_completion_event" : "programmatic_event", '\0', handle, 4096,
             INT64_MAX);
  memcpy(AddAttribute(this, id), &handle, sizeof(handle));
}

void Evaluation::SetRaw(uint32_t id, const unsigned char* value, uint32_t size) {
  memcpy(AddAttribute(this, id), value, size);
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

int ReturnText(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes{text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
