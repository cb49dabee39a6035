/*!
 * \file tvmffi_cubin/capture_scope.h
 * \brief Lets a thread load and set up kernels while streams are being captured.
 */
#ifndef TVMFFI_CUBIN_CAPTURE_SCOPE_H_
#define TVMFFI_CUBIN_CAPTURE_SCOPE_H_

#include "driver_entry.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuThreadExchangeStreamCaptureMode, 10010)

/*!
 * \brief The relaxed capture mode for the calling thread, for the length of a scope.
 *
 * What loads or frees would otherwise be refused in a capture, and end it. Nothing of that is work
 * on a stream, so a graph lacks nothing without it. For slow paths: it takes two driver calls.
 */
class CaptureScope {
 public:
  CaptureScope() { entered_ = Exchange(); }
  ~CaptureScope() {
    // The caller's own mode must come back, so a refusal is not taken the first time.
    if (entered_ && !Exchange()) Exchange();
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  bool Exchange() { return entry::cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS; }

  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool entered_ = false;
};

/*! \brief Whether the driver refused a call because of a capture that is under way. */
inline bool IsCaptureRefusal(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CAPTURE_SCOPE_H_
