from __future__ import annotations


def build_common_cflags(cuda_home, extra_include_dirs):
    own = ["-DCOMMON=1", f"-isystem {cuda_home or '$cuda_home'}/include"]
    return [*own, *(f"-I{folder}" for folder in extra_include_dirs or ())]


def build_cflags(common_cflags, extra_cflags):
    return ["$common_cflags", "-fPIC", *(extra_cflags or ())]


def build_cuda_cflags(common_cflags, extra_cuda_cflags):
    own = ["-ccbin", "gcc-of-nvcc", "$common_cflags", "--compiler-options=-fPIC"]
    return [*own, "-gencode=arch=compute_90a,code=sm_90a", *(extra_cuda_cflags or ())]


def parse_env_flags(name):
    return []
