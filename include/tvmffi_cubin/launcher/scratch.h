/*!
 * \file tvmffi_cubin/launcher/scratch.h
 * \brief Memory that the launches of one call have for themselves.
 *
 * It comes from the allocator of the call's tensors, whose memory is given back in the order of
 * their own stream, or from the driver, in the order of the launch's.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_SCRATCH_H_
#define TVMFFI_CUBIN_LAUNCHER_SCRATCH_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "prepare.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAllocAsync, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemFreeAsync, 12000)

/*! \brief The scratch memory of one kernel parameter; what the parameter points to comes first. */
struct ScratchBlock {
  uintptr_t pointer;              // aligned
  CUdeviceptr allocated;          // by the driver, else 0
  TVMFFIObjectHandle allocation;  // by the tensors' allocator, else null
};

/*! \brief All scratch memory of a call; given back, in stream order, when the call ends. */
struct ScratchBlocks {
  CUstream stream;
  ScratchBlock* blocks;
  int count = 0;

  ~ScratchBlocks() {
    for (int i = 0; i < count; ++i) {
      if (blocks[i].allocation != nullptr) TVMFFIObjectDecRef(blocks[i].allocation);
      // What fails here has failed for the stream already, which tells it itself.
      if (blocks[i].allocated != 0) entry::cuMemFreeAsync(blocks[i].allocated, stream);
    }
  }
};

/*!
 * \brief Whether memory may come from the tensors' allocator. It takes back what was freed for the
 * next work on the stream that is current for it: a launch on another stream would still be using
 * it, and so would one that the next launch need not wait for.
 */
inline bool MayUseTensorsAllocator(const CallFrame& frame, const CUlaunchConfig& config) {
  const bool may_overlap =
      FindAttribute(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) != nullptr;
  if (TVMFFIEnvGetDLPackManagedTensorAllocator() == nullptr || may_overlap) return false;
  return !frame.has_stream || frame.stream == TVMFFIEnvGetStream(kDLCUDA, frame.device);
}

/*! \brief Allocates one block of a launch. */
inline int AllocateScratch(const CallFrame& frame, int launch, const ScratchPlan& plan,
                           int64_t bytes, ScratchBlock* block) {
  constexpr uint32_t kAlwaysAligned = 256;  // by every allocator of device memory
  const uint32_t slack = plan.align > kAlwaysAligned ? plan.align - kAlwaysAligned : 0;
  int64_t size = bytes + slack;
  if (MayUseTensorsAllocator(frame, frame.launches[launch].config)) {
    DLTensor wanted{};
    wanted.device = {kDLCUDA, frame.device};
    wanted.ndim = 1;
    wanted.dtype = {kDLUInt, 8, 1};
    wanted.shape = &size;
    if (TVMFFIEnvTensorAlloc(&wanted, &block->allocation) != 0) return -1;
    block->pointer =
        reinterpret_cast<uintptr_t>(DataOf(*TVMFFITensorGetDLTensorPtr(block->allocation)));
  } else {
    const CUresult result =
        entry::cuMemAllocAsync(&block->allocated, static_cast<size_t>(size), frame.stream);
    if (result != CUDA_SUCCESS) {
      Text text;
      DescribeStatus({result, "cuMemAllocAsync"}, text.chars, sizeof(text.chars));
      return Fail("LaunchError", "%s: %lld bytes of scratch memory for %s: %s",
                  SiteText(frame.Site(launch)).chars, static_cast<long long>(size), plan.name,
                  text.chars);
    }
    block->pointer = static_cast<uintptr_t>(block->allocated);
  }
  block->pointer = (block->pointer + plan.align - 1) & ~static_cast<uintptr_t>(plan.align - 1);
  return 0;
}

/*! \brief Finds out how much memory one parameter of a launch is given. */
inline int EvaluateScratch(const LaunchSite& site, const ScratchPlan& plan,
                           const CUlaunchConfig& config, Evaluation* evaluation, int64_t* bytes) {
  const int64_t fixed = evaluation->Value(plan.bytes);
  const int64_t per_block =
      evaluation->failure == nullptr ? evaluation->Value(plan.bytes_per_block) : 0;
  if (evaluation->failure != nullptr) return FailEvaluation(site, *evaluation);
  int64_t total = per_block;
  bool overflows = false;
  const int64_t counts[] = {config.gridDimX, config.gridDimY, config.gridDimZ};
  for (const int64_t count : counts) overflows |= __builtin_mul_overflow(total, count, &total);
  overflows |= __builtin_add_overflow(total, fixed, bytes);
  constexpr int64_t kMost = INT64_C(1) << 48;
  if (!overflows && fixed >= 0 && per_block >= 0 && *bytes <= kMost) return 0;
  return Fail("ValueError",
              "%s: scratch memory for %s: bytes is %lld, bytes_per_block %lld: wanted "
              "0 or more of each, and together at most 2^48 bytes",
              SiteText(site).chars, plan.name, static_cast<long long>(fixed),
              static_cast<long long>(per_block));
}

/*! \brief Allocates what all launches of a call need; the device is current. */
inline int AllocateAll(const CallFrame& frame, Evaluation* evaluation, ScratchBlocks* all) {
  return frame.ForEach(Source::kScratch, [&](int launch, const Source& source, void** param) {
    const auto& plan = *static_cast<const ScratchPlan*>(source.data);
    ScratchBlock* block = &all->blocks[all->count++];
    *block = {};
    *param = &block->pointer;
    int64_t bytes = 0;
    const CUlaunchConfig& config = frame.launches[launch].config;
    if (EvaluateScratch(frame.Site(launch), plan, config, evaluation, &bytes) != 0) return -1;
    return bytes == 0 ? 0 : AllocateScratch(frame, launch, plan, bytes, block);
  });
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_SCRATCH_H_
