// The functions of this header are NVRTC's own.
