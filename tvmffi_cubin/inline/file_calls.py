"""`load` and `build`: from source files to a loaded module, by way of the cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .delivery import built, loaded
from .files import read_files
from .options import FileOptions, check, spelled_out
from .pipeline import find_place
from .request import Request, make_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

__all__ = ["build", "load"]

_FILES = ("sources", "cpp_files", "cuda_files")


@spelled_out(FileOptions)
def load(name: str, *, keep_module_alive: bool = True, **options: Unpack[FileOptions]) -> Module:
    """Compile source files and load them as a module of typed functions.

    Parameters
    ----------
    name : str
        Name of the module; the shared object is ``<name>.so``.
    sources : path or sequence of path, optional
        The files; what each becomes depends on its suffix. ``.cu`` is for NVRTC if it defines
        kernels, or device functions alone, and else for the host compiler; with kernels and host
        functions, in the file or its headers, it is cut for both; ``.cpp .cc .cxx`` and
        ``.c`` are for the C++ and the C compiler, each file a unit of its own; ``.o .obj .a .so``
        are linked; ``.cubin .fatbin`` are embedded under the file's name without the suffix, as is
        ``.ptx``, assembled for `arch`. Relative paths start at the current folder.
    cpp_files, cuda_files : path or sequence of path, optional
        The same as `sources`.
    keep_module_alive : bool
        Keep the module loaded until the process ends, also where no reference to it is left.
    **options
        As in `load_inline`. `functions` names kernels; functions written in C++ are exported by
        the files themselves, with ``TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, function)``, and one that
        is named here must be. Default: all kernels of the ``.cu`` files, where there is no host
        code.

    Returns
    -------
    Module
        The functions as attributes and items.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        As in `load_inline`.
    OSError
        A file is missing or cannot be read.
    """
    place = find_place(None, options.get("build_directory"))
    request = _request("load", name, options)
    return loaded(request, options.get("arch"), place, keep_module_alive=keep_module_alive)


@spelled_out(FileOptions)
def build(
    name: str, *, output: str | os.PathLike[str] | None = None, **options: Unpack[FileOptions]
) -> str:
    """Build what `load` would load, without loading it.

    Parameters
    ----------
    name, sources, cpp_files, cuda_files, **options
        As in `load`.
    output : path, optional
        As in `build_inline`: the file to make, with the suffix ``.o`` an object that is yet to be
        linked.

    Returns
    -------
    str
        Path of the shared object or object: that of the copy where an `output` or a
        `build_directory` is given, else its place in the cache, where it never changes.

    Raises
    ------
    CompileError, BuildError, ToolchainError, OSError, TypeError, ValueError
        As in `load`.
    """
    place = find_place(output, options.get("build_directory"))
    request = _request("build", name, options, None if place is None else place.name)
    if place is not None:
        place.refuse(binary.path for binary in request.files.binaries)
    return built(request, options.get("arch"), place)


def _request(
    function: str, name: str, options: Mapping[str, Any], output: str | None = None
) -> Request:
    rest = check(function, options, FileOptions)
    given = {what: rest.pop(what, None) for what in _FILES}
    if all(value is None for value in given.values()):
        path = os.fspath(name) if isinstance(name, str | os.PathLike) else ""
        hint = f"; a shared object that exists is loaded with load_module({path!r})"
        raise TypeError(
            f"{function}() needs source files: {function}('ops', sources=['ops.cu', ...])"
            + (hint if path.endswith(".so") or os.sep in path else "")
        )
    files = read_files(**given)
    if not files:
        raise ValueError(f"{function}({name!r}): sources is empty; give at least one file")
    return make_request(name, files=files, output=output, **rest)
