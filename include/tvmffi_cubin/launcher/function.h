/*!
 * \file tvmffi_cubin/launcher/function.h
 * \brief One call of an exported function: check and convert, evaluate, launch, in that order.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_FUNCTION_H_
#define TVMFFI_CUBIN_LAUNCHER_FUNCTION_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "bound.h"
#include "prepare.h"
#include "raw.h"
#include "run.h"
#include "scratch.h"
#include "target.h"
#include "tensor_maps.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Launches everything that was prepared. */
__attribute__((always_inline)) inline int RunAll(const FunctionPlan& function,
                                                 const ScratchSource& source,
                                                 const CUlaunchConfig* configs,
                                                 Evaluation* evaluation, void** params) {
  if (__builtin_expect(function.num_scratch != 0, 0)) {
    return RunWithScratch(function, source, configs, evaluation, params);
  }
  for (int i = 0; i < function.num_launches; ++i) {
    const LaunchPlan& launch = function.launches[i];
    const LaunchSite site{function, i, true};
    if (RunLaunch(site, source.driver, launch, source.device, configs[i], params) != 0) return -1;
    params += launch.num_sources;
  }
  return 0;
}

/*! \brief The same with what is bound, which stays as it is until all is launched. */
__attribute__((noinline)) inline int RunBound(const FunctionPlan& function,
                                              const ScratchSource& source,
                                              const CUlaunchConfig* configs, Evaluation* evaluation,
                                              void** params) {
  const GateUse use(&function.bound->gate);
  if (FillBound(function, source.device, params) != 0) return -1;
  return RunAll(function, source, configs, evaluation, params);
}

/*! \brief The number of multiprocessors of a device. */
inline Status CountSms(const Driver* driver, int device, int64_t* count) {
  CUdevice handle = 0;
  int value = 0;
  CUresult result = driver->cuDeviceGet(&handle, device);
  if (result != CUDA_SUCCESS) return {result, "cuDeviceGet"};
  result = driver->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle);
  *count = value;
  return {result, "cuDeviceGetAttribute"};
}

/*! \brief Room for what the launches of one call consist of, on the call's own stack. */
struct CallFrame {
  CUlaunchConfig* configs;
  Argument* computed;
  void** params;
  LaunchAttribute* attributes;  // null where no launch can have any
};

/*! \brief Evaluates every launch of a call into its frame. */
__attribute__((always_inline)) inline int PrepareAll(const FunctionPlan& function,
                                                     const Driver* driver,
                                                     const CallOptions& options, CUstream stream,
                                                     CallFrame frame, Evaluation* evaluation) {
  for (int i = 0; i < function.num_launches; ++i) {
    const LaunchPlan& launch = function.launches[i];
    const LaunchSite site{function, i, false};
    if (launch.reads_num_sms) {
      const Status status = CountSms(driver, evaluation->device, &evaluation->num_sms);
      if (!status.ok()) {
        return FailLaunch(site, *launch.kernel, evaluation->device, nullptr, status);
      }
    }
    memset(&frame.configs[i], 0, sizeof(frame.configs[i]));
    frame.configs[i].hStream = stream;
    evaluation->computed = frame.computed;
    evaluation->kernel = launch.kernel;
    evaluation->num_attributes = 0;
    if (__builtin_expect(frame.attributes != nullptr, 0)) {
      evaluation->attributes = frame.attributes;
      TakeGiven(options, evaluation);
      frame.attributes += launch.num_attributes + options.num_attributes;
    }
    if (PrepareLaunch(site, options, evaluation, frame.params, &frame.configs[i]) != 0) return -1;
    frame.computed += launch.num_computed;
    frame.params += launch.num_sources;
  }
  return 0;
}

/*! \brief Whether the device can do what the launches after the first ask for. */
__attribute__((noinline)) inline int CheckAllAhead(const FunctionPlan& function,
                                                   const Driver* driver, int device,
                                                   const CUlaunchConfig* configs) {
  for (int i = 1; i < function.num_launches; ++i) {
    if (IsEmpty(configs[i])) continue;
    EmbeddedKernel* kernel = function.launches[i].kernel;
    if (CheckAhead({function, i, false}, driver, kernel, device, configs[i]) != 0) return -1;
  }
  return 0;
}

/*! \brief Evaluates every launch, then launches in order: bad arguments leave nothing half done. */
inline int LaunchAll(const FunctionPlan& function, const CallOptions& options,
                     const Argument* arguments, int device) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) {
    return Fail("LaunchError", "%s: %s", function.name, DriverProblem());
  }
  Evaluation evaluation;
  evaluation.arguments = arguments;
  bool has_stream = options.has_stream;
  CUstream stream = options.stream;
  if (__builtin_expect(function.target != nullptr, 0)) {
    // In here alone, so that all else has the three in registers.
    Target target = {device, has_stream, stream};
    if (FindTarget(function, driver, &evaluation, &target) != 0) return -1;
    device = target.device;
    has_stream = target.has_stream;
    stream = target.stream;
  }
  if (device < 0) device = CurrentDevice(driver);
  evaluation.device = device;
  const int count = function.num_launches;
  const int most = function.num_attributes + count * options.num_attributes;
  const CallFrame frame = {
      static_cast<CUlaunchConfig*>(__builtin_alloca(sizeof(CUlaunchConfig) * count)),
      static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * function.num_slots)),
      static_cast<void**>(__builtin_alloca(sizeof(void*) * function.num_slots)),
      most == 0 ? nullptr
                : static_cast<LaunchAttribute*>(
                      __builtin_alloca_with_align(sizeof(LaunchAttribute) * most, 64))};
  if (!has_stream) {
    stream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device));
  } else if (CheckStream(function, driver, device, stream) != 0) {
    return -1;
  }
  if (PrepareAll(function, driver, options, stream, frame, &evaluation) != 0) return -1;
  if (count > 1 && CheckAllAhead(function, driver, device, frame.configs) != 0) return -1;
  if (__builtin_expect(function.num_maps != 0, 0)) {
    auto* maps = static_cast<CUtensorMap*>(
        __builtin_alloca_with_align(sizeof(CUtensorMap) * function.num_maps, 512));
    if (EncodeMaps(function, driver, frame.configs, &evaluation, frame.params, maps) != 0) {
      return -1;
    }
  }
  const ScratchSource source = {driver, device, stream, has_stream};
  if (__builtin_expect(function.bound != nullptr, 0)) {
    return RunBound(function, source, frame.configs, &evaluation, frame.params);
  }
  return RunAll(function, source, frame.configs, &evaluation, frame.params);
}

/*! \brief The whole of a call. */
inline int CallChecked(const FunctionPlan& function, const CallOptions& options,
                       const TVMFFIAny* args, int num_args) {
  if (__builtin_expect(num_args != function.num_params, 0)) {
    Text list;
    for (int i = 0, used = 0; i < function.num_params && used < 280; ++i) {
      used += snprintf(list.chars + used, sizeof(list.chars) - used, "%s%s %s", i ? ", " : "",
                       function.params[i].type, function.params[i].name);
    }
    return Fail("TypeError", "%s: got %d arguments, wanted %d: (%s)", function.name, num_args,
                function.num_params, list.chars);
  }
  auto* arguments =
      static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * (function.num_params + 1)));
  TensorDevice device;
  for (int i = 0; i < num_args; ++i) {
    const Param& param = function.params[i];
    const Problem problem = Convert(param, args[i], &arguments[i]);
    if (__builtin_expect(problem != Problem::kNone, 0)) {
      return FailArgument(function.name, param, i + 1, args[i], problem);
    }
    const DLTensor* tensor = arguments[i].tensor;
    if (tensor != nullptr && CheckDevice(function.name, param, i + 1, *tensor, &device) != 0) {
      return -1;
    }
  }
  return LaunchAll(function, options, arguments, device.device);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_FUNCTION_H_
