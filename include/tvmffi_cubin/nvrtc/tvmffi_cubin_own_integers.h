// Behind tvmffi_cubin_cccl_integers.h and CCCL's header: the prelude's integers, in cuda::std too.
#undef int64_t
#undef uint64_t
#undef int_least64_t
#undef uint_least64_t
#undef int_fast64_t
#undef uint_fast64_t
#undef intptr_t
#undef uintptr_t
#undef intmax_t
#undef uintmax_t
#include "stdint.h"
#include "tvmffi_cubin_limits_64.h"

namespace cuda {
namespace std {
using ::int64_t;
using ::uint64_t;
using ::int_least64_t;
using ::uint_least64_t;
using ::int_fast64_t;
using ::uint_fast64_t;
using ::intptr_t;
using ::uintptr_t;
using ::intmax_t;
using ::uintmax_t;
}  // namespace std
}  // namespace cuda
