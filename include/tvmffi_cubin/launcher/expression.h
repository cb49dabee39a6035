// Evaluates the steps of a launch: postfix code over the arguments' integers and shapes. Arithmetic
// has no early exits: the call keeps the first failure, and evaluation stops after that figure.
#pragma once

#include "launch.h"

TVMFFI_CUBIN_BEGIN

// Records what went wrong with an expression, unless something already has.
TVMFFI_CUBIN_COLD int64_t Note(Call* call, const char* failure) {
  if (call->failure == nullptr) call->failure = failure;
  return 0;
}

TVMFFI_CUBIN_COLD int FailFigure(const Call& call) {
  if (call.failure == kRaised) return -1;
  return Fail("ValueError", "%s: the expression '%s' %s", call.Site().chars, call.where,
              call.failure);
}

TVMFFI_CUBIN_COLD int FailRange(const Call& call, const char* name, int64_t value, int64_t least,
                                int64_t most) {
  return Fail("ValueError", "%s: %s is %ld, expected %ld to %ld", call.Site().chars, name, value,
              least, most);
}

// Rounds toward minus infinity, like Python's `//`, or up.
inline int64_t Divide(Call* call, int64_t a, int64_t b, bool is_up) {
  if (b == 0) return Note(call, "divides by zero");
  if (b == -1) return a == INT64_MIN ? Note(call, "overflows 64 bits") : -a;
  const int64_t quotient = a / b;
  if (a % b == 0) return quotient;
  return ((a < 0) == (b < 0)) ? quotient + is_up : quotient - !is_up;
}

// Takes the divisor's sign, like Python's `%`.
inline int64_t Modulo(Call* call, int64_t a, int64_t b) {
  if (b == 0) return Note(call, "divides by zero");
  const int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The product of a tensor's extents, starting at a dimension.
inline int64_t Extent(const DLTensor& tensor, int from) {
  int64_t count = 1;
  for (int i = from; i < tensor.ndim; ++i) count *= tensor.shape[i];
  return count;
}

// Multiprocessors of each device; 0: not queried yet.
inline int32_t device_sms[kMaxDevices];

inline int64_t NumSms(int device) {
  int32_t count = __atomic_load_n(&device_sms[device], __ATOMIC_RELAXED);
  if (__builtin_expect(count != 0, 1)) return count;
  count = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  __atomic_store_n(&device_sms[device], count, __ATOMIC_RELAXED);
  return count;
}

// Blocks of the launch's shape that fit on the device at once.
TVMFFI_CUBIN_COLD int64_t MaxCooperativeBlocks(Call* call) {
  EmbeddedKernel* const kernel = call->launches[call->number].plan->kernel;
  CUlaunchConfig config = call->launches[call->number].config;
  // The launch itself rejects an empty block.
  if (config.blockDimX == 0 || config.blockDimY == 0 || config.blockDimZ == 0) return 1;
  config.attrs = call->attributes;
  config.numAttrs = call->num_attributes;
  Occupancy found;
  const GateUse use(&kernel->image->gate);
  const Status status = OccupancyOf(kernel, call->device, config, &found);
  if (found.cooperative_blocks != 0) return found.cooperative_blocks;
  if (!status.ok()) {
    call->Fail(status);
  } else {
    Fail("LaunchLimitError", "%s: launch of %s: max_cooperative_blocks is 0 on device %d",
         call->Site().chars, kernel->display, call->device);
  }
  return Note(call, kRaised);
}

// Reads an opcode's unaligned operand and moves past it.
template <typename Number>
inline Number Operand(const uint8_t** code) {
  Number number;
  memcpy(&number, *code, sizeof(number));
  *code += sizeof(number);
  return number;
}

TVMFFI_CUBIN_SHARED int64_t Run(Call* call, const uint8_t* code) {
  const Argument* const arguments = call->arguments;
  int64_t stack[kMaxStack + 1];
  int64_t* top = stack;
  for (;;) {
    const uint8_t op = *code++;
    if (op >= Op::kAdd && op <= Op::kGe) {
      const int64_t b = *top--, a = *top;
      int64_t result = 0;
      bool overflows = false;
#define TVMFFI_CUBIN_OP(name, value) \
  case Op::name:                     \
    *top = value;                    \
    break;
      switch (op) {
        TVMFFI_CUBIN_OP(kAdd, (overflows = __builtin_add_overflow(a, b, &result), result))
        TVMFFI_CUBIN_OP(kSub, (overflows = __builtin_sub_overflow(a, b, &result), result))
        TVMFFI_CUBIN_OP(kMul, (overflows = __builtin_mul_overflow(a, b, &result), result))
        TVMFFI_CUBIN_OP(kFloorDiv, Divide(call, a, b, false))
        TVMFFI_CUBIN_OP(kMod, Modulo(call, a, b))
        TVMFFI_CUBIN_OP(kCeilDiv, Divide(call, a, b, true))
        TVMFFI_CUBIN_OP(kMin, a < b ? a : b)
        TVMFFI_CUBIN_OP(kMax, a > b ? a : b)
        TVMFFI_CUBIN_OP(kEq, a == b)
        TVMFFI_CUBIN_OP(kNe, a != b)
        TVMFFI_CUBIN_OP(kLt, a < b)
        TVMFFI_CUBIN_OP(kLe, a <= b)
        TVMFFI_CUBIN_OP(kGt, a > b)
        TVMFFI_CUBIN_OP(kGe, a >= b)
      }
      if (__builtin_expect(overflows, 0)) *top = Note(call, "overflows 64 bits");
      continue;
    }
    switch (op) {
      case Op::kEnd:
        return *top;
      case Op::kPush:
        *++top = Operand<int64_t>(&code);
        break;
      case Op::kWord:
        *++top = arguments[Operand<uint16_t>(&code)].storage.i64;
        break;
      case Op::kNumel:
        *++top = Extent(*arguments[Operand<uint16_t>(&code)].tensor, 0);
        break;
      case Op::kShape:
      case Op::kStride: {
        const DLTensor& tensor = *arguments[Operand<uint16_t>(&code)].tensor;
        int dimension = Operand<int8_t>(&code);
        // The rank was checked with the argument.
        if (dimension < 0) dimension += tensor.ndim;
        // DLPack may omit the strides of a compact tensor.
        *++top = op == Op::kShape            ? tensor.shape[dimension]
                 : tensor.strides != nullptr ? tensor.strides[dimension]
                                             : Extent(tensor, dimension + 1);
        break;
      }
      case Op::kNumSms:
        *++top = NumSms(call->device);
        break;
      case Op::kMaxCooperativeBlocks:
        *++top = MaxCooperativeBlocks(call);
        break;
      case Op::kNot:
        *top = *top == 0;
        break;
      case Op::kBranchFalse:
      case Op::kBranchTrue: {
        const auto distance = Operand<uint16_t>(&code);
        if ((*top != 0) == (op == Op::kBranchTrue)) {
          code += distance;
        } else {
          --top;
        }
        break;
      }
      default:
        __builtin_unreachable();
    }
  }
}

// The value of a figure; the call records a failure.
inline int64_t Value(Call* call, const Figure& figure) {
  if (figure.code == nullptr) return figure.value;
  const int64_t value = Run(call, figure.code);
  if (__builtin_expect(call->failure != nullptr, 0)) call->where = figure.text;
  return value;
}

// Stores an expression's value as kernel argument `number`, in its type.
inline int SetComputed(Call* call, const Step& step, int64_t value) {
  Argument* out = &call->computed[step.number];
  out->address = &out->storage;
  out->storage.i64 = value;
  const bool is_float = step.kind == Kind::kFloat || step.kind == Kind::kBfloat;
  if (is_float ? StoreFloat(step.kind, step.id, static_cast<double>(value), out)
               : IntegerFits(step.kind, step.id, value)) {
    return 0;
  }
  return Fail("ValueError", "%s: the expression '%s' is out of range for the parameter's type",
              call->Site().chars, step.figure.text);
}

// Sets an attribute of the launch, or one dimension of it.
TVMFFI_CUBIN_SHARED int SetAttribute(Call* call, const Step& step, int64_t value) {
  const bool is_event = step.target == Step::kEvent, has_axes = step.target == Step::kDimensions;
  if (value == 0 && (is_event || step.target == Step::kFlag)) return 0;
  if (!has_axes || step.number == 0) {
    CUlaunchAttribute* added = &call->attributes[call->num_attributes++];
    memset(added, 0, sizeof(*added));
    added->id = static_cast<CUlaunchAttributeID>(step.id);
  }
  char* const bytes = call->attributes[call->num_attributes - 1].value.pad;
  if (step.target == Step::kRaw) {
    memcpy(bytes, step.figure.text, static_cast<size_t>(value));
    return 0;
  }
  if (step.target == Step::kFlag) value = 1;
  // Little-endian: the low bytes of the word are the value in every width.
  memcpy(bytes + 4 * (has_axes ? step.number : 0), &value, is_event ? 8 : 4);
  // Values in range are checked with the other limits. But the driver dereferences any event
  // address, and nothing is mapped in the first page.
  const int64_t least = is_event ? 4096 : has_axes ? 1 : INT32_MIN;
  const int64_t most = is_event ? INT64_MAX : has_axes ? UINT32_MAX : INT32_MAX;
  const bool is_within = value >= least && value <= most;
  return is_within ? 0 : FailRange(*call, step.figure.text, value, least, most);
}

// Sets a figure of the launch's shape; a zero may come with an empty grid.
inline int SetFigure(Call* call, int index, int64_t value) {
  unsigned* const figures = &call->launches[call->number].config.gridDimX;  // and those after it
  figures[index] = static_cast<unsigned>(value);
  const bool is_within = value >= 0 && value <= UINT32_MAX;
  if (__builtin_expect(is_within, 1)) return 0;
  return FailRange(*call, kFigures[index], value, index / 3 == 1, UINT32_MAX);
}

// Runs steps of the call's launch, or of a map; raises and returns -1 if one fails.
inline int DoSteps(Call* call, const Step* steps, int count) {
  const uint64_t given = call->options.given;  // in a register, for every step
  for (const Step* step = steps; step != steps + count; ++step) {
    // The caller overrides this figure, which may have no value for these arguments.
    if (__builtin_expect((given >> step->option & 1) != 0, 0)) continue;
    const int64_t value = Value(call, step->figure);
    if (__builtin_expect(call->failure != nullptr, 0)) return FailFigure(*call);
    int code = 0;
    switch (step->target) {
      case Step::kFigure:
        code = SetFigure(call, step->number, value);
        break;
      case Step::kComputed:
        code = SetComputed(call, *step, value);
        break;
      case Step::kMapWord:
        call->map_words[step->number] = value;
        break;
      default:
        code = SetAttribute(call, *step, value);
    }
    if (__builtin_expect(code != 0, 0)) return -1;
  }
  return 0;
}

TVMFFI_CUBIN_END
