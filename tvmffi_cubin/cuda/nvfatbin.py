"""Joins images for several architectures to a fatbin, through nvFatbin."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ..errors import CompileError
from ..kernels.cubin import Cubin
from ..kernels.demangle import demangle
from . import program
from .arch import check_archs, number_of
from .libraries import Cuda, Library

# In the symbol of what is in an unnamed namespace.
_HIDDEN = b"_GLOBAL__N_"
# What is compressed can neither be inspected everywhere nor loaded without the time it takes.
_OPTIONS = (b"-compress=false",)


class NvFatbin(Library):
    """A loaded libnvfatbin."""

    title = "nvFatbin"
    prefix = "nvFatbin"

    def join(self, cubins: Sequence[Cubin]) -> bytes:
        """Return a fatbin of cubins and PTX."""
        handle, size = ctypes.c_void_p(), ctypes.c_size_t()
        options = (ctypes.c_char_p * len(_OPTIONS))(*_OPTIONS)
        with program.under_way():
            self.call("Create", ctypes.byref(handle), options, ctypes.c_size_t(len(_OPTIONS)))
            try:
                for cubin in cubins:
                    self._add(handle, cubin)
                self.call("Size", handle, ctypes.byref(size))
                buffer = ctypes.create_string_buffer(size.value)
                self.call("Get", handle, buffer)
                return buffer.raw
            finally:
                self.result("Destroy", ctypes.byref(handle))

    def _add(self, handle: ctypes.c_void_p, cubin: Cubin) -> None:
        name = cubin.arch.encode()
        if cubin.kind == "ptx":
            text = cubin.image.rstrip(b"\0") + b"\0"
            number = str(number_of(cubin.arch)).encode()
            self.call("AddPTX", handle, text, ctypes.c_size_t(len(text)), number, name, b"")
        else:
            number = name.partition(b"_")[2]
            size = ctypes.c_size_t(len(cubin.image))
            self.call("AddCubin", handle, cubin.image, size, number, name)


def join(cubins: Sequence[Cubin], *, cuda: Cuda) -> Cubin:
    """Return a fatbin of cubins and PTX, each for an architecture of its own, in one order."""
    by_arch = {cubin.arch: cubin for cubin in cubins}
    ordered = [by_arch[arch] for arch in check_archs(list(by_arch))]
    _check_hidden_names(ordered, cuda)
    versions = {cubin.cuda_version for cubin in ordered}
    return Cubin(
        image=NvFatbin.of(cuda.require("nvfatbin")).join(ordered),
        arch=", ".join(cubin.arch for cubin in ordered),
        lowered_names={k: v for cubin in ordered for k, v in cubin.lowered_names.items()},
        log="\n".join(dict.fromkeys(cubin.log for cubin in ordered if cubin.log)),
        kind="fatbin",
        cuda_version=versions.pop() if len(versions) == 1 else "",
    )


def _check_hidden_names(cubins: Sequence[Cubin], cuda: Cuda) -> None:
    """Refuse a kernel that would be a different one for each architecture.

    NVRTC before 12.9 puts the time into the symbols of unnamed namespaces.
    """
    homes: dict[str, tuple[Cubin, set[str]]] = {}
    for cubin in cubins:
        if _HIDDEN not in cubin.image:
            continue
        found: dict[str, set[str]] = {}
        for kernel in cubin.kernels:
            if _HIDDEN.decode() in kernel.name:
                found.setdefault(demangle(kernel.name), set()).add(kernel.name)
        for name, symbols in found.items():
            home, known = homes.setdefault(name, (cubin, symbols))
            if known.isdisjoint(symbols):
                raise CompileError(
                    f"NVRTC {cubin.cuda_version} gave kernel {name} one symbol for {home.arch} and "
                    f'another for {cubin.arch}: name the namespace, make the kernel extern "C", or '
                    "build for one architecture. NVRTC 12.9 and newer give it the same symbol, "
                    f"run: pip install --upgrade '{cuda.wheels['nvrtc']}>=12.9'"
                )
