// CuTe includes it for NVRTC; since CCCL 3.5, other headers have its contents.
#pragma once

#include <cuda/std/__cccl/version.h>
#if CCCL_VERSION >= 3005000
#include <cuda/std/__tuple_dir/tuple_element.h>
#include <cuda/std/__tuple_dir/tuple_size.h>
#else
#include_next <cuda/std/__tuple_dir/structured_bindings.h>
#endif
