/*!
 * \file tvmffi_cubin/core/gate.h
 * \brief A gate: many use something until somebody closes it to change that.
 */
#ifndef TVMFFI_CUBIN_CORE_GATE_H_
#define TVMFFI_CUBIN_CORE_GATE_H_

#include <unistd.h>

#include "state.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Uses what a gate guards for as long as it lives. */
class GateUse {
 public:
  explicit GateUse(Gate* gate) : gate_(gate) {
    // Both sides announce themselves first and look at the other second: one of them always sees.
    __atomic_fetch_add(&gate_->users, 1, __ATOMIC_SEQ_CST);
    while (__builtin_expect(__atomic_load_n(&gate_->closed, __ATOMIC_SEQ_CST) != 0, 0)) {
      // What another thread had closed when the process was forked, nobody opens again.
      if (__atomic_load_n(&gate_->closed, __ATOMIC_SEQ_CST) != getpid()) return;
      __atomic_fetch_sub(&gate_->users, 1, __ATOMIC_SEQ_CST);
      usleep(20);
      __atomic_fetch_add(&gate_->users, 1, __ATOMIC_SEQ_CST);
    }
  }
  ~GateUse() { __atomic_fetch_sub(&gate_->users, 1, __ATOMIC_SEQ_CST); }
  GateUse(const GateUse&) = delete;
  GateUse& operator=(const GateUse&) = delete;

 private:
  Gate* gate_;
};

/*! \brief Has users, and others who close the gate, wait before they begin. */
inline void CloseGate(Gate* gate) {
  const int32_t self = getpid();
  int32_t expected = 0;
  while (!__atomic_compare_exchange_n(&gate->closed, &expected, self, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
    if (expected != self) continue;  // open by now, or closed in the process that was forked
    expected = 0;
    usleep(20);
  }
}

/*! \brief Waits for the users of a closed gate that are still there. */
inline void WaitForUsers(Gate* gate) {
  while (__atomic_load_n(&gate->users, __ATOMIC_SEQ_CST) != 0) usleep(20);
}

/*! \brief Lets users begin again. */
inline void OpenGate(Gate* gate) { __atomic_store_n(&gate->closed, 0, __ATOMIC_SEQ_CST); }

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_GATE_H_
