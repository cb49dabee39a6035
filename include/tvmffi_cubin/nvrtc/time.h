// clock_t and clock are NVRTC's own.
