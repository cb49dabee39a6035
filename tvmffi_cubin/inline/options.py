"""The parameters that `load_inline` and its siblings share: each is written down once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from ..cuda.arch import Archs
from .arguments import check_path

if TYPE_CHECKING:
    from ..launches.dispatch import Dispatch
    from ..launches.launch import Launch
    from ..launches.values import Bound

__all__ = [
    "BuildOptions",
    "FileOptions",
    "Functions",
    "Paths",
    "TextOptions",
    "Texts",
    "check",
    "spelled_out",
]

Texts = Sequence[str] | str | None
Paths = Sequence[str | os.PathLike[str]] | str | os.PathLike[str] | None
Functions = Mapping[str, "str | Launch | Sequence[Launch] | Dispatch"] | Sequence[str] | str | None

_Function = TypeVar("_Function", bound=Callable[..., Any])


class BuildOptions(TypedDict, total=False):
    """What every one of them takes; `load_inline`'s docstring says what each means."""

    functions: Functions
    embed_cubin: Any
    device_libraries: Sequence[Any] | None
    lto: bool | None
    ptx: str | None
    bound_params: Sequence[str | Bound] | str | Bound | None
    arch: Archs
    name_expressions: Sequence[str] | None
    extra_cflags: Sequence[str] | None
    extra_cuda_cflags: Sequence[str] | None
    extra_ldflags: Sequence[str] | None
    extra_include_paths: Sequence[str | os.PathLike[str]] | None
    build_directory: str | os.PathLike[str] | None
    use_pch: bool | None
    compiler: str | None
    backend: str | None
    verbose: bool | None


class TextOptions(BuildOptions, total=False):
    """What those take whose sources are text."""

    cpp_sources: Texts
    kernel_sources: Texts


class FileOptions(BuildOptions, total=False):
    """What those take whose sources are files."""

    sources: Paths
    cpp_files: Paths
    cuda_files: Paths


def spelled_out(options: type) -> Callable[[_Function], _Function]:
    """Return a decorator that shows the names of ``**options`` in a function's signature.

    Parameters
    ----------
    options : type
        The TypedDict of the function's keywords.
    """

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        named = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        named += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__)
            for name, hint in options.__annotations__.items()
        ]
        function.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
        return function

    return decorate


def check(function: str, options: Mapping[str, Any], known: type) -> dict[str, Any]:
    """Check the keywords that are no part of a request, and whether some are missing.

    Returns
    -------
    dict
        The others.

    Raises
    ------
    TypeError, ValueError
        One is unknown or wrong; the message names it.
    """
    unknown = options.keys() - known.__annotations__.keys()
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument {min(unknown)!r}")
    backend, directory = options.get("backend"), options.get("build_directory")
    if backend not in (None, "cuda"):
        raise ValueError(f"backend={backend!r}: this package builds for CUDA only")
    if directory is not None:
        if not isinstance(directory, str | os.PathLike):
            raise TypeError(f"build_directory is a str or a path, got {type(directory).__name__}")
        check_path("build_directory", directory)
        if not os.fspath(directory):
            raise ValueError("build_directory is empty: leave it out, or give a folder such as '.'")
    apart = ("arch", "backend", "build_directory")
    return {name: value for name, value in options.items() if name not in apart}
