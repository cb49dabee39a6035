/*!
 * \file tvmffi_cubin/launcher/image.h
 * \brief Loads a module's kernels before their first launch; gives back what launches have loaded.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_IMAGE_H_
#define TVMFFI_CUBIN_LAUNCHER_IMAGE_H_

#include "../core/occupancy.h"
#include "file.h"
#include "launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Loads one kernel on a device, unless its image has it for other architectures alone. */
TVMFFI_CUBIN_RARE int PreloadKernel(const Driver* driver, EmbeddedKernel* kernel, int device) {
  const LaunchSite site{"preload", 0, 1, false};
  GateUse use(&kernel->image->gate);
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  status = LoadKernel(driver, kernel);
  if (status.ok()) status = LoadHere(kernel->handle);
  if (!status.ok() && LacksKernel(*kernel, status.result)) status = {};
  return status.ok() ? 0 : FailLaunch(site, *kernel, device, nullptr, status);
}

/*! \brief Loads all kernels on the device that the one argument names; None: the current one. */
TVMFFI_CUBIN_RARE int Preload(const ModulePlan& module, const TVMFFIAny* args, int num_args) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return Fail("LaunchError", "preload: %s", DriverProblem());
  if (num_args != 1) {
    return Fail("TypeError", "preload: got %d arguments, wanted 1: the device", num_args);
  }
  int64_t device = 0;
  bool is_given = false;
  if (ReadOption("preload", "device", args[0], &device, &is_given) != 0) return -1;
  if (!is_given) device = CurrentDevice(driver);
  if (device < 0 || device > INT32_MAX) {
    return Fail("ValueError", "preload: device is %lld, which is no device's number",
                static_cast<long long>(device));
  }
  for (int i = 0; i < module.num_kernels; ++i) {
    if (PreloadKernel(driver, &module.kernels[i], static_cast<int>(device)) != 0) return -1;
  }
  return 0;
}

/*!
 * \brief Closes all gates and waits for the launches that are under way; false, and all is open,
 * where one of them has an image made: who makes it may run for minutes, launch other kernels of
 * the module, or be who unloads.
 */
TVMFFI_CUBIN_RARE bool CloseAll(const ModulePlan& module) {
  // All of them: a launch of any image may have any context current.
  for (int i = 0; i < module.num_images; ++i) CloseGate(&module.images[i]->gate);
  for (int i = 0; i < module.num_images; ++i) {
    while (__atomic_load_n(&module.images[i]->gate.users, __ATOMIC_SEQ_CST) != 0) {
      if (__atomic_load_n(&makers_under_way, __ATOMIC_SEQ_CST) != 0) {
        for (int k = 0; k < module.num_images; ++k) OpenGate(&module.images[k]->gate);
        return false;
      }
      usleep(20);
    }
  }
  return true;
}

/*!
 * \brief Unloads images and releases contexts once no launch is under way, all of it, whatever is
 * refused; a later call loads and retains them again.
 */
TVMFFI_CUBIN_RARE int Unload(const ModulePlan& module) {
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  // In a fork the launches that other threads had begun never end, and the driver takes no calls.
  if (driver == nullptr || InForkedChild()) return 0;
  if (!CloseAll(module)) {
    return Fail("LaunchError",
                "unload: nothing is unloaded, since an image is just being made for a launch: "
                "unload after that, and not in what makes it");
  }
  for (int i = 0; i < module.num_kernels; ++i) {
    EmbeddedKernel* const kernel = &module.kernels[i];
    __atomic_store_n(&kernel->handle, nullptr, __ATOMIC_SEQ_CST);
    kernel->smem.Reset();
    kernel->clusters.Reset();
    if (kernel->declared != nullptr) __atomic_store_n(&kernel->max_threads, 0u, __ATOMIC_RELAXED);
  }
  Status first;
  Text about;
  for (int i = 0; i < module.num_images; ++i) {
    const Status status = module.images[i]->library.Unload();
    if (status.ok() || !first.ok()) continue;
    first = status;
    about.Print("the image %s", module.images[i]->name);
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    const Status status = ReleasePrimaryContext(driver, i);
    if (status.ok() || !first.ok()) continue;
    first = status;
    about.Print("the context of device %d", i);
  }
  for (int i = 0; i < module.num_images; ++i) OpenGate(&module.images[i]->gate);
  if (first.ok()) return 0;
  Text text;
  DescribeStatus(first, text.chars, sizeof(text.chars));
  return Fail(
      "LaunchError",
      "unload: %s (%s). The rest is unloaded, and another unload() tries again what is left",
      text.chars, about.chars);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_H_
