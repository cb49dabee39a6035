// Lets many use something until somebody closes it to change that.
#pragma once

#include <stdint.h>
#include <unistd.h>

#include "text.h"

TVMFFI_CUBIN_BEGIN

struct Gate {
  int32_t users = 0;
  int32_t closed = 0;  // users then wait before they begin

  // Closes the gate, behind which the last users have gone.
  void Close() {
    while (__atomic_exchange_n(&closed, 1, __ATOMIC_SEQ_CST) != 0) usleep(20);
    while (__atomic_load_n(&users, __ATOMIC_SEQ_CST) != 0) usleep(20);
  }

  void Open() { __atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST); }
};

// Uses what a gate guards for as long as it lives.
class GateUse {
 public:
  explicit GateUse(Gate* gate) : gate_(gate) {
    // Both sides announce themselves first and look at the other second: one of them always sees.
    __atomic_fetch_add(&gate_->users, 1, __ATOMIC_SEQ_CST);
    while (__builtin_expect(__atomic_load_n(&gate_->closed, __ATOMIC_SEQ_CST) != 0, 0)) {
      __atomic_fetch_sub(&gate_->users, 1, __ATOMIC_SEQ_CST);
      usleep(20);
      __atomic_fetch_add(&gate_->users, 1, __ATOMIC_SEQ_CST);
    }
  }
  ~GateUse() { __atomic_fetch_sub(&gate_->users, 1, __ATOMIC_SEQ_CST); }

 private:
  Gate* gate_;
};

TVMFFI_CUBIN_END
