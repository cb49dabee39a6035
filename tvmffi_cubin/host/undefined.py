"""The undefined symbols that a linker complains of, and what it takes to define each."""

from __future__ import annotations

import re

from ..kernels.demangle import demangle

_UNDEFINED = (
    r"(?m)(?:undefined (?:reference to|symbol:|hidden symbol:|protected symbol:)|required symbol) *"
    r"(?:[`'\u2018](?P<quoted>.+?)['\u2019](?=\s|$|;)|(?P<bare>[^\s`'\u2018].*?)\s*$)"
)
# What it takes, by symbol; the first that matches.
_REMEDIES = {
    # What `forwarders.refusing_flags` makes of a name.
    r"__wrap_(?P<name>.*)": "{name} would pass kernels less than they take, since the module has "
    "bound_params: launch by CubinKernel",
    r"__tvm(?:_ffi__cubin|ffi_cubin_image)_(?P<name>.*?)(?:_end)?": "no image is embedded under "
    "'{name}'; pass it as embed_cubin={{'{name}': ...}}",
    r"__tvm_ffi_(?P<name>.*)": "no kernel is called '{name}' and no file exports such a function; "
    "write TVM_FFI_DLL_EXPORT_TYPED_FUNC({name}, {name}); after its definition, or leave it out of "
    "functions",
    r"__cudaRegisterLinkedBinary.*": "an object has nvcc's relocatable device code, which nvcc "
    "alone links: pass compiler=\"nvcc\" and extra_cuda_cflags=['-rdc=true'], or give its source",
    r"cuda[A-Z].*": "the CUDA runtime has no such function, or its wheel's libcudart is missing",
    r"cu[A-Z]\w*": "the driver's header cuda.h declares no such function; check its name",
    r"_?Py[A-Z_].*": "the interpreter has it at run time; pass extra_ldflags=['-Wl,-z,undefs']",
    r".*": "link the library that defines it with extra_ldflags, or add its source to cpp_sources",
}


def explain_undefined(output: str) -> list[str]:
    """Return a line for each undefined symbol that a linker's output names: what defines it.

    Understands GNU ld, gold, lld and mold.
    """
    found = (match["quoted"] or match["bare"] for match in re.finditer(_UNDEFINED, output))
    names = dict.fromkeys(demangle(name.removeprefix("typeinfo for ")) for name in found)
    return [f"{name}: {_remedy(name)}" for name in names]


def _remedy(name: str) -> str:
    for pattern, remedy in _REMEDIES.items():
        if match := re.fullmatch(pattern, name, re.DOTALL):
            return remedy.format(**match.groupdict())
    raise AssertionError
