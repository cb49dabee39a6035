#include "target.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

int FailDevice(const FunctionPlan& function, const Driver* driver, const Argument* arguments,
               int64_t wanted, int tensors) {
  const auto number = static_cast<long long>(wanted);
  for (int i = 0; i < function.num_params && tensors >= 0; ++i) {
    const DLTensor* tensor = arguments[i].tensor;
    if (tensor == nullptr || tensor->device.device_type != kDLCUDA) continue;
    return Fail("ValueError",
                "%s: the launch's device is %lld, %s is on cuda:%d: give the ordinal of its "
                "tensors' device",
                function.name, number, function.params[i].name, tensors);
  }
  int count = 0;
  driver->cuDeviceGetCount(&count);
  return Fail("ValueError", "%s: the launch's device is %lld, wanted 0 to %d: there %s %d",
              function.name, number, count - 1, count == 1 ? "is" : "are", count);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
