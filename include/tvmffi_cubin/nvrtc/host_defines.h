// The macros of this header are NVRTC's own.
