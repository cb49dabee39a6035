"""`check_contents`: whether there is something to build, and its output can be made of it."""

from __future__ import annotations

import re

from .request import OBJECTS, Request

__all__ = ["check_contents"]


def check_contents(request: Request) -> None:
    """Refuse a request of nothing, and an output that cannot be made of what there is.

    Raises
    ------
    TypeError, ValueError
        The message says what is missing, or in the way.
    """
    name, files = request.output, request.files
    if not name.endswith((".so", *OBJECTS)):
        raise ValueError(f"output {name!r}: a shared object ends in .so, an object in .o")
    if request.image_files:
        from .images import check_files

        is_bound = bool(request.bound_params)
        check_files(request.image_files, request.images, request.functions, is_bound)
    shared = next((binary.path for binary in files.binaries if binary.is_shared), None)
    if shared is not None and request.is_object:
        raise ValueError(
            f"{shared} is a shared library, which cannot be part of the object {name!r}: "
            "leave it out, and link it with the object"
        )
    if not (request.has_sources or request.images or request.image_files):
        raise ValueError(
            f"load_inline({request.name!r}): there is no source: give cuda_sources (kernels, or a "
            "C++ wrapper), cpp_sources, or embed_cubin"
        )
    if request.is_by_nvcc:
        _check_nvcc(request)


_OF_NVRTC = ("kernel_sources", "name_expressions", "device_libraries", "lto", "bound_params")
# What a header exports is not seen here.
_EXPORTS = r'TVM_FFI_|__tvm_ffi_|^[ \t]*#[ \t]*include[ \t]*"'


def _check_nvcc(request: Request) -> None:
    for argument in _OF_NVRTC:
        if getattr(request, argument):
            raise ValueError(
                f'{argument} is for NVRTC: leave it out with compiler="nvcc", which takes its own '
                "flags in extra_cuda_cflags, such as -rdc=true and -dlto"
            )
    files = request.files
    if request.functions or files.binaries or files.cxx or files.c:
        return
    sources = (*request.cuda_sources, *files.cuda, *request.cpp_sources)
    if not any(re.search(_EXPORTS, source.text, re.MULTILINE) for source in sources):
        raise ValueError(
            "nothing would be exported: name host functions in functions=, or export them with "
            "TVM_FFI_DLL_EXPORT_TYPED_FUNC; kernels that nvcc compiles are no functions of the "
            "module"
        )
