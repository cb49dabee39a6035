/*!
 * \file tvmffi_cubin/core/state.h
 * \brief State of gates, images and kernels' limits: constant-initialised, and without a header of CUDA's.
 */
#ifndef TVMFFI_CUBIN_CORE_STATE_H_
#define TVMFFI_CUBIN_CORE_STATE_H_

#include <stdint.h>

#include "namespace.h"

struct CUlib_st;   // what cuda.h's CUlibrary points to
struct CUkern_st;  // what cuda.h's CUkernel points to

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Lets many use something until somebody closes it to change that; constant-initialised. */
struct Gate {
  int32_t users = 0;
  int32_t closed = 0;  // by which process; users then wait before they begin
};

struct Driver;
struct Status;

/*! \brief Most devices that one process can address here. */
constexpr int kMaxDevices = 64;

/*! \brief Blocks of a cluster that every device with clusters takes; more are opted into. */
constexpr uint64_t kPortableClusterBlocks = 8;

/*!
 * \brief One image. A CUlibrary belongs to no context: it is loaded once a process and the driver
 * brings it to a device at the first launch there. Constant-initialised; never unloads by itself.
 * Its functions are defined in library.h.
 */
struct Library {
  const void* image = nullptr;
  CUlib_st* handle = nullptr;
  int32_t lock = 0;

  /*! \brief Loads the image unless it is loaded. */
  Status Load(const Driver* driver);

  /*!
   * \brief Unloads the image; a later Load loads it again, and where the driver refuses, a later
   * Unload tries again. No launch of it may be under way.
   */
  Status Unload();
};

/*!
 * \brief The dynamic shared memory that each device lets a kernel have, in bytes; what is above the
 * 48 KB that every kernel has is opted into once a device, up to the device's limit.
 */
struct DynamicSmemLimits {
  uint32_t everywhere = 0;  // what every device allows without asking: 48 KB less the static part
  uint32_t allowed[kMaxDevices] = {};

  /*! \brief Whether `bytes` are allowed already (0 is, always). */
  bool Covers(int device, uint32_t bytes) const {
    return bytes <= everywhere ||
           (device < kMaxDevices && bytes <= __atomic_load_n(&allowed[device], __ATOMIC_RELAXED));
  }

  /*! \brief Forgets what was opted into, as unloading the image does. */
  void Reset() { __builtin_memset(allowed, 0, sizeof(allowed)); }

  /*!
   * \brief Opts `kernel` into all that the device has beside the kernel's static shared memory, so
   * that launches of different sizes from several threads never lower each other's limit.
   * \param[out] most The largest dynamic size possible there, set where known.
   */
  Status Raise(const Driver* driver, CUkern_st* kernel, int device, int* most);
};

/*! \brief On which devices a kernel may have clusters of more than the portable 8 blocks. */
struct ClusterLimits {
  uint8_t allowed[kMaxDevices] = {};
  int32_t own_blocks =
      -1;  // of the cluster that the kernel was compiled for, 0: none; -1: not read

  /*! \brief Whether clusters of so many blocks need no opting in any more. */
  bool Covers(int device, uint64_t blocks) const {
    return blocks <= kPortableClusterBlocks ||
           (device < kMaxDevices && __atomic_load_n(&allowed[device], __ATOMIC_RELAXED) != 0);
  }

  int32_t OwnBlocks() const { return __atomic_load_n(&own_blocks, __ATOMIC_RELAXED); }
  void SetOwnBlocks(uint64_t blocks) {
    __atomic_store_n(&own_blocks, static_cast<int32_t>(blocks), __ATOMIC_RELAXED);
  }

  /*! \brief Forgets what was opted into, as unloading the image does. */
  void Reset() { __builtin_memset(allowed, 0, sizeof(allowed)); }

  /*! \brief Opts `kernel` into clusters as large as the device has them. */
  Status Allow(const Driver* driver, CUkern_st* kernel, int device);
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_STATE_H_
