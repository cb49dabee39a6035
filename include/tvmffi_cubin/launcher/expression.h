/*!
 * \file tvmffi_cubin/launcher/expression.h
 * \brief What generated expressions are made of: integer arithmetic that notices overflow.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_
#define TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_

#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The failure of a condition that can be evaluated and is false. */
inline constexpr char kDoesNotHold[] = "does not hold";

/*! \brief The failure of a figure that is beyond its range: the value and the range are noted. */
inline constexpr char kOutOfRange[] = "is out of range";

/*! \brief The failure of a driver call that an expression needs: its name and code are noted. */
inline constexpr char kDriverFailed[] = "cannot be evaluated";

/*! \brief The failure of max_cooperative_blocks where not one block fits. */
inline constexpr char kNothingFits[] = "is 0";

/*!
 * \brief One evaluation. The first thing that goes wrong is kept and reported once at the end, so
 * that the arithmetic itself has no branches out.
 */
struct Evaluation {
  const Argument* arguments;
  int64_t num_sms;
  int64_t grid[3];
  int64_t block[3];
  int64_t dynamic_smem_bytes;
  Argument* computed;             // kernel arguments that expressions give
  const char* failure = nullptr;  // what went wrong
  const char* where = "";         // in which expression, as the user wrote it, or in which figure

  EmbeddedKernel* kernel;                 // that of the launch
  int32_t device;                         // that it goes to
  int32_t num_attributes = 0;             // so far
  LaunchAttribute* attributes = nullptr;  // what the launch carries; room for all that may be set
  uint64_t given = 0;                     // a bit for each attribute that the caller gave
  int64_t value, least, most;             // of what is out of range
  char axis;                              // of that, 0 where it has none
  int32_t driver_result;                  // of the call that failed
  const char* driver_call;

  int64_t Failed(const char* what) {
    if (failure == nullptr) failure = what;
    return 0;
  }
  /*! \brief Ends one expression: remembers its text if it is the one that failed. */
  int64_t Done(const char* text, int64_t value) {
    if (__builtin_expect(failure != nullptr, 0) && where[0] == '\0') where = text;
    return value;
  }
  /*! \brief Ends one condition: where it does not hold, that is a failure like any other. */
  void Require(const char* text, bool holds) {
    if (!holds) Failed(kDoesNotHold);
    Done(text, 0);
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
  int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
  int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }

  // A dimension index below zero counts from the end; the rank was checked with the argument.
  int64_t Shape(int argument, int dimension) const;
  int64_t Stride(int argument, int dimension);
  int64_t Numel(int argument);
  int64_t DataPtr(int argument) const {
    return reinterpret_cast<int64_t>(arguments[argument].storage.pointer);
  }
  int64_t Integer(int argument) const { return arguments[argument].integer; }

  /*! \brief Whether the function's own value of an attribute counts, not the caller's. */
  bool Wants(uint32_t id) const { return (given >> id & 1) == 0; }

  // These add an attribute to the launch; `name` is what the user calls it.
  void SetDimensions(uint32_t id, const char* name, int64_t x, int64_t y, int64_t z);
  void SetInteger(uint32_t id, const char* name, int64_t least, int64_t most, int64_t value);
  void SetFlag(uint32_t id, const char* text, bool on);
  void SetEvent(uint32_t id, int64_t handle);
  void SetRaw(uint32_t id, const unsigned char* value, uint32_t size);

  /*! \brief Blocks of this shape, shared memory and cluster that fit the device all at once. */
  int64_t MaxCooperativeBlocks();

  /*! \brief Stores an expression's value as kernel argument `index` of the given type. */
  void Store(int index, Kind kind, uint32_t size, const char* text, int64_t value);
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_
