/*!
 * \file tvmffi_cubin/core/state.h
 * \brief What tables of generated launchers hold: gates, images, kernels' limits, bound values.
 * Constant-initialised, and without a header of CUDA's.
 */
#ifndef TVMFFI_CUBIN_CORE_STATE_H_
#define TVMFFI_CUBIN_CORE_STATE_H_

#include <stdint.h>
#include <unistd.h>

#include "namespace.h"

struct CUlib_st;   // what cuda.h's CUlibrary points to
struct CUkern_st;  // what cuda.h's CUkernel points to
struct CUlaunchConfig_st;

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

struct Param;
struct Status;

/*! \brief Most devices that one process can address here. */
constexpr int kMaxDevices = 64;

/*! \brief Blocks of a cluster that every device with clusters takes; more are opted into. */
constexpr uint64_t kPortableClusterBlocks = 8;

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

/*!
 * \brief One image. A CUlibrary belongs to no context: it is loaded once a process and the driver
 * brings it to a device at the first launch there. Never unloads by itself.
 */
struct Library {
  const void* image = nullptr;
  CUlib_st* handle = nullptr;
  int32_t lock = 0;

  /*! \brief Loads the image unless it is loaded. */
  Status Load();

  /*!
   * \brief Unloads the image; a later Load loads it again, and where the driver refuses, a later
   * Unload tries again. No launch of it may be under way.
   */
  Status Unload();
};

/*!
 * \brief What a kernel has been opted into, device by device: dynamic shared memory above the
 * 48 KB that every kernel has, clusters of more than 8 blocks.
 */
struct KernelLimits {
  uint32_t smem_everywhere = 0;  // bytes that every device allows without asking
  uint32_t smem[kMaxDevices] = {};
  uint8_t clusters[kMaxDevices] = {};  // whether large ones are allowed
  int32_t own_cluster = -1;  // blocks that the kernel was compiled for, 0: none; -1: not read

  /*! \brief Whether `bytes` of dynamic shared memory are allowed already (0 is, always). */
  bool CoversSmem(int device, uint32_t bytes) const {
    return bytes <= smem_everywhere ||
           (device < kMaxDevices && bytes <= __atomic_load_n(&smem[device], __ATOMIC_RELAXED));
  }

  /*! \brief Whether clusters of so many blocks need no opting in any more. */
  bool CoversCluster(int device, uint64_t blocks) const {
    return blocks <= kPortableClusterBlocks ||
           (device < kMaxDevices && __atomic_load_n(&clusters[device], __ATOMIC_RELAXED) != 0);
  }

  /*!
   * \brief Opts into all the shared memory that a device has beside the kernel's static one, so
   * that launches of different sizes from several threads never lower each other's limit.
   * \param[out] most That size, set where known.
   */
  Status RaiseSmem(CUkern_st* kernel, int device, int* most);

  /*! \brief Opts into clusters as large as a device has them. */
  Status AllowClusters(CUkern_st* kernel, int device);

  /*! \brief Opts into what a launch on a device (-1: the current one) needs. */
  Status OptIn(CUkern_st* kernel, int device, const CUlaunchConfig_st& config);

  /*! \brief Forgets what was opted into, as unloading the image does. */
  void Reset() {
    __builtin_memset(smem, 0, sizeof(smem));
    __builtin_memset(clusters, 0, sizeof(clusters));
  }
};

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
