"""What nvcc is asked for: how it compiles a unit and links device code, and what it cannot do."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .cuda.arch import resolve_archs
from .cuda.nvcc import arch_values, compile_flags, host_compiler, is_separate, link_flags
from .host_unit import own_statics
from .plan import Cxx, DeviceLink
from .sources import HostFile
from .toolset import Toolset

if TYPE_CHECKING:
    from .request import Request


def text_unit(
    name: str,
    tools: Toolset,
    *,
    archs: Sequence[str],
    flags: Sequence[str],
    include_paths: Sequence[str],
) -> Cxx:
    """Return how a text in the build folder is compiled.

    Parameters
    ----------
    name : str
        Its file.
    tools : Toolset
        Those of the build, with nvcc.
    archs : sequence of str
        The architectures, none where the flags name them.
    flags : sequence of str
        The caller's, from `nvcc.caller_flags`.
    include_paths : sequence of str
        The user's header folders.

    Raises
    ------
    ToolchainError
        No architecture is known.
    """
    return Cxx(name, _command(tools), _words(tools, archs, flags), tuple(include_paths))


def file_unit(
    file: HostFile,
    name: str,
    tools: Toolset,
    *,
    archs: Sequence[str],
    flags: Sequence[str],
    include_paths: Sequence[str],
) -> Cxx:
    """Return how a file is compiled where it lies; `name` is its object's.

    Raises
    ------
    ToolchainError
        No architecture is known.
    """
    assert file.source.path is not None
    folders = (folder.replace(",", "\\,") for folder in file.source.further_folders)
    further = (f"-Xcompiler=-iquote,{folder}" for folder in folders)
    words = (*_words(tools, archs, flags), *further)
    return Cxx(file.source.path, _command(tools), words, tuple(include_paths), name=name)


def device_link(
    objects: Sequence[str], tools: Toolset, *, archs: Sequence[str], flags: Sequence[str]
) -> DeviceLink | None:
    """Return how device code that is yet to be linked becomes an object; None where there is none.

    Parameters
    ----------
    objects : sequence of str
        Objects and static libraries that may have some.
    tools, archs, flags
        As in `text_unit`.

    Raises
    ------
    ToolchainError
        No architecture is known.
    """
    if not is_separate(flags):
        return None
    words = (*_host(tools, flags), *link_flags(flags, _named(archs, flags)))
    return DeviceLink("device_link", _command(tools), words, tuple(objects))


def runtime(tools: Toolset, flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the libraries and the linker's flags that what nvcc compiles is linked with.

    The runtime library is the static one, as nvcc itself links it: no folder of this machine is in
    the shared object, and no other version in the process gets in its way.
    """
    nvcc = tools.nvcc
    assert nvcc is not None
    libraries = [nvcc.runtime] if nvcc.runtime else []
    of_devices = f"{nvcc.libraries}/libcudadevrt.a"
    if is_separate(flags) and nvcc.libraries and os.path.isfile(of_devices):
        libraries.insert(0, of_devices)
    folder = (f"-L{nvcc.libraries}",) if nvcc.libraries else ()
    return tuple(libraries), (*folder, "-ldl", "-lpthread", "-lrt")


def _command(tools: Toolset) -> tuple[str, ...]:
    assert tools.nvcc is not None
    return (tools.nvcc.path,)


def _words(tools: Toolset, archs: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a compilation; the headers of packages come last."""
    headers = ("-I", str(tools.include), "-isystem", str(tools.tvm_ffi.include))
    words = compile_flags(flags, _named(archs, flags))
    return ("-x", "cu", *_host(tools, flags), *words, *headers)


def _named(archs: Sequence[str], flags: Sequence[str]) -> Sequence[str]:
    """Return the architectures; raises ToolchainError where none is known."""
    return archs or (() if arch_values(flags) else resolve_archs())


def _host(tools: Toolset, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for nvcc's host compiler: the one of the build, where no other is named."""
    assert tools.nvcc is not None
    if host_compiler(flags) is not None:
        return tuple(f"-Xcompiler={flag}" for flag in own_statics(tools.nvcc.host))
    compiler = tools.compiler
    # A launcher such as ccache cannot be named with what it starts.
    own = own_statics(tools.host.compiler)
    options = (*own, *(option.replace(",", "\\,") for option in compiler.options))
    return ("-ccbin", compiler.programs[-1], *(f"-Xcompiler={option}" for option in options))


def check_request(request: Request) -> None:
    """Refuse a request that nvcc cannot serve.

    Raises
    ------
    ValueError
        The message names the argument and what to do instead.
    """
    rdc = "extra_cuda_cflags=['-rdc=true'"
    remedies = {
        "kernel_sources": "they are for NVRTC; give them as cuda_sources",
        "name_expressions": "nvcc makes the instances that host code launches; leave them out",
        "device_libraries": f"build with load(sources=[..., 'lib.o']) and {rdc}], and nvcc links "
        "the device code of those files",
        "lto": f"give nvcc's own flags, {rdc}, '-dlto']",
        "bound_params": "CUDA's runtime launches what nvcc compiles, with the arguments of the "
        "source alone; pass them there, or leave out the compiler",
    }
    for argument, remedy in remedies.items():
        if getattr(request, argument):
            raise ValueError(f'{argument} and compiler="nvcc" do not go together: {remedy}')
    _check_launches(request)
    _check_exports(request)


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
    if not any(
        re.search(r'TVM_FFI_|__tvm_ffi_|^[ \t]*#[ \t]*include[ \t]*"', text, re.MULTILINE)
        for text in texts
    ):
        raise ValueError(
            "nothing would be exported: name host functions in functions=, or export them with "
            "TVM_FFI_DLL_EXPORT_TYPED_FUNC; kernels that nvcc compiles are no functions of the "
            "module"
        )
