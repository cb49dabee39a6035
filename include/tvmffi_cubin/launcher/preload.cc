// Loads kernels on a device before their first launch there.
#include "../core/occupancy.h"
#include "image_use.h"
#include "kernel.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Loads one kernel on a device, unless its image has it for other architectures alone. */
static int PreloadKernel(const Driver* driver, EmbeddedKernel* kernel, int device) {
  const FunctionPlan asked = {"preload", nullptr, 0, nullptr, 1, 0};
  const LaunchSite site{asked, 0, false};
  ImageUse use(kernel->image);
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  CUkernel handle = nullptr;
  status = LoadKernel(driver, kernel, &handle);
  if (status.ok()) status = LoadHere(handle);
  if (!status.ok() && LacksKernel(driver, *kernel, device, status.result)) status = {};
  const Status left = scope.Leave();
  if (status.ok()) status = left;
  return status.ok() ? 0 : FailLaunch(site, *kernel, device, nullptr, status);
}

/*! \brief Reads which device is meant: an int, or None for the current one. */
static int ReadDevice(const Driver* driver, const TVMFFIAny* args, int num_args, int* device) {
  if (num_args != 1) {
    return Fail("TypeError", "preload: got %d arguments, wanted 1: the device", num_args);
  }
  if (args[0].type_index == kTVMFFINone) {
    *device = CurrentDevice(driver);
    return 0;
  }
  if (args[0].type_index != kTVMFFIInt) {
    return Fail("TypeError", "preload: device: got %s, wanted an int or None",
                DescribeArgument(args[0]).chars);
  }
  if (args[0].v_int64 < 0 || args[0].v_int64 > INT32_MAX) {
    return Fail("ValueError", "preload: device is %lld, which is no device's number",
                static_cast<long long>(args[0].v_int64));
  }
  *device = static_cast<int>(args[0].v_int64);
  return 0;
}

int Preload(EmbeddedKernel* kernels, int num_kernels, const TVMFFIAny* args, int num_args) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return Fail("LaunchError", "preload: %s", DriverProblem());
  int device = 0;
  if (ReadDevice(driver, args, num_args, &device) != 0) return -1;
  for (int i = 0; i < num_kernels; ++i) {
    if (PreloadKernel(driver, &kernels[i], device) != 0) return -1;
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
