"""What is in an image: a cubin, PTX or a fatbin to its kernels, their parameters and resources.

Takes bytes, gives plain records; also the one reader of ELF files, for host objects as well, and of
C++ types and symbols. Needs no GPU and no CUDA tool. Damaged bytes are an `ImageError`.

Nothing is imported here, so that a cache hit pays for what it uses alone: import the submodules.
"""
