/*!
 * \file tvmffi_cubin/launcher/call.h
 * \brief One call of an exported function: convert and check, evaluate, launch, in that order.
 *
 * Bad arguments leave nothing half done: everything is evaluated before the first launch.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_CALL_H_
#define TVMFFI_CUBIN_LAUNCHER_CALL_H_

#include "bound.h"
#include "maps.h"
#include "occupancy.h"
#include "scratch.h"
#include "target.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a call returns that an instance of several does not fit. */
constexpr int kDoesNotFit = 1;

/*! \brief Raises that a call has more or fewer arguments than its function takes. */
TVMFFI_CUBIN_RARE int FailCount(const FunctionPlan& function, const Instance& instance,
                                int num_args) {
  LongText list;
  for (int i = 0; i < instance.num_params; ++i) {
    list.Add(0, "%s%s %s", i ? ", " : "", instance.params[i].type, instance.params[i].name);
  }
  return Fail("TypeError", "%s: got %d arguments, wanted %d: (%s)", function.name, num_args,
              instance.num_params, list.chars);
}

/*!
 * \brief Converts the arguments of a call and checks where its tensors live: 0, -1 with an error
 * raised, or of one of several instances that it does not fit, which raises nothing.
 */
__attribute__((always_inline)) inline int TakeArguments(CallFrame* frame, const TVMFFIAny* args,
                                                        int num_args, Argument* arguments) {
  const FunctionPlan& function = frame->function;
  const Instance& instance = frame->instance;
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
  frame->device = common.device;
  return 0;
}

/*! \brief Evaluates the conditions of one of several instances: 0, -1 or kDoesNotFit. */
__attribute__((noinline)) inline int CheckConditions(CallFrame* frame, Evaluation* evaluation) {
  const Instance& instance = frame->instance;
  const bool has_device = instance.target != nullptr && instance.target->has_device;
  if (has_device && FindDevice(frame, evaluation) != 0) return -1;
  for (int i = 0; i < instance.num_launches; ++i) {
    const LaunchPlan& plan = instance.launches[i];
    evaluation->kernel = plan.kernel;
    if (evaluation->Do(plan.steps, plan.num_conditions, 0)) continue;
    const bool is_drivers = evaluation->failure == kDriverFailed;
    return is_drivers ? FailEvaluation(frame->Site(i), *evaluation) : kDoesNotFit;
  }
  return 0;
}

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
__attribute__((always_inline)) inline int LaunchAll(const CallFrame& frame,
                                                    Evaluation* evaluation) {
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
__attribute__((noinline)) inline int LaunchBound(const CallFrame& frame, Evaluation* evaluation) {
  const GateUse use(&frame.instance.bound->gate);
  return FillBound(frame) == 0 ? LaunchAll(frame, evaluation) : -1;
}

/*! \brief Evaluates every launch of an instance that the arguments fit, then launches in order. */
__attribute__((always_inline)) inline int RunInstance(CallFrame* frame, const CallOptions& options,
                                                      Evaluation* evaluation) {
  if (FindTarget(frame, evaluation) != 0) return -1;
  const Instance& instance = frame->instance;
  const int count = instance.num_launches;
  const auto slots = static_cast<size_t>(instance.num_slots);
  const size_t most = static_cast<size_t>(instance.num_attributes) +
                      static_cast<size_t>(count) * options.config.numAttrs;
  frame->launches = static_cast<PreparedLaunch*>(
      __builtin_alloca(sizeof(PreparedLaunch) * static_cast<size_t>(count)));
  auto** params = static_cast<void**>(__builtin_alloca(sizeof(void*) * slots));
  evaluation->computed = static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * slots));
  if (__builtin_expect(most != 0, 0)) {
    evaluation->attributes =
        static_cast<CUlaunchAttribute*>(__builtin_alloca(sizeof(CUlaunchAttribute) * most));
  }
  for (int i = 0; i < count; ++i) {
    const LaunchPlan& plan = instance.launches[i];
    frame->launches[i].plan = &plan;
    frame->launches[i].params = params;
    if (PrepareLaunch(*frame, i, options, evaluation) != 0) return -1;
    params += plan.num_sources;
    evaluation->computed += plan.num_computed;
    evaluation->attributes += evaluation->num_attributes;
  }
  return __builtin_expect(instance.bound != nullptr, 0) ? LaunchBound(*frame, evaluation)
                                                        : LaunchAll(*frame, evaluation);
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
  CallFrame frame(function, instance, kNoOptions);
  Evaluation evaluation(&frame, arguments);
  frame.driver = OpenDriver();
  if (TakeArguments(&frame, args, num_args, arguments) == 0 &&
      CheckConditions(&frame, &evaluation) == kDoesNotFit) {
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
    CallFrame frame(function, function.instances[i], options);
    Evaluation evaluation(&frame, arguments);
    int code = TakeArguments(&frame, args, num_args, arguments);
    if (__builtin_expect(code < 0, 0)) return -1;
    if (__builtin_expect(code == kDoesNotFit, 0)) continue;
    frame.driver = OpenDriver();
    if (__builtin_expect(frame.driver == nullptr, 0)) {
      return Fail("LaunchError", "%s: %s", function.name, DriverProblem());
    }
    if (__builtin_expect(function.num_instances != 1, 0)) {
      code = CheckConditions(&frame, &evaluation);
      if (code < 0) return -1;
      if (code == kDoesNotFit) continue;
    }
    return RunInstance(&frame, options, &evaluation);
  }
  return FailToFit(function, args, num_args, arguments);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_CALL_H_
