// The body of generated launchers: what works on the tables of plan.h. It is compiled once a
// toolchain and linked into every module: nothing in it depends on one of them, throws, or needs a
// C++ library.
//
// Each function that a module exports is a stub in its assembly that puts its table in the place
// of the first argument and jumps to one of these entries.
#include "bound.h"
#include "call.h"
#include "configure.h"
#include "image.h"
#include "occupancy.h"

#define TVMFFI_CUBIN_ENTRY(name, Table)                                          \
  extern "C" __attribute__((visibility("hidden"))) int tvmffi_cubin_##name(      \
      const tvmffi_cubin::Table& table, const TVMFFIAny* args, int32_t num_args, \
      TVMFFIAny* result)

namespace {

int ReturnText(const char* text, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray bytes{text, size};
  return TVMFFIStringFromByteArray(&bytes, result);
}

}  // namespace

#pragma GCC diagnostic ignored "-Wunused-parameter"

TVMFFI_CUBIN_ENTRY(call, FunctionPlan) {
  return tvmffi_cubin::Call(table, tvmffi_cubin::kNoOptions, args, num_args);
}

TVMFFI_CUBIN_ENTRY(doc, FunctionPlan) { return ReturnText(table.doc, strlen(table.doc), result); }

TVMFFI_CUBIN_ENTRY(configure, ModulePlan) {
  return tvmffi_cubin::Configure(table, args, num_args, result);
}

TVMFFI_CUBIN_ENTRY(preload, ModulePlan) { return tvmffi_cubin::Preload(table, args, num_args); }

TVMFFI_CUBIN_ENTRY(unload, ModulePlan) { return tvmffi_cubin::Unload(table); }

TVMFFI_CUBIN_ENTRY(occupancy, ModulePlan) {
  return tvmffi_cubin::DescribeOccupancy(table, args, num_args, result);
}

TVMFFI_CUBIN_ENTRY(manifest, ModulePlan) {
  return ReturnText(table.manifest, static_cast<size_t>(table.manifest_end - table.manifest),
                    result);
}

TVMFFI_CUBIN_ENTRY(bind, ModulePlan) { return tvmffi_cubin::Bind(table.bound, args, num_args); }

TVMFFI_CUBIN_ENTRY(bound, ModulePlan) {
  return tvmffi_cubin::ReadBound(table.bound, args, num_args, result);
}

TVMFFI_CUBIN_ENTRY(set_image_file, ModulePlan) {
  return tvmffi_cubin::SetImageFile(table, args, num_args);
}

// Where the module has anything to bind, its assembly defines this.
extern "C"
    __attribute__((weak, visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;

__attribute__((destructor)) static void ReleaseAllBound() {
  if (&__tvmffi_cubin_bound != nullptr) tvmffi_cubin::ReleaseBound(&__tvmffi_cubin_bound);
}
