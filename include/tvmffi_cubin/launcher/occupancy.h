/*!
 * \file tvmffi_cubin/launcher/occupancy.h
 * \brief What of a kernel fits a device at once: for grids that must, and for those who ask.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
#define TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_

#include "../occupancy.h"
#include "kernel.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Finds what fits a device at once; loads the kernel, whose image is in use. */
inline Status OccupancyInUse(const Driver* driver, EmbeddedKernel* kernel, int device,
                             const CUlaunchConfig& config, Occupancy* found) {
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return status;
  CUkernel handle = nullptr;
  status = LoadKernel(driver, kernel, &handle);
  if (!status.ok()) return status;
  return FindOccupancy(driver, handle, device, config, found, &kernel->smem, &kernel->clusters);
}

/*! \brief The same, of an image that is not in use. */
inline Status KernelOccupancy(const Driver* driver, EmbeddedKernel* kernel, int device,
                              const CUlaunchConfig& config, Occupancy* found) {
  ImageUse use(kernel->image);
  return OccupancyInUse(driver, kernel, device, config, found);
}

/*! \brief An evaluation's block, shared memory and cluster, those of the grid being open. */
inline bool FillForOccupancy(const Evaluation& evaluation, CUlaunchConfig* config) {
  *config = CUlaunchConfig{};
  uint32_t* const figures[] = {&config->blockDimX, &config->blockDimY, &config->blockDimZ};
  for (int i = 0; i < 3; ++i) {
    if (evaluation.block[i] < 1 || evaluation.block[i] > UINT32_MAX) return false;
    *figures[i] = static_cast<uint32_t>(evaluation.block[i]);
  }
  if (evaluation.dynamic_smem_bytes < 0 || evaluation.dynamic_smem_bytes > UINT32_MAX) return false;
  config->sharedMemBytes = static_cast<uint32_t>(evaluation.dynamic_smem_bytes);
  config->attrs = reinterpret_cast<CUlaunchAttribute*>(evaluation.attributes);
  config->numAttrs = static_cast<unsigned>(evaluation.num_attributes);
  return true;
}

/*! \brief The arguments of DescribeOccupancy. */
struct OccupancyQuestion {
  int64_t kernel, device, block[3], smem, cluster[3];
};
constexpr int kNumOccupancyArguments = sizeof(OccupancyQuestion) / sizeof(int64_t);

/*! \brief Answers a question about a kernel's occupancy, or raises what is wrong with it. */
inline int AnswerOccupancy(EmbeddedKernel* kernel, const OccupancyQuestion& question, int device,
                           Text* answer) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return Fail("LaunchError", "occupancy: %s", DriverProblem());
  if (device < 0) device = CurrentDevice(driver);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = static_cast<uint32_t>(question.cluster[0]);
  attribute.value.clusterDim.y = static_cast<uint32_t>(question.cluster[1]);
  attribute.value.clusterDim.z = static_cast<uint32_t>(question.cluster[2]);
  CUlaunchConfig config{};
  config.blockDimX = static_cast<uint32_t>(question.block[0]);
  config.blockDimY = static_cast<uint32_t>(question.block[1]);
  config.blockDimZ = static_cast<uint32_t>(question.block[2]);
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.sharedMemBytes = static_cast<uint32_t>(question.smem);
  config.attrs = &attribute;
  config.numAttrs = question.cluster[0] != 0;
  Occupancy found;
  const FunctionPlan asked = {"occupancy", nullptr, 0, nullptr, 1, 0};
  ImageUse use(kernel->image);
  Status status = OccupancyInUse(driver, kernel, device, config, &found);
  CUdevice handle = 0;
  if (status.ok()) status = {driver->cuDeviceGet(&handle, device), "cuDeviceGet"};
  int of_kernel[4] = {};
  const CUfunction_attribute attributes[] = {
      CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
      CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK};
  for (int i = 0; i < 4 && status.ok(); ++i) {
    status = {driver->cuKernelGetAttribute(&of_kernel[i], attributes[i], kernel->handle, handle),
              "cuKernelGetAttribute"};
  }
  if (!status.ok()) return FailLaunch({asked, 0, false}, *kernel, device, nullptr, status);
  const int optin =
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int threads =
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  snprintf(answer->chars, sizeof(answer->chars), "[%d,%d,%d,%lld,%d,%d,%d,%d,%d,%d,%d]", device,
           found.blocks_per_sm, threads, static_cast<long long>(found.cooperative_blocks),
           found.cluster_blocks, found.clusters, of_kernel[0], of_kernel[1], of_kernel[2],
           of_kernel[3], optin - of_kernel[1]);
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
