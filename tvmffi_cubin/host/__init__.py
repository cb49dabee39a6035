"""The host's tools: what runs a build's compilers, its plan, ninja. It knows nothing of CUDA."""
