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
  const char* where = "";         // in which expression, as the user wrote it

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

  /*! \brief Stores an expression's value as kernel argument `index` of the given type. */
  void Store(int index, Kind kind, uint32_t size, const char* text, int64_t value);
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_EXPRESSION_H_
