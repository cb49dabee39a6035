// The body of generated launchers: what works on the tables of plan.h. It is compiled once a
// toolchain and linked into every module: nothing in it depends on one of them, throws, or needs a
// C++ library.
//
// Each function that a module exports is a stub in its assembly that puts its table in the place
// of the first argument and jumps to one of these entries.
#include "module.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define TVMFFI_CUBIN_ENTRY(name, Table, call)                                    \
  extern "C" __attribute__((visibility("hidden"))) int tvmffi_cubin_##name(      \
      const tvmffi_cubin::Table& table, const TVMFFIAny* args, int32_t num_args, \
      TVMFFIAny* result) {                                                       \
    using namespace tvmffi_cubin;                                                \
    return call;                                                                 \
  }

static int ReturnText(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes{text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

TVMFFI_CUBIN_ENTRY(call, FunctionPlan, CallFunction(table, kNoOptions, args, num_args))
TVMFFI_CUBIN_ENTRY(doc, FunctionPlan, ReturnText(table.doc, strlen(table.doc), result))
TVMFFI_CUBIN_ENTRY(configure, ModulePlan, Configure(table, args, num_args, result))
TVMFFI_CUBIN_ENTRY(preload, ModulePlan, Preload(table, args, num_args))
TVMFFI_CUBIN_ENTRY(unload, ModulePlan, Unload(table))
TVMFFI_CUBIN_ENTRY(occupancy, ModulePlan, DescribeOccupancy(table, args, num_args, result))
TVMFFI_CUBIN_ENTRY(manifest, ModulePlan,
                   ReturnText(table.manifest,
                              static_cast<size_t>(table.manifest_end - table.manifest), result))
TVMFFI_CUBIN_ENTRY(bind, ModulePlan, Bind(table.bound, args, num_args))
TVMFFI_CUBIN_ENTRY(bound, ModulePlan, ReadBound(table.bound, args, num_args, result))
TVMFFI_CUBIN_ENTRY(set_image_file, ModulePlan, SetImageFile(table, args, num_args))

// Where the module has anything to bind, its assembly defines this.
extern "C"
    __attribute__((weak, visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;

__attribute__((destructor)) static void ReleaseAllBound() {
  if (&__tvmffi_cubin_bound != nullptr) tvmffi_cubin::ReleaseBound(&__tvmffi_cubin_bound);
}
