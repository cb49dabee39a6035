/*!
 * \file tvmffi_cubin/launcher/call.h
 * \brief One call of an exported function: convert and check, evaluate, launch, in that order.
 *
 * Bad arguments leave nothing half done: everything is evaluated before the first launch.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_CALL_H_
#define TVMFFI_CUBIN_LAUNCHER_CALL_H_

#include <tvm/ffi/extra/c_env_api.h>

#include "bound.h"
#include "maps.h"
#include "occupancy.h"
#include "scratch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Launches in order, with tensor maps and scratch memory. */
__attribute__((noinline)) inline int LaunchWithMemory(const CallFrame& frame,
                                                      Evaluation* evaluation) {
  auto* maps = static_cast<CUtensorMap*>(
      __builtin_alloca_with_align(sizeof(CUtensorMap) * (frame.instance.num_maps + 1), 512));
  ScratchBlocks scratch{frame.stream, static_cast<ScratchBlock*>(__builtin_alloca(
                                          sizeof(ScratchBlock) * frame.instance.num_scratch))};
  if (EncodeMaps(frame, evaluation, maps) != 0) return -1;
  if (AllocateAll(frame, evaluation, &scratch) != 0) return -1;
  return LaunchInOrder(frame);
}

/*! \brief Checks all that was evaluated against the device's limits, then launches it. */
__attribute__((always_inline)) inline int RunAll(const CallFrame& frame, Evaluation* evaluation) {
  const Instance& instance = frame.instance;
  int first = 0;
  while (first < instance.num_launches && frame.launches[first].is_empty) ++first;
  if (first == instance.num_launches) return 0;
  // One image in use keeps all of the module's loaded, and the contexts retained. Before the scope:
  // what is unloaded releases contexts, too.
  EmbeddedKernel* const kernel = instance.launches[first].kernel;
  GateUse use(&kernel->image->gate);
  DeviceScope scope;
  const Status status = scope.Enter(frame.driver, frame.device);
  if (!status.ok()) return FailLaunch(frame.Site(first), *kernel, frame.device, nullptr, status);
  for (int i = first; i < instance.num_launches; ++i) {
    if (!frame.launches[i].is_empty && ReadyKernel(frame, i) != 0) return -1;
  }
  const bool has_memory = (instance.num_maps | instance.num_scratch) != 0;
  return __builtin_expect(has_memory, 0) ? LaunchWithMemory(frame, evaluation)
                                         : LaunchInOrder(frame);
}

/*! \brief The same with what is bound, which stays as it is until all is launched. */
__attribute__((noinline)) inline int RunBound(const CallFrame& frame, Evaluation* evaluation) {
  const GateUse use(&frame.instance.bound->gate);
  return FillBound(frame) == 0 ? RunAll(frame, evaluation) : -1;
}

/*! \brief Raises that a function's device is not that of its tensors, or none at all. */
TVMFFI_CUBIN_RARE int FailDevice(const FunctionPlan& function, const Instance& instance,
                                 const Driver* driver, const Argument* arguments, int64_t wanted,
                                 int tensors) {
  const auto number = static_cast<long long>(wanted);
  for (int i = 0; i < instance.num_params && tensors >= 0; ++i) {
    const DLTensor* tensor = arguments[i].tensor;
    if (tensor == nullptr || tensor->device.device_type != kDLCUDA) continue;
    return Fail("ValueError",
                "%s: the launch's device is %lld, %s is on cuda:%d: give the ordinal of its "
                "tensors' device",
                function.name, number, instance.params[i].name, tensors);
  }
  int count = 0;
  driver->cuDeviceGetCount(&count);
  return Fail("ValueError", "%s: the launch's device is %lld, wanted 0 to %d: there %s %d",
              function.name, number, count - 1, count == 1 ? "is" : "are", count);
}

/*! \brief Finds out which device a function says; `evaluation` has that of the tensors, or -1. */
__attribute__((noinline)) inline int FindDevice(const FunctionPlan& function,
                                                const Instance& instance, const Driver* driver,
                                                Evaluation* evaluation) {
  const int64_t wanted = evaluation->Value(instance.target->device);
  if (evaluation->failure != nullptr) {
    return FailEvaluation({function.name, 0, 1, false}, *evaluation);
  }
  const int tensors = evaluation->device;
  if (wanted == tensors && wanted >= 0) return 0;
  CUdevice handle = 0;
  const bool is_free = tensors < 0 && wanted >= 0 && wanted < kMaxDevices;
  const CUresult result =
      is_free ? driver->cuDeviceGet(&handle, static_cast<int>(wanted)) : CUDA_ERROR_INVALID_DEVICE;
  if (result == CUDA_ERROR_INVALID_DEVICE) {
    return FailDevice(function, instance, driver, evaluation->arguments, wanted, tensors);
  }
  // What else the driver may answer, it answers the launch.
  evaluation->device = static_cast<int>(wanted);
  return 0;
}

/*! \brief Finds out which stream a function says. */
__attribute__((noinline)) inline int FindStream(const FunctionPlan& function,
                                                const Instance& instance, Evaluation* evaluation,
                                                CUstream* stream) {
  const TargetPlan& plan = *instance.target;
  if (plan.pointer >= 0 && evaluation->arguments[plan.pointer].tensor != nullptr) {
    const Param& param = instance.params[plan.pointer];
    return Fail("TypeError",
                "%s: argument %d (%s: %s): got a tensor, wanted a stream: an object with "
                "__cuda_stream__, its handle as ctypes.c_void_p, or None, the default stream",
                function.name, plan.pointer + 1, param.name, param.type);
  }
  const int64_t handle = evaluation->Value(plan.stream);
  if (evaluation->failure != nullptr) {
    return FailEvaluation({function.name, 0, 1, false}, *evaluation);
  }
  *stream = reinterpret_cast<CUstream>(handle);
  return 0;
}

/*!
 * \brief Refuses what is no stream, and a stream that a caller gave and that is another device's:
 * the driver would launch there, away from the tensors.
 */
__attribute__((noinline)) inline int CheckStream(const FunctionPlan& function, const Driver* driver,
                                                 int device, CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return 0;
  // The driver reads at any address that it is given, and nothing lies in the first page.
  if (reinterpret_cast<intptr_t>(stream) < 4096) {
    return Fail("ValueError",
                "%s: the launch's stream is %lld, which is no handle: an address, or 0, 1 or 2",
                function.name, static_cast<long long>(reinterpret_cast<intptr_t>(stream)));
  }
  CUcontext context = nullptr;
  CUdevice home = -1;
  // A stream that is being captured, or of a driver that does not say, is left to the launch.
  if (driver->cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return 0;
  if (driver->cuCtxPushCurrent(context) != CUDA_SUCCESS) return 0;
  const CUresult result = driver->cuCtxGetDevice(&home);
  driver->cuCtxPopCurrent(&context);
  if (result != CUDA_SUCCESS || home == device) return 0;
  return Fail("ValueError",
              "%s: the stream is of cuda:%d, the launch is on cuda:%d, its tensors' "
              "device, or the one that it names: give a stream of that device",
              function.name, static_cast<int>(home), device);
}

/*! \brief Evaluates every launch of an instance, then launches in order. */
__attribute__((always_inline)) inline int LaunchAll(const FunctionPlan& function,
                                                    const Instance& instance,
                                                    const CallOptions& options,
                                                    const Driver* driver, Evaluation* evaluation) {
  bool has_stream = options.has_stream;
  CUstream stream = options.config.hStream;
  if (__builtin_expect(instance.target != nullptr, 0)) {
    const TargetPlan& target = *instance.target;
    if (target.has_device && FindDevice(function, instance, driver, evaluation) != 0) return -1;
    if (target.has_stream && !has_stream) {
      // By way of its own, so that the stream can stay in a register.
      CUstream named = nullptr;
      if (FindStream(function, instance, evaluation, &named) != 0) return -1;
      stream = named;
      has_stream = true;
    }
  }
  if (evaluation->device < 0) evaluation->device = CurrentDevice(driver);
  const int device = evaluation->device;
  if (!has_stream) {
    stream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device));
  } else if (CheckStream(function, driver, device, stream) != 0) {
    return -1;
  }
  const int count = instance.num_launches;
  const auto slots = static_cast<size_t>(instance.num_slots);
  const size_t most = static_cast<size_t>(instance.num_attributes) +
                      static_cast<size_t>(count) * options.config.numAttrs;
  const CallFrame frame = {function,
                           instance,
                           driver,
                           device,
                           stream,
                           has_stream,
                           static_cast<PreparedLaunch*>(__builtin_alloca(
                               sizeof(PreparedLaunch) * static_cast<size_t>(count)))};
  auto** params = static_cast<void**>(__builtin_alloca(sizeof(void*) * slots));
  evaluation->computed = static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * slots));
  if (__builtin_expect(most != 0, 0)) {
    evaluation->attributes =
        static_cast<CUlaunchAttribute*>(__builtin_alloca(sizeof(CUlaunchAttribute) * most));
  }
  for (int i = 0; i < count; ++i) {
    const LaunchPlan& plan = instance.launches[i];
    frame.launches[i].plan = &plan;
    frame.launches[i].params = params;
    const int first = function.num_instances == 1 ? 0 : plan.num_conditions;
    if (PrepareLaunch(frame, i, options, first, evaluation) != 0) return -1;
    params += plan.num_sources;
    evaluation->computed += plan.num_computed;
    evaluation->attributes += evaluation->num_attributes;
  }
  return __builtin_expect(instance.bound != nullptr, 0) ? RunBound(frame, evaluation)
                                                        : RunAll(frame, evaluation);
}

/*! \brief What a call returns that an instance of several does not fit. */
constexpr int kDoesNotFit = 1;

/*! \brief Raises that a call has more or fewer arguments than its function takes. */
TVMFFI_CUBIN_RARE int FailCount(const FunctionPlan& function, const Instance& instance,
                                int num_args) {
  Text list;
  for (int i = 0, used = 0; i < instance.num_params && used < 280; ++i) {
    used += snprintf(list.chars + used, sizeof(list.chars) - used, "%s%s %s", i ? ", " : "",
                     instance.params[i].type, instance.params[i].name);
  }
  return Fail("TypeError", "%s: got %d arguments, wanted %d: (%s)", function.name, num_args,
              instance.num_params, list.chars);
}

/*!
 * \brief Converts the arguments of a call and checks where its tensors live: 0, -1 with an error
 * raised, or of one of several instances that it does not fit, which raises nothing.
 */
__attribute__((always_inline)) inline int TakeArguments(const FunctionPlan& function,
                                                        const Instance& instance,
                                                        const TVMFFIAny* args, int num_args,
                                                        Argument* arguments, int* device) {
  const bool is_only = function.num_instances == 1;
  if (__builtin_expect(num_args != instance.num_params, 0)) {
    return is_only ? FailCount(function, instance, num_args) : kDoesNotFit;
  }
  TensorDevice common;
  for (int i = 0; i < num_args; ++i) {
    const Param& param = instance.params[i];
    const Problem problem = Convert(param, args[i], &arguments[i]);
    if (__builtin_expect(problem != Problem::kNone, 0)) {
      return is_only ? FailArgument(function.name, param, i + 1, args[i], problem) : kDoesNotFit;
    }
    // Tensors of two devices are wrong whichever instance is taken.
    const DLTensor* tensor = arguments[i].tensor;
    if (tensor != nullptr && CheckDevice(function.name, param, i + 1, *tensor, &common) != 0) {
      return -1;
    }
  }
  *device = common.device;
  return 0;
}

/*! \brief Evaluates an instance's conditions; `evaluation` says whether one does not hold. */
inline int EvaluateConditions(const FunctionPlan& function, const Instance& instance,
                              const Driver* driver, Evaluation* evaluation) {
  const bool has_device = instance.target != nullptr && instance.target->has_device;
  if (has_device && FindDevice(function, instance, driver, evaluation) != 0) return -1;
  for (int i = 0; i < instance.num_launches; ++i) {
    const LaunchPlan& launch = instance.launches[i];
    evaluation->kernel = launch.kernel;
    if (evaluation->Do(launch.steps, launch.num_conditions, 0)) continue;
    const bool is_drivers = evaluation->failure == kDriverFailed;
    return is_drivers
               ? FailEvaluation({function.name, i, instance.num_launches, false}, *evaluation)
               : 0;
  }
  return 0;
}

/*! \brief A call of an instance: as LaunchAll, or kDoesNotFit. */
__attribute__((always_inline)) inline int CallInstance(const FunctionPlan& function,
                                                       const Instance& instance,
                                                       const CallOptions& options,
                                                       const TVMFFIAny* args, int num_args,
                                                       Argument* arguments) {
  Evaluation evaluation;
  evaluation.arguments = arguments;
  const int code = TakeArguments(function, instance, args, num_args, arguments, &evaluation.device);
  if (__builtin_expect(code != 0, 0)) return code;
  const Driver* driver = OpenDriver();
  if (__builtin_expect(driver == nullptr, 0)) {
    return Fail("LaunchError", "%s: %s", function.name, DriverProblem());
  }
  if (__builtin_expect(function.num_instances != 1, 0)) {
    if (EvaluateConditions(function, instance, driver, &evaluation) != 0) return -1;
    if (evaluation.failure != nullptr) return kDoesNotFit;
  }
  return LaunchAll(function, instance, options, driver, &evaluation);
}

/*! \brief Says why an instance does not fit; returns which kind of error that is by itself. */
TVMFFI_CUBIN_RARE const char* DescribeMisfit(const FunctionPlan& function, const Instance& instance,
                                             const TVMFFIAny* args, int num_args,
                                             Argument* arguments, Text* text) {
  if (num_args != instance.num_params) {
    text->Print("wanted %d arguments, got %d", instance.num_params, num_args);
    return "TypeError";
  }
  for (int i = 0; i < num_args; ++i) {
    const Param& param = instance.params[i];
    const Problem problem = Convert(param, args[i], &arguments[i]);
    if (problem == Problem::kNone) continue;
    Text reason;
    const char* kind = DescribeProblem(param, args[i], problem, &reason);
    text->Print("argument %d (%.60s): %.230s", i + 1, param.name, reason.chars);
    return kind;
  }
  Evaluation evaluation;
  evaluation.arguments = arguments;
  if (TakeArguments(function, instance, args, num_args, arguments, &evaluation.device) == 0 &&
      EvaluateConditions(function, instance, OpenDriver(), &evaluation) == 0 &&
      evaluation.failure != nullptr) {
    text->Print("the condition '%.200s' %s", evaluation.where, evaluation.failure);
  }
  return "ValueError";
}

/*!
 * \brief Raises that no instance fits: what came, and each instance with what is in its way. A
 * ValueError, where the types are those of some instance.
 */
TVMFFI_CUBIN_RARE int FailToFit(const FunctionPlan& function, const TVMFFIAny* args, int num_args,
                                Argument* arguments) {
  constexpr size_t kForArguments = sizeof(LongText::chars) * 3 / 4;
  constexpr size_t kForTheRest = 64;
  LongText message;
  const char* kind = "TypeError";
  message.Add(0, "%.200s: no instance fits (%s", function.name, num_args ? "" : "no arguments");
  for (int i = 0; i < num_args; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    if (!message.Add(kForArguments, "%s%s", comma, DescribeArgument(args[i]).chars)) {
      message.Add(0, ", ...");
      break;
    }
  }
  message.Add(0, "):");
  for (int i = 0; i < function.num_instances; ++i) {
    const Instance& instance = function.instances[i];
    Text reason;
    const char* own = DescribeMisfit(function, instance, args, num_args, arguments, &reason);
    if (strcmp(own, "ValueError") == 0) kind = own;
    if (!message.Add(kForTheRest, "\n  %.400s: %s", instance.signature, reason.chars)) {
      message.Add(0, "\n  and %d more", function.num_instances - i);
      break;
    }
  }
  TVMFFIErrorSetRaisedFromCStr(kind, message.chars);
  return -1;
}

/*!
 * \brief The whole of a call. Of a function of several instances the first that the arguments fit
 * is launched.
 */
__attribute__((noinline)) inline int Call(const FunctionPlan& function, const CallOptions& options,
                                          const TVMFFIAny* args, int num_args) {
  auto* arguments = static_cast<Argument*>(
      __builtin_alloca(sizeof(Argument) * static_cast<size_t>(function.most_params + 1)));
  for (int i = 0; i < function.num_instances; ++i) {
    const int code =
        CallInstance(function, function.instances[i], options, args, num_args, arguments);
    if (__builtin_expect(code != kDoesNotFit, 1)) return code;
  }
  return FailToFit(function, args, num_args, arguments);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_CALL_H_
