/*!
 * \file tvmffi_cubin/cold.h
 * \brief How functions are defined that run once a process, or after a failure.
 *
 * They are compiled for size and never inlined. Where TVMFFI_CUBIN_COLD_COMPILED is defined they
 * are only declared, and an object that is linked has them: of tvmffi_cubin/cold.cc, compiled once
 * and not with every wrapper, or of a launcher's part launcher/cold.cc.
 */
#ifndef TVMFFI_CUBIN_COLD_H_
#define TVMFFI_CUBIN_COLD_H_

#ifdef TVMFFI_CUBIN_COLD_KEPT
// Not "used" and inline: of a constructor clang would then make one of the two that callers need.
#define TVMFFI_CUBIN_COLD __attribute__((noinline, cold, weak))
#define TVMFFI_CUBIN_SHARED __attribute__((noinline, weak))
#else
#define TVMFFI_CUBIN_COLD __attribute__((noinline, cold)) inline
/*! \brief The same of a function that is not rare, and long. */
#define TVMFFI_CUBIN_SHARED __attribute__((noinline)) inline
#endif

#endif  // TVMFFI_CUBIN_COLD_H_
