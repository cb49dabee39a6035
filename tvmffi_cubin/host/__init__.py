"""The host: its compilers and linker, the units of host code, and builds of them by ninja.

Takes sources, flags and the `Step`s of a build, gives artifacts in a private folder and the files
that were read for them. Never publishes, and knows nothing of CUDA but the names of its headers and
calls.
"""
