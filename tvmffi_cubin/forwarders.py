"""What lets a wrapper call CUDA's driver and runtime by name with neither of them to link.

One unit forwards every driver function that ``cuda.h`` declares, each from a section of its own,
and the link drops the sections that nothing calls (``--gc-sections``); libcudart is linked only
where a call is left for it (``--as-needed``). So nothing has to be known of the wrapper's object
before the link, and the unit compiles beside the wrapper; forwarders for the wrapper's undefined
symbols alone would be a step between its compilation and the link. Measured (2 cores, gcc 12, CUDA
12.9, 571 functions): reading ``cuda.h`` 11 ms, compiling the unit 90 ms beside a wrapper's 1600,
the link 54 ms in place of 45, the shared object as large as without (84 KB more if all are kept).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template

from .cache import memo
from .kernels.demangle import demangle
from .kernels.elf import Elf

__all__ = [
    "calls_driver",
    "cudart_flags",
    "driver_functions",
    "explain_undefined",
    "forwarder_unit",
    "link_flags",
    "refusing_flags",
    "remedies",
]

_DECLARED = re.compile(r"^\s*CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(", re.MULTILINE)
_RENAMED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+cu[A-Z]\w*[ \t]+"
    r"(?:__CUDA_API_PT(?P<mode>DS|SZ)\((?P<streamed>cu[A-Z]\w*)\)|(?P<plain>cu[A-Z]\w*))[ \t\r]*$",
    re.MULTILINE,
)
_OF_DRIVER = re.compile(r"cu[A-Z]\w*\Z")
_UNDEFINED = re.compile(
    r"(?:undefined (?:reference to|symbol:|hidden symbol:|protected symbol:)|required symbol) *"
    r"(?:[`'\u2018](?P<quoted>.+?)['\u2019](?=\s|$|;)|(?P<bare>[^\s`'\u2018].*?)\s*$)",
    re.MULTILINE,
)
# What passes a kernel the very pointers that it is given.
_LAUNCHES = (
    *("cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel", "cuLaunchKernelEx"),
    *("cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice", "cuGraphAddKernelNode"),
    *("cuGraphKernelNodeSetParams", "cuGraphExecKernelNodeSetParams", "cuGraphAddNode"),
    *("cuGraphNodeSetParams", "cuGraphExecNodeSetParams", "cudaLaunchKernel", "__cudaLaunchKernel"),
    *("cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cudaGraphAddKernelNode"),
    *("cudaLaunchCooperativeKernelMultiDevice", "cudaGraphKernelNodeSetParams"),
    *("cudaGraphExecKernelNodeSetParams", "cudaGraphAddNode", "cudaGraphNodeSetParams"),
    "cudaGraphExecNodeSetParams",
)
_REFUSED = "__wrap_"
# What tvm-ffi's macros put before the name of an exported function.
_EXPORTED = "__tvm_ffi_"


def driver_functions(cuda_h: str) -> list[str]:
    """Return the driver's symbols that code compiled with a ``cuda.h`` can refer to, sorted.

    Parameters
    ----------
    cuda_h : str
        The header's text. Its macros rename functions to their current forms (``cuMemAlloc_v2``),
        with per-thread default streams to those of another suffix.
    """
    names = set(_DECLARED.findall(cuda_h))
    for match in _RENAMED.finditer(cuda_h):
        if match["plain"]:
            names.add(match["plain"])
        else:
            suffix = f"_pt{match['mode'].lower()}"
            names.update((match["streamed"], match["streamed"] + suffix))
    return sorted(names)


def forwarder_unit(cuda_h: str | os.PathLike[str]) -> str:
    """Return the text of the C++ unit that forwards every driver function of a ``cuda.h``.

    Parameters
    ----------
    cuda_h : path-like
        The header.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It declares no driver function.
    """
    path = Path(cuda_h)
    names = memo.remember(
        path,
        lambda: " ".join(driver_functions(path.read_text(errors="replace"))),
        # Who reads it otherwise asks something else.
        what=f"driver functions {_DECLARED.pattern} {_RENAMED.pattern}",
    ).split()
    if not names:
        raise ValueError(f"{path} declares no driver function: wanted CUDA's cuda.h")
    lines = "\n".join(f'"tvmffi_cubin_forward {name}\\n"' for name in names)
    return _template().substitute(lines=lines)


def calls_driver(data: bytes) -> bool:
    """Whether an object calls driver functions by name, so that its link needs `forwarder_unit`.

    Raises
    ------
    ValueError
        It is no object.
    """
    symbols = Elf(data).symbols(having="cu")
    return any(_OF_DRIVER.match(symbol.name) for symbol in symbols if symbol.is_undefined)


@cache
def _template() -> Template:
    path = Path(__file__).parent / "templates" / "forwarders.cc.in"
    return Template(path.read_text(encoding="utf-8"))


def link_flags(extra: Sequence[str]) -> tuple[str, ...]:
    """Return the linker flags of a wrapper: its user's, less CUDA's libraries, and ours.

    ``-lcuda`` and ``-lcudart`` are taken out: a machine without a toolkit has neither file, the
    forwarders stand for the one and the runtime wheel's library for the other.

    Parameters
    ----------
    extra : sequence of str
        The user's own flags.
    """
    kept = [flag for flag in extra if flag.strip() not in ("-lcuda", "-lcudart")]
    return ("-Wl,--gc-sections", *kept)


def cudart_flags(cudart: Path) -> tuple[str, ...]:
    """Return the linker flags of a wrapper that calls the runtime wheel's library.

    Others have none of them: the folder that it is found in is one of this machine.

    Parameters
    ----------
    cudart : Path
        The wheel's ``libcudart.so.<major>``.
    """
    library = ("-Wl,--as-needed", str(cudart), "-Wl,--no-as-needed")
    return (*library, "-Xlinker", "-rpath", "-Xlinker", str(cudart.parent))


def refusing_flags() -> tuple[str, ...]:
    """Return linker flags with which code does not link that passes kernels what it is given.

    A reference to a function in another object, as that to the driver's or libcudart's is, becomes
    one to a name that nothing defines. What our headers define in the object itself stays.
    """
    forms = (f"{name}{suffix}" for name in _LAUNCHES for suffix in ("", "_ptsz", "_v2"))
    return tuple(f"-Wl,--wrap={form}" for form in forms)


def explain_undefined(output: str) -> list[str]:
    """Return the undefined symbols that a linker's output names, demangled, each once, in order.

    Understands GNU ld, gold, lld and mold.
    """
    names = (match["quoted"] or match["bare"] for match in _UNDEFINED.finditer(output))
    return list(dict.fromkeys(demangle(name.removeprefix("typeinfo for ")) for name in names))


def remedies(undefined: Sequence[str]) -> list[str]:
    """Return a line for each undefined symbol that says what it takes to define it."""
    return [f"{name}: {_remedy(name)}" for name in undefined]


def _remedy(name: str) -> str:
    if name.startswith(_REFUSED):
        return (
            f"{name.removeprefix(_REFUSED)} would pass kernels less than they take, since the "
            "module has bound_params: launch by CubinKernel, or by cudaLaunchKernelExC in C++"
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
