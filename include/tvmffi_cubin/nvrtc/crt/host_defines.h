// The macros of this header are NVRTC's own; CUDA 12's runtime wheel lacks the file.
