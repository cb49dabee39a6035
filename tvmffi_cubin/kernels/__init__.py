"""What is in an image: a cubin, PTX or a fatbin to its kernels, their parameters and resources.

Takes bytes, gives plain records; also the one reader of ELF files, C++ types and symbols. Needs no
GPU and no CUDA tool. Damaged bytes are an `ImageError`. A hit imports only the modules it uses.
"""
