"""NVIDIA's libraries: where they are, and device code through them.

Takes sources, options and architectures; gives images. It never looks into the cache, and runs
nothing on a GPU. A cache hit needs `arch`, `driver`, `libraries` and no compiler.
"""
