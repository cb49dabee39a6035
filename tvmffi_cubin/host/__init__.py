"""The host side: compilers and linker, units of host code, and builds of them with ninja.

Takes sources, flags and the `Step`s of a build; returns artifacts in a private folder and the files
read to make them. Never publishes, and knows nothing about CUDA but the names of its headers and
functions.
"""
