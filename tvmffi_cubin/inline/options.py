"""The parameters that `load_inline` and its siblings share, each written down once, and checked."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from ..cuda.arch import Archs
from ..errors import bare
from ..sources import Source

if TYPE_CHECKING:
    from ..launches.launch import Dispatch, Launch

Texts = Sequence[str] | str | None
Paths = Sequence[str | os.PathLike[str]] | str | os.PathLike[str] | None
Functions = Mapping[str, "str | Launch | Sequence[Launch] | Dispatch"] | Sequence[str] | str | None

_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".hpp", ".h", ".cubin", ".fatbin", ".ptx")
# What some line of code has, and hardly a path.
_CODE = (*'\n{}();#<>"*\\', "//")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class BuildOptions(TypedDict, total=False):
    """What every one of them takes; `load_inline`'s docstring says what each means."""

    functions: Functions
    embed_cubin: Any
    device_libraries: Sequence[Any] | None
    lto: bool | None
    ptx: str | None
    bound_params: Sequence[str] | str | None
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
    """Return a decorator for public functions whose ``**options`` are those of a TypedDict.

    The signature shows their names, and others are refused.
    """

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        named = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        named += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__)
            for name, hint in options.__annotations__.items()
        ]
        known = frozenset(parameter.name for parameter in named)

        @bare
        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if unknown := given.keys() - known:
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {min(unknown)!r}"
                )
            return function(*args, **given)

        call.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


# Checks; each returns its argument in one form, or raises TypeError, ValueError with its name


def several(what: str, value: Any, kind: Any, wanted: str, *, one: bool = True) -> tuple[Any, ...]:
    """Return one item, unless there have to be several, or a sequence of them as a tuple."""
    if value is None:
        return ()
    is_one = isinstance(value, kind | bytes | Mapping)
    items = (value,) if is_one or not isinstance(value, Iterable) else tuple(value)
    if (is_one and not one) or not all(isinstance(item, kind) for item in items):
        wanted = f"{wanted} or a sequence of {wanted}" if one else f"a sequence of {wanted}"
        raise TypeError(f"{what} is {wanted}, got {value!r:.80}")
    return items


def strings(what: str, value: Any) -> tuple[str, ...]:
    """Return one str or several as a tuple."""
    return several(what, value, str, "str")


def paths(what: str, value: Any) -> tuple[str, ...]:
    """Return one path or several as absolute paths."""
    items = several(what, value, str | os.PathLike, "path")
    return tuple(os.path.abspath(os.path.expanduser(os.fspath(item))) for item in items)


def flags(what: str, value: Any) -> tuple[str, ...]:
    """Return flags, trimmed, without empty ones."""
    return tuple(filter(None, map(str.strip, several(what, value, str, "str", one=False))))


def host_flags(what: str, value: Any) -> tuple[str, ...]:
    """Return flags for the host compiler or the linker, in which paths are absolute."""
    given = flags(what, value)
    if given:
        from ..host.inputs import absolute

        given = absolute(given)
    return given


def texts(what: str, value: Any) -> tuple[Source, ...]:
    """Return the sources that are not blank, without the mark that some editors put first."""
    found, given = [], [x for x in strings(what, value) if x.strip()]
    for index, text in enumerate(given):
        path = text.strip()
        if path.endswith(_SUFFIXES) and not any(mark in path for mark in _CODE):
            raise ValueError(
                f"{what} holds {text!r}, the path of a file and not its text: files are for "
                f"load(name, sources=[{path!r}])"
            )
        # One is called alike in a list and without.
        label = what if len(given) == 1 else f"{what}[{index}]"
        found.append(Source(text.removeprefix("\ufeff"), label=label))
    return tuple(found)


def file_name(what: str, name: Any) -> str:
    """Return a name that a file can have."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is a str, got {name!r}")
    if not name or name.startswith((".", "-")) or any(c in name for c in "/\0\n\r"):
        raise ValueError(f"{what} {name!r} cannot be a file's name; give one such as 'ops'")
    return name


def choice(what: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return one of several values, the first by default."""
    if value is not None and value not in choices:
        raise ValueError(f"{what} is {' or '.join(map(repr, choices))}, got {value!r}")
    return choices[0] if value is None else value
