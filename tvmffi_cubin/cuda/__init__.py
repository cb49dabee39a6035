"""NVIDIA's libraries: where they are, and device code through them.

Takes sources, options and architectures; gives images, with what the compilers and linkers said of
them. It never looks anything up in the cache, and runs nothing on a GPU. Its modules are imported
one by one: a cache hit needs `arch`, `driver`, `libraries` and no compiler.
"""
