// Device functions are not part of host code; CUDA 12's runtime wheel lacks this file.
#pragma GCC system_header
