/*!
 * \file tvmffi_cubin/launcher/expression.h
 * \brief Evaluates the steps of a launch: postfix code over the arguments' integers and shapes.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_
#define TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_

#include "../core/limits.h"
#include "argument.h"
#include "launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The failure of a condition that can be evaluated and is false. */
inline constexpr char kDoesNotHold[] = "does not hold";

/*! \brief The failure of a figure that is beyond its range: the value and the range are noted. */
inline constexpr char kOutOfRange[] = "is out of range";

/*! \brief The failure of a driver call that an expression needs: its name and result are noted. */
inline constexpr char kDriverFailed[] = "cannot be evaluated";

/*! \brief The failure of max_cooperative_blocks where not one block fits. */
inline constexpr char kNothingFits[] = "is 0";

/*! \brief The figures of a launch's shape: grid x y z, block x y z, dynamic shared memory. */
inline unsigned* FiguresOf(CUlaunchConfig* config) {
  static_assert(offsetof(CUlaunchConfig, gridDimX) == 0 &&
                    offsetof(CUlaunchConfig, blockDimX) == 12 &&
                    offsetof(CUlaunchConfig, sharedMemBytes) == 24,
                "they are its first words");
  return reinterpret_cast<unsigned*>(config);
}

/*! \brief An attribute of launches: its name, and the range of its figures. */
struct AttributeFacts {
  uint32_t id;
  const char* name;
  int64_t least, most;
};

// The driver reads at any address that it is given as an event's, and nothing lies in the first
// page.
inline constexpr AttributeFacts kAttributes[] = {
    {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, "cluster", 1, UINT32_MAX},
    {kPreferredClusterDimension, "preferred_cluster", 1, UINT32_MAX},
    {CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, "cluster_scheduling_policy", 0, 2},
    {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, "programmatic_event", 4096, INT64_MAX},
    {kLaunchCompletionEvent, "launch_completion_event", 4096, INT64_MAX},
    {CU_LAUNCH_ATTRIBUTE_PRIORITY, "priority", INT32_MIN, INT32_MAX},
    {CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, "mem_sync_domain", 0, 1},
};

/*!
 * \brief One evaluation. Arithmetic has no branches out: the first thing that goes wrong is kept,
 * and the figure that it went wrong in is the last one that is evaluated.
 */
struct Evaluation {
  const CallFrame* const frame;
  const Argument* const arguments;
  EmbeddedKernel* kernel;                   // that of the launch
  CUlaunchConfig* config;                   // of which grid, block and shared memory are set
  Argument* computed;                       // kernel arguments that expressions give
  int64_t* map_words;                       // of the map that is being evaluated
  CUlaunchAttribute* attributes = nullptr;  // room for all that the launch may carry
  int32_t num_attributes = 0;               // so far
  uint64_t given = 0;                       // a bit for each attribute that the caller gave

  const char* failure = nullptr;  // what went wrong
  const char* where = nullptr;    // in which expression, as the user wrote it, or in which figure
  char axis;                      // of what is out of range, if any
  int64_t value, least, most;     // likewise
  CUresult result;                // of the driver call that failed
  const char* call;               // likewise

  Evaluation(const CallFrame* call, const Argument* converted)
      : frame(call), arguments(converted) {}

  TVMFFI_CUBIN_RARE int64_t Failed(const char* what) {
    if (failure == nullptr) failure = what;
    return 0;
  }
  int64_t Failed(const Status& status) {
    result = status.result;
    call = status.call;
    return Failed(kDriverFailed);
  }

  int64_t Add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? Failed("overflows 64 bits") : r;
  }
  int64_t Sub(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? Failed("overflows 64 bits") : r;
  }
  int64_t Mul(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? Failed("overflows 64 bits") : r;
  }
  /*! \brief Rounds towards minus infinity, as Python's `//`. */
  int64_t FloorDiv(int64_t a, int64_t b) {
    if (b == 0) return Failed("divides by zero");
    if (b == -1) return Sub(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
  /*! \brief Takes the divisor's sign, as Python's `%`. */
  int64_t Mod(int64_t a, int64_t b) {
    if (b == 0) return Failed("divides by zero");
    if (b == -1) return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  int64_t CeilDiv(int64_t a, int64_t b) {
    if (b == 0) return Failed("divides by zero");
    if (b == -1) return Sub(0, a);
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
  }

  int64_t Numel(const DLTensor& tensor) {
    if (IsEmpty(tensor)) return 0;
    int64_t count = 1;
    for (int i = 0; i < tensor.ndim; ++i) count = Mul(count, tensor.shape[i]);
    return count;
  }
  int64_t Stride(const DLTensor& tensor, int dimension) {
    if (tensor.strides != nullptr) return tensor.strides[dimension];
    // DLPack leaves out those of a compact tensor.
    int64_t stride = 1;
    for (int i = tensor.ndim - 1; i > dimension; --i) stride = Mul(stride, tensor.shape[i]);
    return stride;
  }

  /*! \brief Multiprocessors of the launch's device. */
  int64_t NumSms();

  /*! \brief Blocks of this shape, shared memory and cluster that fit the device all at once. */
  int64_t MaxCooperativeBlocks();

  /*! \brief The value of an expression. */
  int64_t Run(const uint8_t* code);

  int64_t Value(const Figure& figure) {
    if (figure.code == nullptr) return figure.value;
    const int64_t value = Run(figure.code);
    if (__builtin_expect(failure != nullptr, 0)) where = figure.text;
    return value;
  }

  /*! \brief Notes a figure that is out of range; whether it is within. */
  bool CheckRange(const char* name, char its_axis, int64_t figure, int64_t from, int64_t to) {
    if (__builtin_expect(figure >= from && figure <= to, 1)) return true;
    failure = kOutOfRange;
    where = name;
    axis = its_axis;
    value = figure;
    least = from;
    most = to;
    return false;
  }

  /*! \brief Sets a figure of the launch's shape; a zero may go with an empty grid. */
  bool SetFigure(const char* name, char its_axis, int64_t figure, int64_t from, int index) {
    FiguresOf(config)[index] = static_cast<unsigned>(figure);
    return figure == 0 || CheckRange(name, its_axis, figure, from, UINT32_MAX);
  }

  bool SetAttribute(const Step& step, int64_t figure);
  bool SetComputed(const Step& step, int64_t figure);

  /*!
   * \brief Does the steps; false where one fails.
   * \param replaced A bit for each target that the caller gives: what the launch has for it may
   * have no value for these arguments.
   */
  bool Do(const Step* steps, int count, uint32_t replaced);
};

/*! \brief An operand of an opcode, which is not aligned. */
template <typename Number>
inline Number Operand(const uint8_t* code) {
  Number number;
  memcpy(&number, code, sizeof(number));
  return number;
}

__attribute__((noinline)) inline int64_t Evaluation::Run(const uint8_t* code) {
  int64_t stack[kMaxStack];
  int64_t* next = stack;  // one above the top
  for (;;) {
    switch (*code++) {
      case Op::kEnd:
        return next[-1];
      case Op::kPush8:
        *next++ = Operand<int8_t>(code);
        code += 1;
        break;
      case Op::kPush64:
        *next++ = Operand<int64_t>(code);
        code += 8;
        break;
      case Op::kInteger:
        *next++ = arguments[Operand<uint16_t>(code)].integer;
        code += 2;
        break;
      case Op::kNumel:
        *next++ = Numel(*arguments[Operand<uint16_t>(code)].tensor);
        code += 2;
        break;
      case Op::kShape:
      case Op::kStride: {
        const DLTensor& tensor = *arguments[Operand<uint16_t>(code)].tensor;
        int dimension = Operand<int8_t>(code + 2);
        // The rank was checked with the argument.
        if (dimension < 0) dimension += tensor.ndim;
        *next++ = code[-1] == Op::kShape ? tensor.shape[dimension] : Stride(tensor, dimension);
        code += 3;
        break;
      }
      case Op::kDataPtr:
        *next++ = arguments[Operand<uint16_t>(code)].storage.i64;
        code += 2;
        break;
      case Op::kNumSms:
        *next++ = NumSms();
        break;
      case Op::kMaxCooperativeBlocks:
        *next++ = MaxCooperativeBlocks();
        break;
      case Op::kAdd:
        --next, next[-1] = Add(next[-1], next[0]);
        break;
      case Op::kSub:
        --next, next[-1] = Sub(next[-1], next[0]);
        break;
      case Op::kMul:
        --next, next[-1] = Mul(next[-1], next[0]);
        break;
      case Op::kFloorDiv:
        --next, next[-1] = FloorDiv(next[-1], next[0]);
        break;
      case Op::kMod:
        --next, next[-1] = Mod(next[-1], next[0]);
        break;
      case Op::kCeilDiv:
        --next, next[-1] = CeilDiv(next[-1], next[0]);
        break;
      case Op::kMin:
        --next, next[-1] = next[-1] < next[0] ? next[-1] : next[0];
        break;
      case Op::kMax:
        --next, next[-1] = next[-1] > next[0] ? next[-1] : next[0];
        break;
      case Op::kEq:
        --next, next[-1] = next[-1] == next[0];
        break;
      case Op::kNe:
        --next, next[-1] = next[-1] != next[0];
        break;
      case Op::kLt:
        --next, next[-1] = next[-1] < next[0];
        break;
      case Op::kLe:
        --next, next[-1] = next[-1] <= next[0];
        break;
      case Op::kGt:
        --next, next[-1] = next[-1] > next[0];
        break;
      case Op::kGe:
        --next, next[-1] = next[-1] >= next[0];
        break;
      case Op::kNot:
        next[-1] = next[-1] == 0;
        break;
      case Op::kBranchFalse:
      case Op::kBranchTrue: {
        const bool skips = (next[-1] != 0) == (code[-1] == Op::kBranchTrue);
        const uint16_t distance = Operand<uint16_t>(code);
        code += 2;
        if (skips) {
          code += distance;
        } else {
          --next;
        }
        break;
      }
      default:
        __builtin_unreachable();
    }
  }
}

/*! \brief Stores an expression's value as kernel argument `number` of its type. */
inline bool Evaluation::SetComputed(const Step& step, int64_t figure) {
  Argument* out = &computed[step.number];
  const auto kind = static_cast<Kind>(step.axis);
  out->address = &out->storage;
  out->storage.i64 = figure;
  if (kind == Kind::kFloat || kind == Kind::kBfloat) {
    if (StoreFloat(kind, step.id, static_cast<double>(figure), out)) return true;
    Failed("is out of range");
  } else {
    if (kind == Kind::kRaw ? RawFits(step.id, figure) : IntegerFits(kind, step.id, figure)) {
      return true;
    }
    Failed("is out of the range of the parameter's type");
  }
  where = step.figure.text;
  return false;
}

/*! \brief Sets an attribute of the launch, or one dimension of it. */
__attribute__((noinline)) inline bool Evaluation::SetAttribute(const Step& step, int64_t figure) {
  const bool is_switch = step.target == Step::kFlag || step.target == Step::kEvent;
  if (is_switch && figure == 0) return true;
  if (step.target != Step::kDimensions || step.axis == 0) {
    CUlaunchAttribute* added = &attributes[num_attributes++];
    memset(added, 0, sizeof(*added));
    added->id = static_cast<CUlaunchAttributeID>(step.id);
  }
  char* const bytes = attributes[num_attributes - 1].value.pad;
  if (step.target == Step::kRaw) {
    memcpy(bytes, step.figure.text, static_cast<size_t>(figure));
    return true;
  }
  const bool has_axes = step.target == Step::kDimensions;
  if (step.target == Step::kFlag) figure = 1;
  // Little-endian: the low bytes of the word are the value in every width.
  memcpy(bytes + 4 * (has_axes ? step.axis : 0), &figure, step.target == Step::kEvent ? 8 : 4);
  for (const AttributeFacts& facts : kAttributes) {
    if (facts.id != step.id) continue;
    const char its_axis = has_axes ? static_cast<char>('x' + step.axis) : '\0';
    return CheckRange(facts.name, its_axis, figure, facts.least, facts.most);
  }
  return true;
}

inline bool Evaluation::Do(const Step* steps, int count, uint32_t replaced) {
  for (const Step* step = steps; step != steps + count; ++step) {
    if (__builtin_expect(replaced >> step->target & 1, 0) &&
        (step->target < Step::kDimensions || (given >> step->id & 1) != 0)) {
      continue;
    }
    const int64_t figure = Value(step->figure);
    if (__builtin_expect(failure != nullptr, 0)) return false;
    switch (step->target) {
      case Step::kWhen:
        if (figure != 0) break;
        failure = kDoesNotHold;
        where = step->figure.text;
        return false;
      case Step::kGrid:
        if (!SetFigure("grid", static_cast<char>('x' + step->axis), figure, 0, step->axis))
          return false;
        break;
      case Step::kBlock:
        if (!SetFigure("block", static_cast<char>('x' + step->axis), figure, 1, 3 + step->axis))
          return false;
        break;
      case Step::kSmem:
        if (!SetFigure("dynamic_smem_bytes", '\0', figure, 0, 6)) return false;
        break;
      case Step::kComputed:
        if (!SetComputed(*step, figure)) return false;
        break;
      case Step::kMapWord:
        map_words[step->number] = figure;
        break;
      default:
        if (!SetAttribute(*step, figure)) return false;
        break;
    }
  }
  return true;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_
