/*!
 * \file tvmffi_cubin/launcher/function.h
 * \brief One call of an exported function: check and convert, evaluate, launch, in that order.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_FUNCTION_H_
#define TVMFFI_CUBIN_LAUNCHER_FUNCTION_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "attributes.h"
#include "kernel.h"
#include "options.h"
#include "stream.h"
#include "tensor.h"
#include "tensor_maps.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief One grid, block or shared memory figure as the driver takes it. */
inline int CheckFigure(const FunctionPlan& function, const char* what, int64_t value, int64_t least,
                       uint32_t* out) {
  if (__builtin_expect(value < least, 0)) {
    return Fail("ValueError", "%s: %s is %lld, wanted %lld or more", function.name, what,
                static_cast<long long>(value), static_cast<long long>(least));
  }
  if (__builtin_expect(value > UINT32_MAX, 0)) {
    return Fail("LaunchLimitError", "%s: %s is %lld, the driver takes at most %u", function.name,
                what, static_cast<long long>(value), UINT32_MAX);
  }
  *out = static_cast<uint32_t>(value);
  return 0;
}

/*! \brief Checks an evaluated shape; leaves 0 in a grid dimension where nothing is to be done. */
inline int FillConfig(const FunctionPlan& function, const Evaluation& shape,
                      CUlaunchConfig* config) {
  if (CheckFigure(function, "grid.x", shape.grid[0], 0, &config->gridDimX) != 0 ||
      CheckFigure(function, "grid.y", shape.grid[1], 0, &config->gridDimY) != 0 ||
      CheckFigure(function, "grid.z", shape.grid[2], 0, &config->gridDimZ) != 0) {
    return -1;
  }
  // An empty tensor often makes grid and block zero alike; then there is nothing to launch.
  const int64_t least = IsEmpty(*config) ? 0 : 1;
  if (CheckFigure(function, "block.x", shape.block[0], least, &config->blockDimX) != 0 ||
      CheckFigure(function, "block.y", shape.block[1], least, &config->blockDimY) != 0 ||
      CheckFigure(function, "block.z", shape.block[2], least, &config->blockDimZ) != 0 ||
      CheckFigure(function, "dynamic_smem_bytes", shape.dynamic_smem_bytes, 0,
                  &config->sharedMemBytes) != 0) {
    return -1;
  }
  return 0;
}

/*! \brief Raises what went wrong with an expression, or that a condition does not hold. */
__attribute__((noinline, cold)) inline int FailEvaluation(const FunctionPlan& function,
                                                          const Evaluation& evaluation) {
  if (evaluation.failure == kOutOfRange) {
    const char axis[] = {'.', evaluation.axis, '\0'};
    return Fail("ValueError", "%s: %s%s is %lld, wanted %lld to %lld", function.name,
                evaluation.where, evaluation.axis != '\0' ? axis : "",
                static_cast<long long>(evaluation.value), static_cast<long long>(evaluation.least),
                static_cast<long long>(evaluation.most));
  }
  if (evaluation.failure == kDriverFailed) {
    const Status status = {static_cast<CUresult>(evaluation.driver_result), evaluation.driver_call};
    return FailLaunch({function, 0, false}, *evaluation.kernel, evaluation.device, nullptr, status);
  }
  const bool is_condition = evaluation.failure == kDoesNotHold;
  return Fail("ValueError", "%s: the %s '%s' %s", function.name,
              is_condition ? "condition" : "expression", evaluation.where, evaluation.failure);
}

/*! \brief Evaluates one launch into its configuration and its kernel parameters. */
inline int PrepareLaunch(const FunctionPlan& function, const LaunchPlan& launch,
                         const CallOptions& options, Evaluation* evaluation, void** params,
                         CUlaunchConfig* config) {
  if (!launch.shaped && !options.has_shape) {
    return Fail("TypeError",
                "%s: the launch has no shape: call %s[grid, block](...), or give the "
                "function a Launch(grid=..., block=...)",
                function.name, function.name);
  }
  for (int i = 0; i < 3; ++i) {
    evaluation->grid[i] = options.grid[i];
    evaluation->block[i] = options.block[i];
  }
  evaluation->dynamic_smem_bytes = options.dynamic_smem_bytes;
  if (launch.evaluate != nullptr) {
    launch.evaluate(evaluation, !options.has_shape, !options.has_smem);
  }
  if (__builtin_expect(evaluation->failure != nullptr, 0)) {
    return FailEvaluation(function, *evaluation);
  }
  if (FillConfig(function, *evaluation, config) != 0) return -1;
  if (__builtin_expect(evaluation->num_attributes != 0 || launch.kernel->cluster[0] != 0, 0)) {
    config->attrs = reinterpret_cast<CUlaunchAttribute*>(evaluation->attributes);
    config->numAttrs = static_cast<unsigned>(evaluation->num_attributes);
    if (!IsEmpty(*config) && CheckClusters(function.name, *launch.kernel, *config) != 0) return -1;
  }
  for (int i = 0; i < launch.num_sources; ++i) {
    const Source& source = launch.sources[i];
    params[i] = source.from == Source::kArgument   ? evaluation->arguments[source.index].address
                : source.from == Source::kComputed ? evaluation->computed[source.index].address
                                                   : const_cast<void*>(source.constant);
  }
  return 0;
}

/*! \brief Launches what PrepareLaunch prepared; a grid with a zero in it does nothing. */
inline int RunLaunch(const LaunchSite& site, const Driver* driver, const LaunchPlan& launch,
                     int device, const CUlaunchConfig& config, void** params) {
  if (IsEmpty(config)) return 0;
  // Before the scope: what is unloaded releases the contexts, too.
  ImageUse use(launch.kernel->image);
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *launch.kernel, device, nullptr, status);
  if (LaunchKernel(site, driver, launch.kernel, device, config, params) != 0) return -1;
  status = scope.Leave();
  if (__builtin_expect(status.ok(), 1)) return 0;
  return FailLaunch(site, *launch.kernel, device, nullptr, status);
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

/*! \brief Evaluates every launch, then launches in order: bad arguments leave nothing half done. */
inline int LaunchAll(const FunctionPlan& function, const CallOptions& options,
                     const Argument* arguments, int device) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) {
    return Fail("LaunchError", "%s: %s", function.name, DriverProblem());
  }
  if (device < 0) device = CurrentDevice(driver);
  Evaluation evaluation{};
  evaluation.arguments = arguments;
  evaluation.device = device;
  auto* configs = static_cast<CUlaunchConfig*>(
      __builtin_alloca(sizeof(CUlaunchConfig) * function.num_launches));
  auto* computed = static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * function.num_slots));
  auto* params = static_cast<void**>(__builtin_alloca(sizeof(void*) * function.num_slots));
  const CUstream stream = options.has_stream
                              ? options.stream
                              : static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device));
  if (options.has_stream && CheckStream(function, driver, device, stream) != 0) return -1;
  void** filled = params;
  for (int i = 0; i < function.num_launches; ++i) {
    const LaunchPlan& launch = function.launches[i];
    if (launch.reads_num_sms) {
      const Status status = CountSms(driver, device, &evaluation.num_sms);
      if (!status.ok()) {
        return FailLaunch({function, i, false}, *launch.kernel, device, nullptr, status);
      }
    }
    memset(&configs[i], 0, sizeof(configs[i]));
    configs[i].hStream = stream;
    evaluation.computed = computed;
    evaluation.kernel = launch.kernel;
    evaluation.num_attributes = 0;
    const int32_t most = launch.num_attributes + options.num_attributes;
    if (__builtin_expect(most != 0, 0)) {
      evaluation.attributes = static_cast<LaunchAttribute*>(
          __builtin_alloca_with_align(sizeof(LaunchAttribute) * most, 64));
      TakeGiven(options, &evaluation);
    }
    if (PrepareLaunch(function, launch, options, &evaluation, filled, &configs[i]) != 0) return -1;
    computed += launch.num_computed;
    filled += launch.num_sources;
  }
  for (int i = 1; i < function.num_launches; ++i) {
    EmbeddedKernel* kernel = function.launches[i].kernel;
    const bool is_empty = IsEmpty(configs[i]);
    if (!is_empty && CheckAhead({function, i, false}, driver, kernel, device, configs[i]) != 0) {
      return -1;
    }
  }
  if (__builtin_expect(function.num_maps != 0, 0)) {
    auto* maps = static_cast<CUtensorMap*>(
        __builtin_alloca_with_align(sizeof(CUtensorMap) * function.num_maps, 512));
    if (EncodeMaps(function, driver, configs, &evaluation, params, maps) != 0) {
      return evaluation.failure != nullptr ? FailEvaluation(function, evaluation) : -1;
    }
  }
  for (int i = 0; i < function.num_launches; ++i) {
    const LaunchPlan& launch = function.launches[i];
    const LaunchSite site{function, i, true};
    if (RunLaunch(site, driver, launch, device, configs[i], params) != 0) return -1;
    params += launch.num_sources;
  }
  return 0;
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
