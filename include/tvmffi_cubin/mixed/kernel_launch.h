/*!
 * \file tvmffi_cubin/mixed/kernel_launch.h
 * \brief KernelLaunch: what `<<<...>>>` becomes, the configuration of the kernel call after it.
 */
#ifndef TVMFFI_CUBIN_MIXED_KERNEL_LAUNCH_H_
#define TVMFFI_CUBIN_MIXED_KERNEL_LAUNCH_H_

#include "../runtime/error.h"
#include "kernel_lookup.h"
#include "launch_operands.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Where a launch stands in the source. */
struct LaunchSite {
  const char* file;
  int line;
  const MixedTable* (*table)();
  static constexpr LaunchSite Here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                   const MixedTable* (*table)() = &UnitTable) {
    return {file, line, table};
  }
};

class KernelLaunch;

/*! \brief The innermost launch of the thread whose kernel has yet to be called. */
inline thread_local KernelLaunch* pending_launch = nullptr;

/*!
 * \brief The configuration of one launch, for the stub that is called in the same expression:
 * `(KernelLaunch(grid, block), kernel(x, f<<<1, 1>>>(y)...))`. The stub takes it; launches in the
 * arguments come and go before.
 */
class KernelLaunch {
 public:
  KernelLaunch(LaunchShape grid, LaunchShape block, LaunchBytes dynamic_smem = 0,
               LaunchStream stream = nullptr, LaunchSite site = LaunchSite::Here())
      : config_{grid.size.x,  grid.size.y,        grid.size.z,   block.size.x, block.size.y,
                block.size.z, dynamic_smem.bytes, stream.stream, nullptr,      0},
        site_(site),
        given_smem_(dynamic_smem.given),
        previous_(pending_launch) {
    pending_launch = this;
  }
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;
  ~KernelLaunch() {
    if (__builtin_expect(!is_taken_, 0)) Drop();
  }

  /*! \brief The thread's pending launch, which is so no longer; null where there is none. */
  static KernelLaunch* Take() {
    KernelLaunch* launch = pending_launch;
    if (__builtin_expect(launch == nullptr, 0)) return nullptr;
    pending_launch = launch->previous_;
    launch->is_taken_ = true;
    return launch;
  }

  const CUlaunchConfig& config() const { return config_; }
  const LaunchSite& site() const { return site_; }

  /*! \brief The bytes of shared memory as they were written: the configuration has less room. */
  int64_t given_smem() const { return given_smem_; }

 private:
  /*! \brief Ends a launch that no kernel took: an argument threw, or what was called is none. */
  void Drop();

  CUlaunchConfig config_;
  LaunchSite site_;
  int64_t given_smem_;
  KernelLaunch* previous_;
  bool is_taken_ = false;
};

/*!
 * \brief Notes that a launch failed: for cudaGetLastError, and for the exported function.
 * \param error The runtime's code.
 * \param site Where the launch stands, if that is known.
 * \param what The whole sentence.
 */
void NoteLaunchFailure(cudaError_t error, bool is_limit, const LaunchSite* site,
                       const std::string& what);

/*! \brief A stub's work: launches its kernel as the thread's pending launch says. */
void LaunchPending(KernelSlot* slot, void** args);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief The same of a launch that the driver refused. */
void NoteRefusedLaunch(const Status& status, const KernelLaunch& launch, const KernelSlot* slot);

/*! \brief Finds a slot's kernel for a launch, or notes why that cannot be. */
CubinKernel* FindToLaunch(KernelSlot* slot, const LaunchSite* site);

/*! \brief The runtime's code for the driver's, of a launch. */
cudaError_t LaunchErrorCode(CUresult result, const CUlaunchConfig& config);

/*! \brief The runtime's code for a launch that was refused; its limit is told with that. */
cudaError_t RefusalCode(const Status& status, const CUlaunchConfig& config);

/*! \brief Notes a call of a kernel that is no launch. */
void NoteUnconfigured(KernelSlot* slot);

TVMFFI_CUBIN_SHARED void LaunchPending(KernelSlot* slot, void** args) {
  const KernelLaunch* launch = KernelLaunch::Take();
  if (__builtin_expect(launch == nullptr, 0)) return NoteUnconfigured(slot);
  CubinKernel* kernel = __atomic_load_n(&slot->kernel, __ATOMIC_ACQUIRE);
  if (__builtin_expect(kernel == nullptr, 0)) {
    kernel = FindToLaunch(slot, &launch->site());
    if (kernel == nullptr) return;
  }
  const Status status = kernel->Launch(args, launch->config());
  if (__builtin_expect(!status.ok(), 0)) NoteRefusedLaunch(status, *launch, slot);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#include "launch_notes.h"

#endif  // TVMFFI_CUBIN_MIXED_KERNEL_LAUNCH_H_
