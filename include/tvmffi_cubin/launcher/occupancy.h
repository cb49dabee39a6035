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

/*! \brief The arguments of DescribeOccupancy. */
struct OccupancyQuestion {
  int64_t kernel, device, block[3], smem, cluster[3];
};
constexpr int kNumOccupancyArguments = sizeof(OccupancyQuestion) / sizeof(int64_t);

/*! \brief Answers a question about a kernel's occupancy, or raises what is wrong with it. */
TVMFFI_CUBIN_RARE int AnswerOccupancy(EmbeddedKernel* kernel, const OccupancyQuestion& question,
                                      int device, Text* answer) {
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
  GateUse use(&kernel->image->gate);
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
  if (!status.ok()) return FailLaunch({"occupancy", 0, 1, false}, *kernel, device, nullptr, status);
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

TVMFFI_CUBIN_RARE int64_t Evaluation::NumSms() {
  if (num_sms != 0 || failure != nullptr) return num_sms;
  const Driver* driver = frame->driver;
  const int device = frame->device < 0 ? CurrentDevice(driver) : frame->device;
  CUdevice handle = 0;
  int count = 0;
  Status status = {driver->cuDeviceGet(&handle, device), "cuDeviceGet"};
  if (status.ok()) {
    status = {
        driver->cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle),
        "cuDeviceGetAttribute"};
  }
  if (!status.ok()) return Failed(status);
  return num_sms = count;
}

/*!
 * \brief What a kernel can have resident. The arguments: its row, device, block x y z,
 * dynamic_smem_bytes, cluster x y z; the result: a JSON list of FindOccupancy's figures and of what
 * the driver says of the kernel there, in the order of `Occupancy` in Python.
 */
TVMFFI_CUBIN_RARE int DescribeOccupancy(const ModulePlan& module, const TVMFFIAny* args,
                                        int num_args, TVMFFIAny* result) {
  OccupancyQuestion question;
  if (num_args != kNumOccupancyArguments) {
    return Fail("TypeError", "occupancy: got %d arguments, wanted %d", num_args,
                kNumOccupancyArguments);
  }
  int64_t* const words = &question.kernel;
  for (int i = 0; i < num_args; ++i) {
    bool present = false;
    words[i] = 0;
    if (ReadOption("occupancy", "argument", args[i], &words[i], &present) != 0) return -1;
    if (words[i] < INT32_MIN || words[i] > INT32_MAX) {
      return Fail("ValueError", "occupancy: %lld is beyond any device's limit",
                  static_cast<long long>(words[i]));
    }
  }
  if (question.kernel < 0 || question.kernel >= module.num_kernels) {
    return Fail("ValueError", "occupancy: there is no kernel %lld",
                static_cast<long long>(question.kernel));
  }
  Text answer;
  const int device = static_cast<int>(question.device);
  if (AnswerOccupancy(&module.kernels[question.kernel], question, device, &answer) != 0) return -1;
  const TVMFFIByteArray text{answer.chars, strlen(answer.chars)};
  return TVMFFIStringFromByteArray(&text, result);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
