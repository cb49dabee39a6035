"""The units of host code: the user's own files included as they are, then the exports.

What generates the units of mixed sources is here, too, since they begin and end alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .plan import Cxx

if TYPE_CHECKING:
    from ..inline.tools import Toolset
    from ..sources.sort import HostFile, HostSource

# What tvm-ffi's load_inline puts before every source, and code written for it relies on.
_HEADERS = (
    "tvm/ffi/container/tensor.h",
    "tvm/ffi/dtype.h",
    "tvm/ffi/error.h",
    "tvm/ffi/extra/c_env_api.h",
    "tvm/ffi/function.h",
)
# What mixed sources begin with is hoisted as far as it is one of these: headers of the packages
# that wrappers build on, which must not see CUDA's words as macros.
_PACKAGES = r"(tvm/ffi|dlpack|tvmffi_cubin)/|cuda(_runtime(_api)?|_fp16|_bf16)?\.h\Z"
# These may stand between: they define no macro that those look at, as any other header may.
_STANDARD = (
    "(algorithm|array|atomic|functional|iostream|limits|map|memory|mutex|optional|set|sstream"
    "|stdexcept|string|string_view|tuple|type_traits|unordered_map|unordered_set|utility|variant"
    r"|vector|c(assert|math|stddef|stdint|stdio|stdlib|string))\Z"
)
# White space, a comment, or an include of angle brackets that is alone on its line.
_PIECE = (
    r"\s+|//[^\n\\]*(?=\n|\Z)|/\*.*?\*/"
    r"|\#[^\S\n]*include[^\S\n]*<([^>\n]+)>(?=[^\S\n]*(?:\n|//|/\*|\Z))"
)
BOUND_PARAMS = "-DTVMFFI_CUBIN_BOUND_PARAMS"
"""Launches append what is bound: see tvmffi_cubin/kernel.h."""

_METADATA = """\
#ifndef TVM_FFI_DLL_EXPORT_INCLUDE_METADATA
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#endif
"""

# The user's flags are for C and C++; a standard of the one is an error to some compilers of the
# other.
_CXX_STANDARD = r"-std=(?:c|gnu)\+\+"
_C_STANDARD = r"-std=(?:c|gnu|iso9899:)\d"

Exports = Sequence[tuple[str, str]]
"""Names of functions that a unit exports, each with its docstring."""


# Texts


def prefix(exports: Exports, *, is_cuda: bool) -> str:
    """Return the headers that a unit begins with: the same for most units."""
    # Docstrings are part of tvm-ffi's metadata, which costs compile time and is off by default.
    metadata = _METADATA if any(doc for _, doc in exports) else ""
    headers = (*_HEADERS, "cuda_runtime.h") if is_cuda else _HEADERS
    return metadata + "\n".join(f"#include <{header}>" for header in headers)


def host_unit(sources: Sequence[HostSource], exports: Exports, *, is_cuda: bool) -> str:
    """Return the text of the unit that includes sources and exports functions.

    The sources are included by file name, so that the compiler's messages show the user's own
    lines; `is_cuda` says that they were given as CUDA sources, where nvcc would include
    ``cuda_runtime.h``.
    """
    includes = "\n".join(f'#include "{source.file}"' for source in sources)
    return _unit(prefix(exports, is_cuda=is_cuda), includes, _exported(exports))


def common_mixed_prefix(exports: Exports) -> str:
    """Return what all units of `mixed_unit` begin with."""
    # What functions of tvm-ffi's headers throw goes through the first, too.
    throw, mixed = (f"#include <tvmffi_cubin/mixed/{name}.h>" for name in ("throw", "mixed"))
    return f"{throw}\n{prefix(exports, is_cuda=True)}\n{mixed}"


def mixed_prefix(text: str, exports: Exports, headers: Sequence[str] = ()) -> str:
    """Return what a unit of `mixed_unit` begins with: further headers, then what `text` does."""
    common = common_mixed_prefix(exports)
    further = (f"#include <{name}>" for name in (*headers, *_leading_packages(text)))
    lines = dict.fromkeys(line for line in further if line not in common.split("\n"))
    return "\n".join((common, *lines))


def _leading_packages(text: str) -> list[str]:
    """Return the headers of packages that a source begins with, before any other directive."""
    names, at = [], 0
    pattern = re.compile(_PIECE, re.DOTALL)
    while piece := pattern.match(text, at):
        at = piece.end()
        name = (piece[1] or "").strip()
        if re.match(_PACKAGES, name):
            names.append(name)
        elif name and not re.match(_STANDARD, name):
            break
    return names


def mixed_unit(
    prefix: str, file: str, *, tag: str, variables: Sequence[str], exports: Exports
) -> str:
    """Return the text of the unit that includes the host part of mixed sources, by its file.

    Parameters
    ----------
    prefix : str
        What `mixed_prefix` returned. It comes before CUDA's words are macros, which the headers in
        it look at.
    file : str
        The file with the sources.
    tag : str
        The end of its table's symbol, see `mixed_table_unit`.
    variables : sequence of str
        Device variables that the host part names.
    exports : sequence of (str, str)
        As in `host_unit`.
    """
    head = f"{prefix}\n#include <tvmffi_cubin/mixed/qualifiers.h>\nTVMFFI_CUBIN_MIXED_UNIT({tag})"
    shadows = [f"TVMFFI_CUBIN_DEVICE_VARIABLE({name})" for name in variables]
    return _unit(head, f'#include "{file}"', [*shadows, *_exported(exports)])


def _unit(head: str, includes: str, exports: Sequence[str]) -> str:
    lines = ("// Generated by tvmffi_cubin; a change made here is lost.", head, includes, *exports)
    return "\n".join(lines) + "\n"


def _exported(exports: Exports) -> list[str]:
    lines = []
    for name, doc in exports:
        lines.append(f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({name}, {name});")
        if doc:
            lines.append(f"TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({name}, {_quoted(doc)});")
    return lines


def _quoted(text: str) -> str:
    # Octal escapes end after three digits, whatever follows.
    plain = (chr(x) if 32 <= x < 127 and x not in b'"\\?' else f"\\{x:03o}" for x in text.encode())
    return f'"{"".join(plain)}"'


# Flags


def host_flags(tools: Toolset, cflags: Sequence[str]) -> tuple[str, ...]:
    """Return the compiler flags of host code; the user's own come last, to have the last word."""
    own = [f"-I{tools.include / 'tvmffi_cubin' / 'compat'}"] if tools.has_own_runtime else []
    statics = own_statics(tools.host.compiler)
    system = _system_folders(tools)
    return ("-std=c++17", "-fPIC", "-O2", *statics, *own, f"-I{tools.include}", *system, *cflags)


def own_statics(compiler: str) -> tuple[str, ...]:
    """Return flags with which a module has its own static variables of templates and inline code.

    gcc makes them one for the process (STB_GNU_UNIQUE), however libraries are loaded: an edited
    source that is loaded again would go on with those of its former build. What defines such a
    symbol is never unmapped; links of modules see to that without it. `compiler` is what
    `HostTools` tells of it.
    """
    return ("-fno-gnu-unique",) if "gcc version " in compiler else ()


def _system_folders(tools: Toolset) -> list[str]:
    # The headers of others are not the user's to mend: no warnings about them.
    others = (str(tools.tvm_ffi.include), *tools.cuda_include_dirs)
    return [word for folder in others for word in ("-isystem", folder)]


# Files that are compiled where they lie


def file_units(
    files: Sequence[HostFile],
    tools: Toolset,
    *,
    cflags: Sequence[str],
    cuda_flags: Sequence[str],
    include_paths: Sequence[str],
    by_nvcc: Callable[..., Cxx] | None = None,
) -> tuple[Cxx, ...]:
    """Return how host files are compiled, each by the compiler of its language.

    `cflags` are the user's for C and C++, `cuda_flags` for CUDA files. `by_nvcc` says how nvcc
    compiles a CUDA file to an object of a name; it is None where the host compiler does.
    """
    units = []
    for index, file in enumerate(files):
        path, name, folders = file.source.path, f"file_{index}", file.source.further_folders
        assert path is not None
        if by_nvcc is not None and file.language == "cuda":
            units.append(by_nvcc(path, name=name, folders=folders))
            continue
        compiler = tools.compiler
        if file.language == "c":
            assert tools.c_compiler is not None
            compiler = tools.c_compiler
            flags = _c_flags(tools, cflags)
        elif file.language == "c++":
            own = [flag for flag in cflags if not re.match(_C_STANDARD, flag)]
            flags = ("-x", "c++", *host_flags(tools, own))
        else:
            # As nvcc does, which calls this header its own.
            flags = ("-x", "c++", *host_flags(tools, cuda_flags), "-include", "cuda_runtime.h")
        flags = (*flags, *(word for folder in folders for word in ("-iquote", folder)))
        units.append(Cxx(path, compiler.command, flags, tuple(include_paths), name=name))
    return tuple(units)


def _c_flags(tools: Toolset, cflags: Sequence[str]) -> tuple[str, ...]:
    system = _system_folders(tools)
    if tools.has_own_runtime:
        # CUDA's own headers, as ours are C++; what the wheel lacks of them comes after. The last
        # folder is there because gcc takes it for an error to ask for a next header in the last.
        own = (tools.include / "tvmffi_cubin" / "compat", tools.include)
        system += [word for folder in own for word in ("-idirafter", str(folder))]
    flags = [flag for flag in cflags if not re.match(_CXX_STANDARD, flag)]
    return ("-x", "c", "-fPIC", "-O2", *system, *flags)
