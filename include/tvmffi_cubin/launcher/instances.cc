#include "instances.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief An error's text, as long as some dozens of instances need. */
struct Message {
  char chars[8192] = "";
  size_t used = 0;

  /*! \brief Adds a text and keeps `reserve` bytes free; false, and nothing added, without room. */
  __attribute__((noinline, cold, format(printf, 3, 4))) bool Add(size_t reserve, const char* format,
                                                                 ...) {
    const size_t room = sizeof(chars) - used;
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(chars + used, room, format, values);
    va_end(values);
    if (length < 0 || static_cast<size_t>(length) + reserve >= room) {
      chars[used] = '\0';
      return false;
    }
    used += static_cast<size_t>(length);
    return true;
  }
};

/*! \brief Says why an instance does not fit, and which kind of error that is by itself. */
static Text DescribeMisfit(const Instance& instance, const TVMFFIAny* args, int num_args,
                           Argument* arguments, const char** kind) {
  const FunctionPlan& function = instance.function;
  Text text;
  *kind = "TypeError";
  if (num_args != function.num_params) {
    snprintf(text.chars, sizeof(text.chars), "wanted %d arguments, got %d", function.num_params,
             num_args);
    return text;
  }
  for (int i = 0; i < num_args; ++i) {
    const Param& param = function.params[i];
    const Problem problem = Convert(param, args[i], &arguments[i]);
    if (problem == Problem::kNone) continue;
    Text reason;
    *kind = DescribeProblem(param, args[i], problem, &reason);
    snprintf(text.chars, sizeof(text.chars), "argument %d (%.60s): %.230s", i + 1, param.name,
             reason.chars);
    return text;
  }
  TensorDevice device;
  Evaluation evaluation;
  if (instance.when != nullptr && CheckDevices(function, arguments, &device) == 0 &&
      EvaluateWhen(instance, arguments, device.device, &evaluation) == 0 &&
      evaluation.failure != nullptr) {
    *kind = "ValueError";
    snprintf(text.chars, sizeof(text.chars), "the condition '%.200s' %s", evaluation.where,
             evaluation.failure);
  }
  return text;
}

int FailToFit(const DispatchPlan& function, const TVMFFIAny* args, int num_args,
              Argument* arguments) {
  constexpr size_t kForArguments = sizeof(Message::chars) * 3 / 4;
  constexpr size_t kForTheRest = 64;
  Message message;
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
    const char* own = nullptr;
    const Text reason = DescribeMisfit(instance, args, num_args, arguments, &own);
    if (strcmp(own, "ValueError") == 0) kind = own;
    if (!message.Add(kForTheRest, "\n  %.400s: %s", instance.signature, reason.chars)) {
      message.Add(0, "\n  and %d more", function.num_instances - i);
      break;
    }
  }
  TVMFFIErrorSetRaisedFromCStr(kind, message.chars);
  return -1;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
