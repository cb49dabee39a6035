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
  CUkernel handle = nullptr;
  status = LoadKernel(driver, kernel, &handle);
  if (status.ok()) status = LoadHere(handle);
  if (!status.ok() && LacksKernel(*kernel, status.result)) status = {};
  const Status left = scope.Leave();
  if (status.ok()) status = left;
  return status.ok() ? 0 : FailLaunch(site, *kernel, device, nullptr, status);
}

/*! \brief Reads which device is meant: an int, or None for the current one. */
TVMFFI_CUBIN_RARE int ReadDevice(const Driver* driver, const TVMFFIAny* args, int num_args,
                                 int* device) {
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

/*! \brief Loads all kernels on the device that the one argument names; None: the current one. */
TVMFFI_CUBIN_RARE int Preload(const ModulePlan& module, const TVMFFIAny* args, int num_args) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return Fail("LaunchError", "preload: %s", DriverProblem());
  int device = 0;
  if (ReadDevice(driver, args, num_args, &device) != 0) return -1;
  for (int i = 0; i < module.num_kernels; ++i) {
    if (PreloadKernel(driver, &module.kernels[i], device) != 0) return -1;
  }
  return 0;
}

/*! \brief What the driver has refused: how often, and the first refusal with what it was about. */
struct Refusals {
  int count = 0;
  Status first;
  Text about;

  __attribute__((format(printf, 3, 4))) void Note(const Status& status, const char* format, ...) {
    if (status.ok() || count++ > 0) return;
    first = status;
    va_list values;
    va_start(values, format);
    vsnprintf(about.chars, sizeof(about.chars), format, values);
    va_end(values);
  }
};

/*! \brief Whether anything is loaded or retained. */
TVMFFI_CUBIN_RARE bool HoldsAnything(const ModulePlan& module) {
  for (int i = 0; i < module.num_images; ++i) {
    if (module.images[i]->library.handle != nullptr) return true;
  }
  for (CUcontext context : primary_contexts) {
    if (context != nullptr) return true;
  }
  return false;
}

/*! \brief Forgets kernels that are about to be unloaded. */
TVMFFI_CUBIN_RARE void ForgetKernels(const ModulePlan& module) {
  for (int i = 0; i < module.num_kernels; ++i) {
    __atomic_store_n(&module.kernels[i].handle, nullptr, __ATOMIC_SEQ_CST);
    module.kernels[i].smem.Reset();
    module.kernels[i].clusters.Reset();
    if (module.kernels[i].declared != nullptr) {
      __atomic_store_n(&module.kernels[i].max_threads, 0u, __ATOMIC_RELAXED);
    }
  }
}

/*! \brief The image of which the file is just being made; null where there is none. */
TVMFFI_CUBIN_RARE const EmbeddedImage* FindMade(const ModulePlan& module) {
  for (int i = 0; i < module.num_images; ++i) {
    const ImageFile* file = module.images[i]->file;
    if (file != nullptr && __atomic_load_n(&file->makers, __ATOMIC_SEQ_CST) != 0)
      return module.images[i];
  }
  return nullptr;
}

/*!
 * \brief Waits for the launches that are under way, or returns the image that one of them has made:
 * who makes it may run for minutes, launch other kernels of the module, or be who unloads.
 */
TVMFFI_CUBIN_RARE const EmbeddedImage* WaitForLaunches(const ModulePlan& module) {
  for (int i = 0; i < module.num_images; ++i) {
    while (__atomic_load_n(&module.images[i]->gate.users, __ATOMIC_SEQ_CST) != 0) {
      if (const EmbeddedImage* made = FindMade(module)) return made;
      usleep(20);
    }
  }
  return nullptr;
}

/*!
 * \brief Unloads all images and releases all contexts, once no launch is under way; or nothing, and
 * tells which image is being made.
 */
TVMFFI_CUBIN_RARE Refusals UnloadAll(const Driver* driver, const ModulePlan& module,
                                     const EmbeddedImage** made) {
  Refusals refusals;
  // All are closed before anything goes: a launch of any image may have any context current.
  for (int i = 0; i < module.num_images; ++i) CloseGate(&module.images[i]->gate);
  *made = WaitForLaunches(module);
  if (*made != nullptr) {
    for (int i = 0; i < module.num_images; ++i) OpenGate(&module.images[i]->gate);
    return refusals;
  }
  ForgetKernels(module);
  for (int i = 0; i < module.num_images; ++i) {
    refusals.Note(module.images[i]->library.Unload(), "the image %s", module.images[i]->name);
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    refusals.Note(ReleasePrimaryContext(driver, i), "the context of device %d", i);
  }
  for (int i = 0; i < module.num_images; ++i) OpenGate(&module.images[i]->gate);
  return refusals;
}

/*! \brief Raises what was refused. */
TVMFFI_CUBIN_RARE int FailUnload(const Refusals& refusals) {
  Text text, more;
  DescribeStatus(refusals.first, text.chars, sizeof(text.chars));
  if (refusals.count > 1) {
    snprintf(more.chars, sizeof(more.chars), ", the first of %d refusals", refusals.count);
  }
  return Fail("LaunchError",
              "unload: %s (%s%s). The rest is unloaded, and another unload() tries again what is "
              "left",
              text.chars, refusals.about.chars, more.chars);
}

/*!
 * \brief Unloads images and releases contexts once no launch is under way; a later call loads and
 * retains them again.
 */
TVMFFI_CUBIN_RARE int Unload(const ModulePlan& module) {
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  if (driver == nullptr) return 0;
  Refusals refusals;
  const EmbeddedImage* made = nullptr;
  if (!InForkedChild()) {
    refusals = UnloadAll(driver, module, &made);
  } else if (HoldsAnything(module)) {
    // The launches that other threads had begun never end here, and the driver refuses all calls.
    refusals.Note({CUDA_ERROR_NOT_INITIALIZED, "cuLibraryUnload"}, "all images");
  }
  if (made != nullptr) {
    return Fail("LaunchError",
                "unload: nothing is unloaded, since the image %s is just being made for a launch: "
                "unload after that, and not in what makes it",
                made->name);
  }
  return refusals.count == 0 ? 0 : FailUnload(refusals);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_H_
