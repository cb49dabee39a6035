// runtime.cc with the ends of exported functions and throws, where a module has any.
#include <tvm/ffi/error.h>

#include "runtime.cc"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_ONCE int EndRefused(TVMFFIAny* result) {
  has_refusal = false;
  // Whoever has asked for the runtime's error knows of it.
  if (refusal.error != cudaSuccess && cudaGetLastError() != refusal.error) return 0;
  if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result->v_obj);
  *result = {};  // None
  TVMFFIErrorSetRaisedFromCStr(refusal.is_limit ? "LaunchLimitError" : "LaunchError",
                               refusal.text.chars);
  return -1;
}

TVMFFI_CUBIN_ONCE int EndThrown() {
  // An exception of the function's own goes before.
  if (has_refusal) cudaGetLastError();
  has_refusal = false;
  try {
    throw;
  } catch (const tvm::ffi::Error& error) {
    tvm::ffi::detail::SetSafeCallRaised(error);
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
  }
  return -1;
}

TVMFFI_CUBIN_ONCE Thrower::Thrower(const char* kind, const TVMFFIByteArray* backtrace,
                                   bool is_logged)
    : builder_(new tvm::ffi::detail::ErrorBuilder(kind, backtrace, is_logged)) {}

TVMFFI_CUBIN_ONCE Thrower::~Thrower() noexcept(false) {
  delete builder_;  // which throws
  __builtin_unreachable();
}

TVMFFI_CUBIN_ONCE std::ostringstream& Thrower::stream() { return builder_->stream(); }

TVMFFI_CUBIN_END
