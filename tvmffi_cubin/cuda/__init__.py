"""NVIDIA's libraries: locating them, and compiling and linking device code with them.

Takes sources, options and architectures; returns images. Never looks into the cache or runs
anything on a GPU. A cache hit needs `arch`, `driver` and `libraries`, but no compiler.
"""
