/*!
 * \file tvmffi_cubin/core/state.h
 * \brief Locks, gates, and the values of bound parameters; constant-initialised.
 */
#ifndef TVMFFI_CUBIN_CORE_STATE_H_
#define TVMFFI_CUBIN_CORE_STATE_H_

#include <stdint.h>
#include <unistd.h>

#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

struct Param;

/*! \brief Most devices that one process can address here. */
constexpr int kMaxDevices = 64;

/*! \brief Holds a lock that is rarely contended and then for as long as an image takes to load. */
class SpinLock {
 public:
  explicit SpinLock(int32_t* lock) : lock_(lock) {
    while (__atomic_exchange_n(lock_, 1, __ATOMIC_ACQUIRE) != 0) usleep(20);
  }
  ~SpinLock() { __atomic_store_n(lock_, 0, __ATOMIC_RELEASE); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  int32_t* lock_;
};

/*! \brief Lets many use something until somebody closes it to change that. */
struct Gate {
  int32_t users = 0;
  int32_t closed = 0;  // users then wait before they begin
};

/*! \brief Uses what a gate guards for as long as it lives. */
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
  GateUse(const GateUse&) = delete;
  GateUse& operator=(const GateUse&) = delete;

 private:
  Gate* gate_;
};

/*! \brief Has users, and others who close the gate, wait before they begin. */
inline void CloseGate(Gate* gate) {
  while (__atomic_exchange_n(&gate->closed, 1, __ATOMIC_SEQ_CST) != 0) usleep(20);
}

/*! \brief Waits for the users of a closed gate that are still there. */
inline void WaitForUsers(Gate* gate) {
  while (__atomic_load_n(&gate->users, __ATOMIC_SEQ_CST) != 0) usleep(20);
}

inline void OpenGate(Gate* gate) { __atomic_store_n(&gate->closed, 0, __ATOMIC_SEQ_CST); }

/*! \brief What is bound on one device, or on those that have nothing of their own. */
struct BoundCell {
  enum State : int32_t { kInherited, kValue, kNothing } state;
  uint64_t value;  // of up to 8 bytes, little-endian
  void* copy;      // from malloc: the value where it is a struct, else null
  void* keep;      // TVMFFIObjectHandle of what must live as long, or null

  const void* Address() const { return copy != nullptr ? copy : &value; }
};

/*!
 * \brief A kernel parameter that no caller passes, and its values; a row of a generated table.
 * All is read and written by those alone who use or have closed the table's gate.
 */
struct BoundSlot {
  const char* function;  // null: of all kernels that C++ functions launch
  const Param* param;
  const void* zeros;           // what is passed while it is not bound
  bool required;               // which then is an error
  BoundCell* cells = nullptr;  // from calloc: one a device, and the one that they inherit

  /*! \brief What a device has; null where nothing is bound for it. */
  const BoundCell* FindCell(int device) const {
    if (cells == nullptr) return nullptr;
    const BoundCell* shared = &cells[kMaxDevices];
    const BoundCell* cell = device >= 0 && device < kMaxDevices ? &cells[device] : shared;
    if (cell->state == BoundCell::kInherited) cell = shared;
    return cell->state == BoundCell::kValue ? cell : nullptr;
  }

  /*! \brief The value on a device; null where there is none. */
  const void* Find(int device) const {
    const BoundCell* cell = FindCell(device);
    return cell == nullptr ? nullptr : cell->Address();
  }
};

/*! \brief All slots of a shared object. Launches use the gate, binding closes it. */
struct BoundTable {
  BoundSlot* slots;
  int32_t num_slots;
  int32_t num_trailing;  // of these, the last: of all kernels that C++ functions launch
  Gate gate{};

  /*! \brief The slots of the last parameters of all kernels that C++ functions launch. */
  const BoundSlot* Trailing() const { return slots + (num_slots - num_trailing); }
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_STATE_H_
