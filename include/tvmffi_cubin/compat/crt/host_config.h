// Host settings of nvcc; host code compiled without nvcc needs none of them.
#ifndef TVMFFI_CUBIN_COMPAT_CRT_HOST_CONFIG_H_
#define TVMFFI_CUBIN_COMPAT_CRT_HOST_CONFIG_H_
#pragma GCC system_header

#if __has_include_next(<crt/host_config.h>)
#include_next <crt/host_config.h>
#else
// In angle brackets: #include_next starts over in a file found next to its includer.
#include <crt/host_defines.h>
#endif

#endif  // TVMFFI_CUBIN_COMPAT_CRT_HOST_CONFIG_H_
