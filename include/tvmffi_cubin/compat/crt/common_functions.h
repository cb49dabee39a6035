// Device functions are not part of host code; CUDA 12's runtime wheel leaves this file out.
#pragma GCC system_header
