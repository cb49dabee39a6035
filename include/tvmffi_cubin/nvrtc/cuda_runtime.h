// NVRTC has declared the runtime header's device part before the source starts.
