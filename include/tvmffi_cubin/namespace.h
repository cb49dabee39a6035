/*!
 * \file tvmffi_cubin/namespace.h
 * \brief The namespace's version and visibility: two shared objects never share state.
 */
#ifndef TVMFFI_CUBIN_NAMESPACE_H_
#define TVMFFI_CUBIN_NAMESPACE_H_

// Hidden, because an inline variable is otherwise one for the whole process (STB_GNU_UNIQUE), even
// between objects loaded with RTLD_LOCAL and built from different versions of these headers.
#define TVMFFI_CUBIN_BEGIN_NAMESPACE inline namespace v0_1 __attribute__((visibility("hidden"))) {
#define TVMFFI_CUBIN_END_NAMESPACE }

#endif  // TVMFFI_CUBIN_NAMESPACE_H_
