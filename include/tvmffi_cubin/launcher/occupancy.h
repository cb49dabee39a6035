/*!
 * \file tvmffi_cubin/launcher/occupancy.h
 * \brief What of a kernel fits a device at once: for grids that must, and for those who ask.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
#define TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_

#include "prepare.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Finds what fits a device at once; loads the kernel, whose image is in use. */
TVMFFI_CUBIN_RARE Status OccupancyInUse(const Driver* driver, EmbeddedKernel* kernel, int device,
                                        const CUlaunchConfig& config, Occupancy* found) {
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return status;
  status = LoadKernel(driver, kernel);
  if (!status.ok()) return status;
  return FindOccupancy(driver, kernel->handle, device, config, found, &kernel->smem,
                       &kernel->clusters);
}

/*! \brief An evaluation's block, shared memory and attributes so far, with a grid of one cluster.
 */
TVMFFI_CUBIN_RARE CUlaunchConfig ConfigSoFar(const Evaluation& evaluation) {
  CUlaunchConfig config = *evaluation.config;
  config.attrs = evaluation.attributes;
  config.numAttrs = static_cast<unsigned>(evaluation.num_attributes);
  const ClusterShape cluster = FindCluster(*evaluation.kernel, config);
  config.gridDimX = cluster.x == 0 ? 1 : cluster.x;
  config.gridDimY = cluster.y == 0 ? 1 : cluster.y;
  config.gridDimZ = cluster.z == 0 ? 1 : cluster.z;
  return config;
}

/*! \brief Raises that of a launch's shape no block fits the device, and what is in the way. */
TVMFFI_CUBIN_RARE int FailResidency(const LaunchSite& site, const Evaluation& evaluation) {
  const EmbeddedKernel& kernel = *evaluation.kernel;
  GateUse use(&kernel.image->gate);
  Text text;
  if (!FindLimit(evaluation.frame->driver, evaluation.frame->device, kernel.handle,
                 ConfigSoFar(evaluation), text.chars, sizeof(text.chars))) {
    text.Print("no grid of this shape is resident on device %d", evaluation.frame->device);
  }
  return Fail("LaunchLimitError", "%s: launch of %s: max_cooperative_blocks is 0: %s",
              SiteText(site).chars, kernel.display, text.chars);
}

TVMFFI_CUBIN_RARE int64_t Evaluation::MaxCooperativeBlocks() {
  const bool has_threads =
      config->blockDimX != 0 && config->blockDimY != 0 && config->blockDimZ != 0;
  // A block of none is told where it is used.
  if (failure != nullptr || !has_threads) return 1;
  Occupancy found;
  GateUse use(&kernel->image->gate);
  const Status status =
      OccupancyInUse(frame->driver, kernel, frame->device, ConfigSoFar(*this), &found);
  if (!status.ok()) return Failed(status);
  return found.cooperative_blocks != 0 ? found.cooperative_blocks : Failed(kNothingFits);
}

/*! \brief Multiprocessors of each device; 0: not asked for yet. */
inline int32_t device_sms[kMaxDevices];

inline int64_t Evaluation::NumSms() {
  const int device = frame->device < 0 ? CurrentDevice(frame->driver) : frame->device;
  if (device >= kMaxDevices) return Failed({CUDA_ERROR_INVALID_DEVICE, "cuDeviceGet"});
  int count = __atomic_load_n(&device_sms[device], __ATOMIC_RELAXED);
  if (__builtin_expect(count != 0, 1)) return count;
  const Status status =
      ReadDeviceAttribute(frame->driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &count);
  if (!status.ok()) return Failed(status);
  __atomic_store_n(&device_sms[device], count, __ATOMIC_RELAXED);
  return count;
}

/*!
 * \brief What a kernel can have resident. The arguments: its row, device, block x y z,
 * dynamic_smem_bytes, cluster x y z; the result: a JSON list of FindOccupancy's figures and of what
 * the driver says of the kernel there, in the order of `Occupancy` in Python.
 */
TVMFFI_CUBIN_RARE int DescribeOccupancy(const ModulePlan& module, const TVMFFIAny* args,
                                        int num_args, TVMFFIAny* result) {
  int64_t given[9] = {};
  if (num_args != 9) return Fail("TypeError", "occupancy: got %d arguments, wanted 9", num_args);
  for (int i = 0; i < num_args; ++i) {
    bool present = false;
    if (ReadOption("occupancy", "argument", args[i], &given[i], &present) != 0) return -1;
    if (given[i] < INT32_MIN || given[i] > INT32_MAX) {
      return Fail("ValueError", "occupancy: %lld is beyond any device's limit",
                  static_cast<long long>(given[i]));
    }
  }
  if (given[0] < 0 || given[0] >= module.num_kernels) {
    return Fail("ValueError", "occupancy: there is no kernel %lld",
                static_cast<long long>(given[0]));
  }
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return Fail("LaunchError", "occupancy: %s", DriverProblem());
  EmbeddedKernel* const kernel = &module.kernels[given[0]];
  const int device = given[1] < 0 ? CurrentDevice(driver) : static_cast<int>(given[1]);
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, &cluster, given[6] != 0};
  for (int i = 0; i < 4; ++i) FiguresOf(&config)[3 + i] = static_cast<unsigned>(given[2 + i]);
  const unsigned sizes[] = {static_cast<unsigned>(given[6]), static_cast<unsigned>(given[7]),
                            static_cast<unsigned>(given[8])};
  memcpy(cluster.value.pad, sizes, sizeof(sizes));
  Occupancy found;
  GateUse use(&kernel->image->gate);
  Status status = OccupancyInUse(driver, kernel, device, config, &found);
  CUdevice handle = 0;
  if (status.ok()) status = {driver->cuDeviceGet(&handle, device), "cuDeviceGet"};
  constexpr CUfunction_attribute kAttributes[] = {
      CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
      CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK};
  int own[4] = {};
  for (int i = 0; i < 4 && status.ok(); ++i) {
    status = {driver->cuKernelGetAttribute(&own[i], kAttributes[i], kernel->handle, handle),
              "cuKernelGetAttribute"};
  }
  if (!status.ok()) return FailLaunch({"occupancy", 0, 1, false}, *kernel, device, nullptr, status);
  const int optin =
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int threads =
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  Text answer;
  answer.Print("[%d,%d,%d,%lld,%d,%d,%d,%d,%d,%d,%d]", device, found.blocks_per_sm, threads,
               static_cast<long long>(found.cooperative_blocks), found.cluster_blocks,
               found.clusters, own[0], own[1], own[2], own[3], optin - own[1]);
  const TVMFFIByteArray text{answer.chars, strlen(answer.chars)};
  return TVMFFIStringFromByteArray(&text, result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
