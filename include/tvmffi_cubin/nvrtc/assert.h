// assert is NVRTC's own.
