/*!
 * \file tvmffi_cubin/core/namespace.h
 * \brief The namespace's version and visibility, and how rare code is compiled.
 */
#pragma once

// Hidden, because an inline variable is otherwise one for the whole process (STB_GNU_UNIQUE), even
// between objects loaded with RTLD_LOCAL and built from different versions of these headers.
#define TVMFFI_CUBIN_BEGIN_NAMESPACE inline namespace v0_1 __attribute__((visibility("hidden"))) {
#define TVMFFI_CUBIN_END_NAMESPACE }
#define TVMFFI_CUBIN_BEGIN namespace tvmffi_cubin { TVMFFI_CUBIN_BEGIN_NAMESPACE
#define TVMFFI_CUBIN_END TVMFFI_CUBIN_END_NAMESPACE }

// What runs once a process, or after a failure, is compiled for size and never inlined. Where
// TVMFFI_CUBIN_COLD_COMPILED is defined it is only declared, and an object that is linked has it.
#ifdef TVMFFI_CUBIN_COLD_KEPT
#define TVMFFI_CUBIN_COLD __attribute__((noinline, cold, weak))
#define TVMFFI_CUBIN_SHARED __attribute__((noinline, weak))
#else
#define TVMFFI_CUBIN_COLD __attribute__((noinline, cold)) inline
/*! \brief The same of a function that is not rare, and long. */
#define TVMFFI_CUBIN_SHARED __attribute__((noinline)) inline
#endif
