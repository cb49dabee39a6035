"""The undefined symbols that a linker complains of, and what it takes to define each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..kernels.demangle import demangle

_UNDEFINED = (
    r"(?m)(?:undefined (?:reference to|symbol:|hidden symbol:|protected symbol:)|required symbol) *"
    r"(?:[`'\u2018](?P<quoted>.+?)['\u2019](?=\s|$|;)|(?P<bare>[^\s`'\u2018].*?)\s*$)"
)
# What `forwarders.refusing_flags` puts before a name.
_REFUSED = "__wrap_"
# What tvm-ffi's macros put before the name of an exported function.
_EXPORTED = "__tvm_ffi_"


def explain_undefined(output: str) -> list[str]:
    """Return the undefined symbols that a linker's output names, demangled, each once, in order.

    Understands GNU ld, gold, lld and mold.
    """
    names = (match["quoted"] or match["bare"] for match in re.finditer(_UNDEFINED, output))
    return list(dict.fromkeys(demangle(name.removeprefix("typeinfo for ")) for name in names))


def remedies(undefined: Sequence[str]) -> list[str]:
    """Return a line for each undefined symbol that says what it takes to define it."""
    return [f"{name}: {_remedy(name)}" for name in undefined]


def _remedy(name: str) -> str:
    if name.startswith(_REFUSED):
        return (
            f"{name.removeprefix(_REFUSED)} would pass kernels less than they take, since the "
            "module has bound_params: launch by CubinKernel"
        )
    if name.startswith(("__tvm_ffi__cubin_", "__tvmffi_cubin_image_")):
        image = re.sub(r"^__tvm_ffi__cubin_|^__tvmffi_cubin_image_|_end$", "", name)
        return f"no image is embedded under {image!r}; pass it as embed_cubin={{{image!r}: ...}}"
    if name.startswith(_EXPORTED):
        function = name.removeprefix(_EXPORTED)
        return (
            f"no kernel is called {function!r} and no file exports such a function; write "
            f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({function}, {function}); after its definition, or "
            "leave it out of functions"
        )
    if name.startswith("__cudaRegisterLinkedBinary"):
        return (
            "an object has nvcc's relocatable device code, which nvcc alone links: pass "
            "compiler=\"nvcc\" and extra_cuda_cflags=['-rdc=true'], or give its source"
        )
    if re.match(r"cuda[A-Z]", name):
        return "the CUDA runtime has no such function, or its wheel's libcudart is missing"
    if re.match(r"cu[A-Z]\w*$", name):
        return "the driver's header cuda.h declares no such function; check its name"
    if re.match(r"_?Py[A-Z_]", name):
        return "the interpreter has it at run time; pass extra_ldflags=['-Wl,-z,undefs']"
    return "link the library that defines it with extra_ldflags, or add its source to cpp_sources"
