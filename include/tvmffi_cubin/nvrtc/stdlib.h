// malloc and free are NVRTC's own.
