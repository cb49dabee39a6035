// One call of an exported function: convert and check, evaluate everything, launch, in this order,
// so that bad arguments leave nothing half done.
#pragma once

#include "memory.h"

TVMFFI_CUBIN_BEGIN

// Takes the device that a function sets; the call has that of the tensors, or -1.
TVMFFI_CUBIN_SHARED int TakeTargetDevice(Call* call) {
  const int64_t wanted = Value(call, call->instance.target->device);
  if (call->failure != nullptr) return FailFigure(*call);
  if (call->device >= 0 && wanted != call->device) {
    return Fail("ValueError", "%s: the launch's device is %ld, but its tensors are on cuda:%d",
                call->function.name, wanted, call->device);
  }
  if (wanted < 0 || wanted >= kMaxDevices) {
    return FailRange(*call, "the launch's device", wanted, 0, kMaxDevices - 1);
  }
  call->device = static_cast<int>(wanted);
  return 0;
}

// Takes the stream that the caller, or else the function, sets. A stream of another device is
// rejected: the driver would launch there.
TVMFFI_CUBIN_SHARED int TakeStream(Call* call) {
  if (!call->has_stream) {
    const TargetPlan& plan = *call->instance.target;
    if (plan.pointer >= 0 && call->arguments[plan.pointer].tensor != nullptr) {
      const Param& param = call->instance.params[plan.pointer];
      return Fail("TypeError", "%s: argument %d (%s: %s): got a tensor, expected a stream",
                  call->function.name, plan.pointer + 1, param.name, param.type);
    }
    call->stream = reinterpret_cast<CUstream>(Value(call, plan.stream));
    call->has_stream = true;
    if (call->failure != nullptr) return FailFigure(*call);
  }
  const auto handle = reinterpret_cast<intptr_t>(call->stream);
  // The driver dereferences any address, and nothing is mapped in the first page.
  if (handle < 0 || (handle > 2 && handle < 4096)) {
    return Fail("ValueError", "%s: the launch's stream is %ld, which is not a valid handle",
                call->function.name, handle);
  }
  const int home = StreamDevice(call->stream);
  if (home < 0 || home == call->device) return 0;
  return Fail("ValueError", "%s: the stream is on cuda:%d, but the launch is on cuda:%d",
              call->function.name, home, call->device);
}

// Finds the device: the function's, else the tensors', else the current one.
TVMFFI_CUBIN_HOT int FindDevice(Call* call) {
  const TargetPlan* const target = call->instance.target;
  if (__builtin_expect(target != nullptr, 0) && target->has_device) return TakeTargetDevice(call);
  if (call->device < 0) call->device = CurrentDevice();
  return 0;
}

// Finds the stream: the caller's, else the function's, else the device's current one.
TVMFFI_CUBIN_HOT int FindStream(Call* call) {
  const TargetPlan* const target = call->instance.target;
  if (call->has_stream || (__builtin_expect(target != nullptr, 0) && target->has_stream)) {
    return TakeStream(call);
  }
  call->stream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, call->device));
  return 0;
}

// Converts a call's arguments and checks where its tensors are; false if one does not fit.
TVMFFI_CUBIN_HOT bool TakeArguments(Call* call, const TVMFFIAny* args, int num_args) {
  const Instance& instance = call->instance;
  if (__builtin_expect(num_args != instance.num_params, 0)) return false;
  int device = -1;
  for (int i = 0; i < num_args; ++i) {
    const Problem problem = Convert(instance.params[i], args[i], &device, &call->arguments[i]);
    if (__builtin_expect(problem != Problem::kNone, 0)) return false;
  }
  call->device = device;
  return true;
}

// Whether the conditions of an instance hold; records in the call why not.
TVMFFI_CUBIN_SHARED bool HoldConditions(Call* call) {
  for (int i = 0; i < call->instance.num_launches; ++i) {
    const LaunchPlan& plan = call->instance.launches[i];
    if (plan.num_conditions == 0) continue;
    const Figure& figure = plan.steps[0].figure;
    if (Value(call, figure) != 0 && call->failure == nullptr) continue;
    call->where = figure.text;
    Note(call, "does not hold");
    return false;
  }
  return true;
}

// Evaluates one launch into its configuration and its kernel's parameters.
TVMFFI_CUBIN_HOT int Prepare(Call* call, Launch* launch) {
  const LaunchPlan& plan = *launch->plan;
  const CallOptions& options = call->options;
  const uint64_t missing = static_cast<uint64_t>(plan.from_caller) & ~options.given;
  if (__builtin_expect(missing != 0, 0)) {
    return Fail("TypeError", "%s: the launch has no %s: call %s%s(...)", call->Site().chars,
                missing == 1 ? "grid" : "block", call->function.name,
                missing == 1 ? "[grid]" : "[grid, block]");
  }
  CUlaunchConfig* const config = &launch->config;
  *config = options.config;
  config->hStream = call->stream;
  call->num_attributes = options.config.numAttrs;
  if (__builtin_expect(options.config.numAttrs != 0, 0)) {
    memcpy(call->attributes, options.config.attrs,
           sizeof(CUlaunchAttribute) * options.config.numAttrs);
  }
  // HoldConditions has evaluated the conditions.
  const int first = plan.num_conditions;
  if (DoSteps(call, plan.steps + first, plan.num_steps - first) != 0) return -1;
  config->attrs = call->attributes;
  config->numAttrs = call->num_attributes;
  // Kept in registers: as far as the compiler knows, any store may change the pointers.
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

// Launches in order, with maps, scratch memory and bound values.
TVMFFI_CUBIN_SHARED int LaunchWithMemory(Call* call) {
  const Instance& instance = call->instance;
  Gate none;
  // Bound values do not change until everything is launched.
  const GateUse use(instance.bound != nullptr ? &instance.bound->gate : &none);
  auto* map = static_cast<CUtensorMap*>(
      __builtin_alloca_with_align(sizeof(CUtensorMap) * (instance.num_maps + 1), 512));
  Scratch scratch{call, TVMFFI_CUBIN_ALLOCA(ScratchBlock, instance.num_scratch)};
  for (call->number = 0; call->number < call->num_launches; ++call->number) {
    const Launch& launch = call->launches[call->number];
    for (int i = 0; i < launch.plan->num_sources; ++i) {
      const Source& source = launch.plan->sources[i];
      void** const param = &launch.params[i];
      int code = 0;
      if (source.from == Source::kTensorMap) {
        *param = map;
        code = EncodeMap(call, *static_cast<const TensorMapPlan*>(source.data), map++);
      } else if (source.from == Source::kScratch) {
        code = scratch.Allocate(*static_cast<const ScratchPlan*>(source.data), param);
      } else if (source.from == Source::kBound) {
        code = FillBound(*call, source.index, param);
      }
      if (code != 0) return -1;
    }
  }
  return LaunchInOrder(call);
}

TVMFFI_CUBIN_HOT int LaunchAll(Call* call) {
  const Instance& instance = call->instance;
  // One gate keeps all images of the module loaded and the contexts retained. It precedes the scope
  // because unloading releases contexts, too.
  GateUse use(&call->launches->plan->kernel->image->gate);
  DeviceScope scope;
  Status status = scope.Enter(call->device);
  if (!status.ok()) return call->Fail(status);
  for (; call->number < call->num_launches; ++call->number) {
    status = LoadKernel(call->launches[call->number].plan->kernel, call->device);
    if (__builtin_expect(!status.ok(), 0)) return call->Fail(status);
    // The driver checks a single launch; of several, it would reject one after others have run.
    if (call->num_launches > 1 && call->CheckLimits() != 0) return -1;
  }
  const bool has_memory =
      (instance.num_maps | instance.num_scratch) != 0 || instance.bound != nullptr;
  return __builtin_expect(has_memory, 0) ? LaunchWithMemory(call) : LaunchInOrder(call);
}

// Evaluates every launch of an instance that the arguments fit, then launches in order.
TVMFFI_CUBIN_HOT int RunInstance(Call* call) {
  if (FindStream(call) != 0) return -1;
  const Instance& instance = call->instance;
  const int count = instance.num_launches, slots = instance.num_slots;
  const unsigned most = instance.num_attributes + count * call->options.config.numAttrs;
  call->launches = TVMFFI_CUBIN_ALLOCA(Launch, count);
  void** params = TVMFFI_CUBIN_ALLOCA(void*, slots);
  call->computed = TVMFFI_CUBIN_ALLOCA(Argument, slots);
  if (__builtin_expect(most != 0, 0)) {
    call->attributes = TVMFFI_CUBIN_ALLOCA(CUlaunchAttribute, most);
  }
  for (int i = 0; i < count; ++i) {
    Launch* const launch = &call->launches[call->number];
    launch->plan = &instance.launches[i];
    launch->params = params;
    if (Prepare(call, launch) != 0) return -1;
    const CUlaunchConfig& config = launch->config;
    // An empty tensor often makes both grid and block zero: there is nothing to do.
    if (config.gridDimX == 0 || config.gridDimY == 0 || config.gridDimZ == 0) continue;
    params += launch->plan->num_sources;
    call->computed += launch->plan->num_computed;
    call->attributes += call->num_attributes;
    ++call->number;
  }
  call->num_launches = call->number;
  if (call->num_launches == 0) return 0;
  call->number = 0;
  return LaunchAll(call);
}

// Adds why an instance does not fit; returns the kind of error.
TVMFFI_CUBIN_COLD const char* AddMisfit(Call* call, const TVMFFIAny* args, int num_args,
                                        Text* text) {
  const Instance& instance = call->instance;
  if (num_args != instance.num_params) {
    text->Add("got %d arguments, expected %d", num_args, instance.num_params);
    if (call->function.num_instances == 1) text->Add(": %s", instance.signature);
    if (num_args > 0 && args[0].type_index == kTVMFFIArray) {  // as CuPy's kernels take it
      text->Add(". Pass the shape in brackets: %s[grid, block](...)", call->function.name);
    }
    return "TypeError";
  }
  for (int i = 0; i < num_args; ++i) {
    const Param& param = instance.params[i];
    const Problem problem = Convert(param, args[i], &call->device, &call->arguments[i]);
    if (problem == Problem::kNone) continue;
    text->Add("argument %d (%s: %s): ", i + 1, param.name, param.type);
    return AddProblem(param, args[i], problem, call->device, text);
  }
  if (FindDevice(call) == 0 && !HoldConditions(call)) {
    text->Add("the condition '%s' %s", call->where, call->failure);
  }
  return "ValueError";
}

// Raises an error with why no instance fits: a ValueError if the types fit some instance.
TVMFFI_CUBIN_COLD int FailToFit(const FunctionPlan& function, Argument* arguments,
                                const TVMFFIAny* args, int num_args) {
  Text text;
  const char* kind = "TypeError";
  const bool is_only = function.num_instances == 1;
  if (!is_only) text.Add("no instance fits:");
  for (int i = 0; i < function.num_instances; ++i) {
    Call call{function, function.instances[i], kNoOptions, arguments};
    if (!is_only) text.Add("\n  %.400s: ", call.instance.signature);
    const char* own = AddMisfit(&call, args, num_args, &text);
    if (strcmp(own, "ValueError") == 0) kind = own;
  }
  return Fail(kind, "%s: %s", function.name, text.chars);
}

// Makes a call: launches the first instance that the arguments fit.
TVMFFI_CUBIN_SHARED int CallFunction(const FunctionPlan& function, const CallOptions& options,
                                     const TVMFFIAny* args, int num_args) {
  Argument* const arguments = TVMFFI_CUBIN_ALLOCA(Argument, function.most_params + 1);
  for (int i = 0; i < function.num_instances; ++i) {
    Call call{function, function.instances[i], options, arguments};
    if (!TakeArguments(&call, args, num_args)) continue;
    if (__builtin_expect(!OpenDriver(), 0)) {
      return Fail("LaunchError", "%s: %s", function.name, driver_state.problem);
    }
    if (FindDevice(&call) != 0) return -1;
    if (!call.instance.has_conditions || HoldConditions(&call)) return RunInstance(&call);
  }
  return FailToFit(function, arguments, args, num_args);
}

TVMFFI_CUBIN_END
