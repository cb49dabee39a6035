"""Contents of an image (cubin, PTX or fatbin): its kernels, their parameters and resources.

Takes bytes, returns plain records; also the only reader of ELF files, C++ types and symbols. Needs
no GPU or CUDA tool. Damaged bytes raise `ImageError`. A hit imports only the modules it uses.
"""
