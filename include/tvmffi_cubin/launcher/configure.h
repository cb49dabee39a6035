/*!
 * \file tvmffi_cubin/launcher/configure.h
 * \brief A function with options: what a caller sets for its calls, held by a tvm-ffi function.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_CONFIGURE_H_
#define TVMFFI_CUBIN_LAUNCHER_CONFIGURE_H_

#include <stdlib.h>

#include "call.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A function and the options of its calls; the attributes lie behind it. */
struct ConfiguredFunction {
  const FunctionPlan* function;
  CallOptions options;
  CUlaunchAttribute attributes[];
};

/*! \brief Reads a figure of a launch's shape. */
inline int ReadFigure(const char* function, const char* what, const TVMFFIAny& any, unsigned* out,
                      bool* is_given) {
  int64_t value = 0;
  if (ReadOption(function, what, any, &value, is_given) != 0) return -1;
  if (!*is_given) return 0;
  if (value < 0 || value > UINT32_MAX) {
    return Fail("ValueError", "%s: %s is %lld, wanted 0 to %u", function, what,
                static_cast<long long>(value), UINT32_MAX);
  }
  *out = static_cast<unsigned>(value);
  return 0;
}

/*! \brief Reads stream, grid x y z, block x y z and dynamic_smem_bytes. */
inline int ReadOptions(const char* function, const TVMFFIAny* args, CallOptions* options) {
  static constexpr const char* kNames[] = {
      "grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "dynamic_smem_bytes"};
  static constexpr Step::Target kTargets[] = {Step::kGrid, Step::kBlock, Step::kSmem};
  CUlaunchConfig* const config = &options->config;
  int64_t stream = 0;
  if (args[0].type_index == kTVMFFIOpaquePtr) {
    options->has_stream = true;
    stream = reinterpret_cast<int64_t>(args[0].v_ptr);
  } else if (ReadOption(function, "stream", args[0], &stream, &options->has_stream) != 0) {
    return -1;
  }
  config->hStream = reinterpret_cast<CUstream>(stream);
  for (int i = 0; i < 7; ++i) {
    bool is_given = false;
    if (ReadFigure(function, kNames[i], args[1 + i], FiguresOf(config) + i, &is_given) != 0)
      return -1;
    if (is_given) options->replaced |= 1u << kTargets[i / 3];
  }
  return 0;
}

/*! \brief Finds a function by its name or number; null where there is none. */
inline const FunctionPlan* FindFunction(const ModulePlan& module, const TVMFFIAny& which) {
  if (which.type_index == kTVMFFIInt) {
    const bool is_one = which.v_int64 >= 0 && which.v_int64 < module.num_functions;
    return is_one ? &module.functions[which.v_int64] : nullptr;
  }
  const TVMFFIByteArray name = TextIn(which);
  for (int i = 0; i < module.num_functions && name.data != nullptr; ++i) {
    if (IsText(name, module.functions[i].name)) return &module.functions[i];
  }
  return nullptr;
}

/*! \brief What tvm-ffi calls: a call of a function with options. */
inline int CallConfigured(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny*) {
  const auto& configured = *static_cast<const ConfiguredFunction*>(self);
  return Call(*configured.function, configured.options, args, num_args);
}

/*!
 * \brief Makes a tvm-ffi function that calls a function with options. The arguments: its name or
 * number, stream, grid x y z, block x y z, dynamic_smem_bytes, attributes (bytes: an array of
 * CUlaunchAttribute, each in the place of the function's own); None leaves each as the function
 * says.
 */
TVMFFI_CUBIN_RARE int Configure(const ModulePlan& module, const TVMFFIAny* args, int num_args,
                                TVMFFIAny* result) {
  constexpr int kNumArguments = 10;
  constexpr size_t kSize = sizeof(CUlaunchAttribute), kMost = 64;
  if (num_args != kNumArguments) {
    return Fail("TypeError", "configure: got %d arguments, wanted %d", num_args, kNumArguments);
  }
  const FunctionPlan* function = FindFunction(module, args[0]);
  if (function == nullptr) {
    return Fail("ValueError", "configure: there is no such function: got %s",
                DescribeArgument(args[0]).chars);
  }
  TVMFFIByteArray bytes{nullptr, 0};
  if (args[9].type_index != kTVMFFINone && !AsBytes(args[9], &bytes)) {
    return Fail("TypeError", "%s: attributes: got %s, wanted bytes", function->name,
                DescribeArgument(args[9]).chars);
  }
  if (bytes.size % kSize != 0 || bytes.size > kSize * kMost) {
    return Fail("ValueError", "%s: attributes: got %zu bytes, wanted a multiple of %zu up to %zu",
                function->name, bytes.size, kSize, kSize * kMost);
  }
  CallOptions options;
  if (ReadOptions(function->name, args + 1, &options) != 0) return -1;
  auto* made = static_cast<ConfiguredFunction*>(malloc(sizeof(ConfiguredFunction) + bytes.size));
  if (made == nullptr) return Fail("MemoryError", "%s: configure", function->name);
  if (bytes.size != 0) memcpy(made->attributes, bytes.data, bytes.size);
  if (bytes.size != 0) {
    options.config.attrs = made->attributes;
    options.config.numAttrs = static_cast<unsigned>(bytes.size / kSize);
    for (int i = Step::kDimensions; i <= Step::kRaw; ++i) options.replaced |= 1u << i;
  }
  made->function = function;
  made->options = options;
  TVMFFIObjectHandle handle = nullptr;
  if (TVMFFIFunctionCreate(made, CallConfigured, free, &handle) != 0) {
    free(made);
    return -1;
  }
  result->type_index = kTVMFFIFunction;
  result->v_obj = static_cast<TVMFFIObject*>(handle);
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_CONFIGURE_H_
