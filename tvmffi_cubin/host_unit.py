"""The units of host code: the user's own files included as they are, then the exports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from .functions.assembly import quoted
from .leading_includes import leading_includes
from .sources.sort import HostSource

if TYPE_CHECKING:
    from .inline.tools import Toolset

__all__ = [
    "BOUND_PARAMS",
    "common_mixed_prefix",
    "host_flags",
    "host_unit",
    "mixed_prefix",
    "mixed_unit",
    "own_statics",
    "prefix",
]

# What tvm-ffi's load_inline puts before every source, and code written for it relies on.
_HEADERS = (
    "tvm/ffi/container/tensor.h",
    "tvm/ffi/dtype.h",
    "tvm/ffi/error.h",
    "tvm/ffi/extra/c_env_api.h",
    "tvm/ffi/function.h",
)
_PACKAGES = re.compile(r"(tvm/ffi|dlpack|tvmffi_cubin)/|cuda(_runtime(_api)?|_fp16|_bf16)?\.h\Z")
# Define no macro that those look at, as any other header may.
_STANDARD = re.compile(
    "(algorithm|array|atomic|functional|iostream|limits|map|memory|mutex|optional|set|sstream"
    "|stdexcept|string|string_view|tuple|type_traits|unordered_map|unordered_set|utility|variant"
    r"|vector|c(assert|math|stddef|stdint|stdio|stdlib|string))\Z"
)
BOUND_PARAMS = "-DTVMFFI_CUBIN_BOUND_PARAMS"
"""Launches append what is bound: see tvmffi_cubin/kernel.h."""

_METADATA = """\
#ifndef TVM_FFI_DLL_EXPORT_INCLUDE_METADATA
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#endif
"""


@cache
def _template() -> Template:
    path = Path(__file__).parent / "templates" / "host.cc.in"
    return Template(path.read_text(encoding="utf-8"))


def prefix(
    sources: Sequence[HostSource], exports: Sequence[tuple[str, str]], *, is_cuda: bool
) -> str:
    """Return headers that a unit of `host_unit` begins with: the same for most units.

    Those that the first source begins with are among them where they are of the packages that
    wrappers build on, for those are slow to compile and may be included any number of times. A
    header of anybody else ends them: what follows it may depend on its macros.
    """
    own = _own_includes(exports, is_cuda=is_cuda)
    return "\n".join((own, *_first_includes(sources[0].source.text)))


def mixed_prefix(text: str, exports: Sequence[tuple[str, str]], headers: Sequence[str] = ()) -> str:
    """Return the same for a unit of `mixed_unit`.

    Parameters
    ----------
    text : str
        What its first source begins with.
    exports : sequence of (str, str)
        As in `host_unit`.
    headers : sequence of str
        Further headers of ours.
    """
    common = common_mixed_prefix(exports)
    own = [f"#include <{header}>" for header in headers]
    more = (line for line in _first_includes(text) if line not in common.split("\n"))
    return "\n".join((common, *own, *more))


def common_mixed_prefix(exports: Sequence[tuple[str, str]]) -> str:
    """Return what all units of `mixed_unit` begin with."""
    own = _own_includes(exports, is_cuda=True)
    # What functions of tvm-ffi's headers throw goes through the first, too.
    throw, mixed = (f"#include <tvmffi_cubin/mixed/{name}.h>" for name in ("throw", "mixed"))
    return f"{throw}\n{own}\n{mixed}"


def _first_includes(text: str) -> list[str]:
    names = takewhile(_changes_nothing, leading_includes(text))
    more = [name for name in dict.fromkeys(names) if _PACKAGES.match(name)]
    return [f"#include <{name}>" for name in more]


def _changes_nothing(name: str) -> bool:
    return bool(_PACKAGES.match(name) or _STANDARD.match(name))


def _own_includes(exports: Sequence[tuple[str, str]], *, is_cuda: bool) -> str:
    # Docstrings are part of tvm-ffi's metadata, which costs compile time and is off by default.
    metadata = _METADATA if any(doc for _, doc in exports) else ""
    headers = (*_HEADERS, "cuda_runtime.h") if is_cuda else _HEADERS
    return metadata + "\n".join(f"#include <{header}>" for header in headers)


def host_unit(
    sources: Sequence[HostSource], exports: Sequence[tuple[str, str]], *, is_cuda: bool
) -> str:
    """Return the text of the unit that includes sources and exports functions.

    Parameters
    ----------
    sources : sequence of HostSource
        Included by file name, so that the compiler's messages show the user's own lines.
    exports : sequence of (str, str)
        Function names and docstrings.
    is_cuda : bool
        Whether they were given as CUDA sources, where nvcc would include ``cuda_runtime.h``.
    """
    return _template().substitute(
        includes=_own_includes(exports, is_cuda=is_cuda),
        sources="\n".join(f'#include "{source.file}"' for source in sources),
        exports="\n".join(_export_lines(exports)),
    )


def mixed_unit(
    prefix: str,
    file: str,
    *,
    tag: str,
    variables: Sequence[str],
    exports: Sequence[tuple[str, str]],
) -> str:
    """Return the text of the unit that includes the host part of mixed sources.

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
    shadows = [f"TVMFFI_CUBIN_DEVICE_VARIABLE({name})" for name in variables]
    return _template().substitute(
        includes=f"{prefix}\n#include <tvmffi_cubin/mixed/qualifiers.h>\n"
        f"TVMFFI_CUBIN_MIXED_UNIT({tag})",
        sources=f'#include "{file}"',
        exports="\n".join((*shadows, *_export_lines(exports))),
    )


def _export_lines(exports: Sequence[tuple[str, str]]) -> list[str]:
    lines = []
    for name, doc in exports:
        lines.append(f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({name}, {name});")
        if doc:
            lines.append(f"TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({name}, {quoted(doc)});")
    return lines


def host_flags(tools: Toolset, cflags: Sequence[str]) -> tuple[str, ...]:
    """Return the compiler flags of host code; the user's own come last, to have the last word."""
    own = [f"-I{tools.include / 'tvmffi_cubin' / 'compat'}"] if tools.has_own_runtime else []
    # The headers of others are not the user's to mend: no warnings about them.
    others = (str(tools.tvm_ffi.include), *tools.cuda_include_dirs)
    system = [word for folder in others for word in ("-isystem", folder)]
    statics = own_statics(tools.host.compiler)
    return ("-std=c++17", "-fPIC", "-O2", *statics, *own, f"-I{tools.include}", *system, *cflags)


def own_statics(compiler: str) -> tuple[str, ...]:
    """Return flags with which a module has its own static variables of templates and inline code.

    gcc makes them one for the process (STB_GNU_UNIQUE), however libraries are loaded: an edited
    source that is loaded again would go on with those of its former build. What defines such a
    symbol is never unmapped; links of modules see to that without it.

    Parameters
    ----------
    compiler : str
        What `HostTools` tells of it.
    """
    return ("-fno-gnu-unique",) if "gcc version " in compiler else ()
