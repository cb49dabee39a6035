/*!
 * \file launch_check.h
 * \brief What the driver refuses to launch.
 */
#ifndef STUB_LAUNCH_CHECK_H_
#define STUB_LAUNCH_CHECK_H_

#include "stub.h"

/*! \brief The kernel as the launch's device runs it, and the stream. */
typedef struct {
  int device;
  const StubKernelInfo* info;
  const StubSettings* settings;
  StubStream* stream; /* null for a default one */
} Target;

CUresult StubCheckLaunch(const CUlaunchConfig* config, const Target* target);

#endif  // STUB_LAUNCH_CHECK_H_
