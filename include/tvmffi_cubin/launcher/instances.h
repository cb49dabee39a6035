/*!
 * \file tvmffi_cubin/launcher/instances.h
 * \brief A function of several instances: the first that the arguments fit is launched.
 *
 * That one does not fit is found out in a few instructions and raises nothing; why none fits is
 * worked out where none does.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_INSTANCES_H_
#define TVMFFI_CUBIN_LAUNCHER_INSTANCES_H_

#include "function.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Converts all arguments; false where one does not go with its parameter. */
inline bool ConvertAll(const FunctionPlan& function, const TVMFFIAny* args, int num_args,
                       Argument* out) {
  if (num_args != function.num_params) return false;
  for (int i = 0; i < num_args; ++i) {
    if (Convert(function.params[i], args[i], &out[i]) != Problem::kNone) return false;
  }
  return true;
}

/*! \brief Checks where all tensors live: that is wrong whichever instance is taken. */
inline int CheckDevices(const FunctionPlan& function, const Argument* arguments,
                        TensorDevice* device) {
  for (int i = 0; i < function.num_params; ++i) {
    const DLTensor* tensor = arguments[i].tensor;
    if (tensor == nullptr) continue;
    if (CheckDevice(function.name, function.params[i], i + 1, *tensor, device) != 0) return -1;
  }
  return 0;
}

/*! \brief Evaluates an instance's conditions; `evaluation` says whether one does not hold. */
inline int EvaluateWhen(const Instance& instance, const Argument* arguments, int device,
                        Evaluation* evaluation) {
  const FunctionPlan& function = instance.function;
  evaluation->arguments = arguments;
  if (instance.when_reads_num_sms) {
    const Driver* driver = OpenDriver();
    if (driver == nullptr) return Fail("LaunchError", "%s: %s", function.name, DriverProblem());
    if (function.target != nullptr && FindDevice(function, driver, evaluation, &device) != 0) {
      return -1;
    }
    if (device < 0) device = CurrentDevice(driver);
    const Status status = CountSms(driver, device, &evaluation->num_sms);
    if (!status.ok()) {
      return FailLaunch({function, 0, false}, *function.launches[0].kernel, device, nullptr,
                        status);
    }
  }
  instance.when(evaluation);
  return 0;
}

/*!
 * \brief Raises that no instance fits: what came, and each instance with what is in its way. A
 * ValueError, where the types are those of some instance.
 */
__attribute__((cold)) int FailToFit(const DispatchPlan& function, const TVMFFIAny* args,
                                    int num_args, Argument* arguments);

/*! \brief The whole of a call of a function of several instances. */
inline int CallFitting(const DispatchPlan& function, const CallOptions& options,
                       const TVMFFIAny* args, int num_args) {
  auto* arguments =
      static_cast<Argument*>(__builtin_alloca(sizeof(Argument) * (function.most_params + 1)));
  for (int i = 0; i < function.num_instances; ++i) {
    const Instance& instance = function.instances[i];
    if (!ConvertAll(instance.function, args, num_args, arguments)) continue;
    TensorDevice device;
    if (CheckDevices(instance.function, arguments, &device) != 0) return -1;
    if (instance.when != nullptr) {
      Evaluation evaluation;
      if (EvaluateWhen(instance, arguments, device.device, &evaluation) != 0) return -1;
      if (evaluation.failure != nullptr) continue;
    }
    return LaunchAll(instance.function, options, arguments, device.device);
  }
  return FailToFit(function, args, num_args, arguments);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_INSTANCES_H_
