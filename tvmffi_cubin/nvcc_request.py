"""`check`: whether a request asks nvcc for what only NVRTC's way of building has."""

from __future__ import annotations

import re

from .request import Request

__all__ = ["check"]

_EXPORTS = ("TVM_FFI_", "__tvm_ffi_")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)


def check(request: Request) -> None:
    """Refuse a request that nvcc cannot serve.

    Raises
    ------
    ValueError
        The message names the argument and what to do instead.
    """
    for argument, remedy in _refused(request):
        raise ValueError(f'{argument} and compiler="nvcc" do not go together: {remedy}')
    _check_launches(request)
    _check_exports(request)


def _refused(request: Request) -> list[tuple[str, str]]:
    """Return each argument that is in the way, and its remedy."""
    rdc = "extra_cuda_cflags=['-rdc=true']"
    found = []
    if request.kernel_sources:
        found.append(("kernel_sources", "they are for NVRTC; give them as cuda_sources"))
    if request.name_expressions:
        found.append(
            ("name_expressions", "nvcc makes the instances that host code launches; leave them out")
        )
    if request.device_libraries:
        found.append(
            (
                "device_libraries",
                f"build with load(sources=[..., 'lib.o']) and {rdc}, and nvcc links the device code"
                " of those files",
            )
        )
    if request.lto:
        found.append(("lto", "give nvcc's own flags, extra_cuda_cflags=['-rdc=true', '-dlto']"))
    if request.bound_params:
        found.append(
            (
                "bound_params",
                "CUDA's runtime launches what nvcc compiles, with the arguments of the source "
                "alone; pass them there, or leave out the compiler",
            )
        )
    return found


def _check_launches(request: Request) -> None:
    """See that a launcher that is to be generated has an image whose kernels it can launch."""
    if request.images or request.image_files:
        return
    for export in request.functions or ():
        if export.launches is not None:
            raise ValueError(
                f"functions[{export.name!r}] is a Launch, and kernels that nvcc compiles are "
                "launched by the host functions of their source alone: export one that launches "
                "it, or leave out the compiler"
            )


def _check_exports(request: Request) -> None:
    sources = (*request.cuda_sources, *request.files.cuda)
    for export in request.functions or ():
        kernel = re.compile(
            rf"\b__global__\b[^;{{}}()]*(?:\([^;{{}}()]*\))?[^;{{}}()]*\b{export.name}\s*\("
        )
        if export.launches is None and any(kernel.search(source.text) for source in sources):
            raise ValueError(
                f"functions names {export.name!r}, which is a kernel, and kernels that nvcc "
                "compiles are launched by the host functions of their source alone: name one of "
                "those, or leave out the compiler"
            )
    if request.functions or request.files.binaries or request.files.cxx or request.files.c:
        return
    texts = [source.text for source in (*sources, *request.cpp_sources)]
    # What a header exports is not seen here.
    if not any(sign in text for text in texts for sign in _EXPORTS) and not any(
        map(_INCLUDE.search, texts)
    ):
        raise ValueError(
            "nothing would be exported: name host functions in functions=, or export them with "
            "TVM_FFI_DLL_EXPORT_TYPED_FUNC; kernels that nvcc compiles are no functions of the "
            "module"
        )
