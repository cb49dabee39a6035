// Behind tvmffi_cubin_cccl_integers.h and CCCL's header: the prelude's integers, in cuda::std too.
#undef int64_t
#undef uint64_t
#undef int_least64_t
#undef uint_least64_t
#undef int_fast16_t
#undef int_fast32_t
#undef uint_fast16_t
#undef uint_fast32_t
#undef int_fast64_t
#undef uint_fast64_t
#undef intptr_t
#undef uintptr_t
#undef intmax_t
#undef uintmax_t
#include "stdint.h"
#include "tvmffi_cubin_limits_64.h"

// In CCCL's own inline namespace, where its headers look, by its macro of the release at hand.
#if defined(_CCCL_BEGIN_NAMESPACE_CUDA_STD)
_CCCL_BEGIN_NAMESPACE_CUDA_STD
#elif defined(_LIBCUDACXX_BEGIN_NAMESPACE_STD)
_LIBCUDACXX_BEGIN_NAMESPACE_STD
#else
namespace cuda {
namespace std {
#endif
using ::int64_t;
using ::uint64_t;
using ::int_least64_t;
using ::uint_least64_t;
using ::int_fast16_t;
using ::int_fast32_t;
using ::uint_fast16_t;
using ::uint_fast32_t;
using ::int_fast64_t;
using ::uint_fast64_t;
using ::intptr_t;
using ::uintptr_t;
using ::intmax_t;
using ::uintmax_t;
#if defined(_CCCL_BEGIN_NAMESPACE_CUDA_STD)
_CCCL_END_NAMESPACE_CUDA_STD
#elif defined(_LIBCUDACXX_BEGIN_NAMESPACE_STD)
_LIBCUDACXX_END_NAMESPACE_STD
#else
}  // namespace std
}  // namespace cuda
#endif
