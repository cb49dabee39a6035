/*!
 * \file tvmffi_cubin/launcher/call.h
 * \brief One call of an exported function: convert and check, evaluate, launch, in that order.
 *
 * Bad arguments leave nothing half done: everything is evaluated before the first launch.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_CALL_H_
#define TVMFFI_CUBIN_LAUNCHER_CALL_H_

#include "bound.h"
#include "memory.h"
#include "target.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a call returns that an instance of several does not fit. */
constexpr int kDoesNotFit = 1;

/*!
 * \brief Converts the arguments of a call and checks where its tensors live: 0, -1 with an error
 * raised, or of one of several instances that it does not fit, which raises nothing.
 */
__attribute__((always_inline)) inline int TakeArguments(Call* call, const TVMFFIAny* args,
                                                        int num_args) {
  const char* function = call->function.name;
  const Instance& instance = call->instance;
  const bool is_only = call->function.num_instances == 1;
  if (__builtin_expect(num_args != instance.num_params, 0)) {
    return is_only ? Fail("TypeError", "%s: got %d arguments, wanted %d: %s", function, num_args,
                          instance.num_params, instance.signature)
                   : kDoesNotFit;
  }
  TensorDevice common;
  for (int i = 0; i < num_args; ++i) {
    const Param& param = instance.params[i];
    const Problem problem = Convert(param, args[i], &call->arguments[i]);
    if (__builtin_expect(problem != Problem::kNone, 0)) {
      return is_only ? FailArgument(function, param, i + 1, args[i], problem) : kDoesNotFit;
    }
    // Tensors of two devices are wrong whichever instance is taken.
    const DLTensor* tensor = call->arguments[i].tensor;
    if (tensor != nullptr && CheckDevice(function, param, i + 1, *tensor, &common) != 0) return -1;
  }
  call->device = common.device;
  return 0;
}

/*! \brief Evaluates the conditions of one of several instances: 0, -1 or kDoesNotFit. */
__attribute__((noinline)) inline int CheckConditions(Call* call) {
  const Instance& instance = call->instance;
  const bool has_device = instance.target != nullptr && instance.target->has_device;
  if (has_device && FindDevice(call) != 0) return -1;
  for (call->number = 0; call->number < instance.num_launches; ++call->number) {
    const LaunchPlan& plan = instance.launches[call->number];
    for (int i = 0; i < plan.num_conditions; ++i) {
      const bool holds = Value(call, plan.steps[i].figure) != 0;
      if (call->failure == kRaised) return -1;
      if (holds && call->failure == nullptr) continue;
      call->where = plan.steps[i].figure.text;
      Note(call, "does not hold");
      return kDoesNotFit;
    }
  }
  call->number = 0;
  return 0;
}

/*! \brief Raises that a launch has no grid, no block, or a block without threads. */
TVMFFI_CUBIN_RARE int FailShape(const Call& call, bool has_grid, bool has_block) {
  const Text site = call.Site(call.number);
  if (has_grid && has_block) {
    const CUlaunchConfig& config = call.launches[call.number].config;
    const int axis = config.blockDimX == 0 ? 3 : config.blockDimY == 0 ? 4 : 5;
    return FailRange(call, kFigures[axis], 0, 1, UINT32_MAX);
  }
  return Fail("TypeError",
              "%s: the launch has no %s: call %s%s(...), or give the function a Launch(grid=..., "
              "block=...)",
              site.chars,
              has_grid    ? "block"
              : has_block ? "grid"
                          : "shape",
              call.function.name, has_block ? "[grid]" : "[grid, block]");
}

/*! \brief Begins the attributes of a launch with those that the caller gave. */
inline void TakeGiven(Call* call) {
  for (unsigned i = 0; i < call->options.config.numAttrs; ++i) {
    const CUlaunchAttribute& given = call->options.config.attrs[i];
    const int id = given.id;
    call->given |= UINT64_C(1) << (id & 63);
    // An event of 0 takes the function's own away, as in a Launch.
    const bool is_event =
        id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == kLaunchCompletionEvent;
    if (is_event && given.value.programmaticEvent.event == nullptr) continue;
    call->attributes[call->num_attributes++] = given;
  }
}

/*!
 * \brief Evaluates one launch into its configuration and its kernel's parameters. Every call goes
 * through it, and the compiler would not inline it by itself.
 */
__attribute__((always_inline)) inline int Prepare(Call* call, Launch* launch) {
  const LaunchPlan& plan = *launch->plan;
  const uint32_t replaced = call->options.replaced;
  const bool has_grid = plan.has_grid || (replaced >> Step::kGrid & 1) != 0;
  const bool has_block = plan.has_block || (replaced >> Step::kBlock & 1) != 0;
  if (__builtin_expect(!has_grid || !has_block, 0)) return FailShape(*call, has_grid, has_block);
  CUlaunchConfig* const config = &launch->config;
  *config = call->options.config;
  config->hStream = call->stream;
  call->num_attributes = 0;
  if (__builtin_expect(call->options.config.numAttrs != 0, 0)) TakeGiven(call);
  // The conditions of one of several instances have been looked at.
  const int first = call->function.num_instances == 1 ? 0 : plan.num_conditions;
  if (DoSteps(call, plan.steps + first, plan.num_steps - first, replaced) != 0) return -1;
  // An empty tensor often makes grid and block zero alike: nothing is to be done.
  launch->is_empty = config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0;
  const bool has_threads =
      config->blockDimX != 0 && config->blockDimY != 0 && config->blockDimZ != 0;
  if (__builtin_expect(!has_threads && !launch->is_empty, 0)) return FailShape(*call, true, true);
  config->attrs = call->attributes;
  config->numAttrs = call->num_attributes;
  // In registers: the compiler takes each store for one that may change the pointers.
  const Argument *const arguments = call->arguments, *const computed = call->computed;
  void** const params = launch->params;
  const Source* const sources = plan.sources;
  for (int i = 0, count = plan.num_sources; i < count; ++i) {
    const Source& source = sources[i];
    params[i] = source.from == Source::kArgument   ? arguments[source.index].address
                : source.from == Source::kComputed ? computed[source.index].address
                                                   : const_cast<void*>(source.data);
  }
  return 0;
}

/*! \brief Launches in order, with tensor maps and scratch memory. */
__attribute__((noinline)) inline int LaunchWithMemory(Call* call) {
  const Instance& instance = call->instance;
  auto* maps = static_cast<CUtensorMap*>(
      __builtin_alloca_with_align(sizeof(CUtensorMap) * (instance.num_maps + 1), 512));
  Scratch scratch{call, static_cast<ScratchBlock*>(
                            __builtin_alloca(sizeof(ScratchBlock) * instance.num_scratch))};
  return EncodeMaps(call, maps) != 0 || scratch.Allocate() != 0 ? -1 : LaunchInOrder(*call);
}

/*! \brief Checks all that was evaluated against the device's limits, then launches it. */
__attribute__((always_inline)) inline int LaunchAll(Call* call) {
  const Instance& instance = call->instance;
  int first = 0;
  while (first < instance.num_launches && call->launches[first].is_empty) ++first;
  if (first == instance.num_launches) return 0;
  // One image in use keeps all of the module's loaded, and the contexts retained. Before the scope:
  // what is unloaded releases contexts, too.
  GateUse use(&instance.launches[first].kernel->image->gate);
  DeviceScope scope;
  const Status status = scope.Enter(call->device);
  if (!status.ok()) return call->Fail(first, status);
  for (int i = first; i < instance.num_launches; ++i) {
    if (!call->launches[i].is_empty && ReadyKernel(*call, i) != 0) return -1;
  }
  const bool has_memory = (instance.num_maps | instance.num_scratch) != 0;
  return __builtin_expect(has_memory, 0) ? LaunchWithMemory(call) : LaunchInOrder(*call);
}

/*! \brief The same with what is bound, which stays as it is until all is launched. */
__attribute__((noinline)) inline int LaunchBound(Call* call) {
  const GateUse use(&call->instance.bound->gate);
  return FillBound(call) == 0 ? LaunchAll(call) : -1;
}

/*! \brief Evaluates every launch of an instance that the arguments fit, then launches in order. */
__attribute__((always_inline)) inline int RunInstance(Call* call) {
  if (FindTarget(call) != 0) return -1;
  const Instance& instance = call->instance;
  const int count = instance.num_launches;
  const auto slots = static_cast<size_t>(instance.num_slots);
  const size_t most = static_cast<size_t>(instance.num_attributes) +
                      static_cast<size_t>(count) * call->options.config.numAttrs;
  call->launches =
      static_cast<Launch*>(__builtin_alloca(sizeof(Launch) * static_cast<size_t>(count)));
  auto** params = static_cast<void**>(__builtin_alloca(sizeof(void*) * slots));
  call->computed = static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * slots));
  if (__builtin_expect(most != 0, 0)) {
    call->attributes =
        static_cast<CUlaunchAttribute*>(__builtin_alloca(sizeof(CUlaunchAttribute) * most));
  }
  for (int i = 0; i < count; ++i) {
    Launch* const launch = &call->launches[i];
    launch->plan = &instance.launches[i];
    launch->params = params;
    call->number = i;
    if (Prepare(call, launch) != 0) return -1;
    params += launch->plan->num_sources;
    call->computed += launch->plan->num_computed;
    call->attributes += call->num_attributes;
  }
  return __builtin_expect(instance.bound != nullptr, 0) ? LaunchBound(call) : LaunchAll(call);
}

/*! \brief Adds why an instance does not fit; returns which kind of error that is by itself. */
TVMFFI_CUBIN_RARE const char* AddMisfit(Call* call, const TVMFFIAny* args, int num_args,
                                        TextOf<8192>* text) {
  const Instance& instance = call->instance;
  text->Add("\n  %.400s: ", instance.signature);
  if (num_args != instance.num_params) {
    text->Add("wanted %d arguments, got %d", instance.num_params, num_args);
    return "TypeError";
  }
  for (int i = 0; i < num_args; ++i) {
    const Param& param = instance.params[i];
    const Problem problem = Convert(param, args[i], &call->arguments[i]);
    if (problem == Problem::kNone) continue;
    Text reason;
    const char* kind = DescribeProblem(param, args[i], problem, &reason);
    text->Add("argument %d (%s): %s", i + 1, param.name, reason.chars);
    return kind;
  }
  OpenDriver();
  if (TakeArguments(call, args, num_args) == 0 && CheckConditions(call) == kDoesNotFit) {
    text->Add("the condition '%s' %s", call->where, call->failure);
  }
  return "ValueError";
}

/*!
 * \brief Raises that no instance fits: what came, and each instance with what is in its way. A
 * ValueError, where the types are those of some instance.
 */
TVMFFI_CUBIN_RARE int FailToFit(const FunctionPlan& function, Argument* arguments,
                                const TVMFFIAny* args, int num_args) {
  TextOf<8192> text;
  const char* kind = "TypeError";
  text.Add("%s: no instance fits (", function.name);
  for (int i = 0; i < num_args; ++i) {
    text.Add("%s%s", i == 0 ? "" : ", ", DescribeArgument(args[i]).chars);
  }
  text.Add("):");
  for (int i = 0; i < function.num_instances; ++i) {
    Call call{function, function.instances[i], kNoOptions, arguments};
    const char* own = AddMisfit(&call, args, num_args, &text);
    if (strcmp(own, "ValueError") == 0) kind = own;
  }
  TVMFFIErrorSetRaisedFromCStr(kind, text.chars);
  return -1;
}

/*!
 * \brief The whole of a call. Of a function of several instances the first that the arguments fit
 * is launched.
 */
__attribute__((noinline)) inline int CallFunction(const FunctionPlan& function,
                                                  const CallOptions& options, const TVMFFIAny* args,
                                                  int num_args) {
  auto* arguments = static_cast<Argument*>(
      __builtin_alloca(sizeof(Argument) * static_cast<size_t>(function.most_params + 1)));
  for (int i = 0; i < function.num_instances; ++i) {
    Call call{function, function.instances[i], options, arguments};
    int code = TakeArguments(&call, args, num_args);
    if (__builtin_expect(code < 0, 0)) return -1;
    if (__builtin_expect(code == kDoesNotFit, 0)) continue;
    if (!OpenDriver()) {
      return Fail("LaunchError", "%s: %s", function.name, DriverProblem());
    }
    if (__builtin_expect(function.num_instances != 1, 0)) {
      code = CheckConditions(&call);
      if (code < 0) return -1;
      if (code == kDoesNotFit) continue;
    }
    return RunInstance(&call);
  }
  return FailToFit(function, arguments, args, num_args);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_CALL_H_
