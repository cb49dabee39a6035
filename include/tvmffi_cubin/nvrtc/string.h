// memcpy and memset are NVRTC's own.
