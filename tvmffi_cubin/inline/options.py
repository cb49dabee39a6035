"""The parameters that `load_inline` and its siblings share, each declared once, and checked."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from .. import config
from ..cuda.arch import Archs
from ..errors import bare
from ..launches.form import Export, read_functions
from ..launches.values import bound_param
from .request import OBJECTS, OF_NVRTC, Request, Source, SourceFiles

if TYPE_CHECKING:
    from ..kernels.cubin import Cubin
    from ..launches.launch import Dispatch, Launch
    from .images import ImageFile

Texts = Sequence[str] | str | None
Paths = Sequence[str | os.PathLike[str]] | str | os.PathLike[str] | None
Functions = Mapping[str, "str | Launch | Sequence[Launch] | Dispatch"] | Sequence[str] | str | None

_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".hpp", ".h", ".cubin", ".fatbin", ".ptx")
_FILES = ("sources", "cpp_files", "cuda_files")
# What code contains, and a path hardly ever does.
_CODE = (*'\n{}();#<>"*\\', "//")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class BuildOptions(TypedDict, total=False):
    """Options that all of these functions take; the docstring of `load_inline` describes each."""

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
    """Options of the functions that take sources as text."""

    cpp_sources: Texts
    kernel_sources: Texts


class FileOptions(BuildOptions, total=False):
    """Options of the functions that take sources as files."""

    sources: Paths
    cpp_files: Paths
    cuda_files: Paths


def spelled_out(options: type) -> Callable[[_Function], _Function]:
    """Return a decorator for public functions whose ``**options`` are those of a TypedDict.

    The signature shows the options' names; any other name is a TypeError.
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


# Checks: each returns its argument normalized, or raises TypeError or ValueError with its name


def several(
    what: str, value: Any, kind: Any = str, wanted: str = "str", *, one: bool = True
) -> tuple[Any, ...]:
    """Return one item, unless a sequence is required, or a sequence of items as a tuple."""
    if value is None:
        return ()
    is_one = isinstance(value, kind | bytes | Mapping)
    items = (value,) if is_one or not isinstance(value, Iterable) else tuple(value)
    if (is_one and not one) or not all(isinstance(item, kind) for item in items):
        wanted = f"{wanted} or a sequence of {wanted}" if one else f"a sequence of {wanted}"
        raise TypeError(f"{what} must be {wanted}, got {value!r:.80}")
    return items


def paths(what: str, value: Any) -> tuple[str, ...]:
    """Return one or several paths as absolute paths."""
    items = several(what, value, str | os.PathLike, "path")
    return tuple(os.path.abspath(os.path.expanduser(os.fspath(item))) for item in items)


def flags(what: str, value: Any) -> tuple[str, ...]:
    """Return flags, trimmed and without empty ones."""
    return tuple(filter(None, map(str.strip, several(what, value, one=False))))


def host_flags(what: str, value: Any) -> tuple[str, ...]:
    """Return flags for the host compiler or the linker, with absolute paths."""
    given = flags(what, value)
    if given:
        from ..host.inputs import absolute

        given = absolute(given)
    return given


def texts(what: str, value: Any) -> tuple[Source, ...]:
    """Return the sources that are not blank, without the byte order mark of some editors."""
    found, given = [], [x for x in several(what, value) if x.strip()]
    for index, text in enumerate(given):
        path = text.strip()
        if path.endswith(_SUFFIXES) and not any(mark in path for mark in _CODE):
            raise ValueError(
                f"{what} contains {text!r}, a file's path instead of its text: for files, use "
                f"load(name, sources=[{path!r}])"
            )
        # A single source has the same label in a list and without one.
        label = what if len(given) == 1 else f"{what}[{index}]"
        found.append(Source(text.removeprefix("\ufeff"), label=label))
    return tuple(found)


def file_name(what: str, name: Any) -> str:
    """Return a valid file name."""
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, got {name!r}")
    if not name or name.startswith((".", "-")) or any(c in name for c in "/\0\n\r"):
        raise ValueError(f"{what} {name!r} is not a valid file name; use one such as 'ops'")
    return name


def choice(what: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return one of several values, the first by default."""
    if value is not None and value not in choices:
        raise ValueError(f"{what} must be {' or '.join(map(repr, choices))}, got {value!r}")
    return choices[0] if value is None else value


def make_request(
    name: str,
    *,
    files: SourceFiles | None = None,
    exports: tuple[Export, ...] | None = None,
    **given: Any,
) -> Request:
    """Check and normalize the arguments of `load_inline` and its siblings.

    `files` and `exports` are arguments that are normalized already.
    """
    get = given.get
    choice("backend", get("backend"), ("cuda",))
    compiler = choice("compiler", get("compiler"), ("nvrtc", "nvcc", "auto"))
    lto = choice("lto", get("lto"), (None, False, True))
    given_flags = cuda_cflags = flags("extra_cuda_cflags", get("extra_cuda_cflags"))
    # Code that most requests do not need is imported on demand: a hit is mostly imports.
    if compiler == "nvcc":  # its own environment variables may hold flags
        from ..cuda.nvcc import caller_flags

        cuda_cflags = caller_flags(cuda_cflags)
    elif cuda_cflags:
        from ..cuda.options import without_separation

        cuda_cflags, asks_for_lto = without_separation(cuda_cflags)
        lto = asks_for_lto if lto is None else lto
    name = file_name("name", name)
    sources = {what: given[what] for what in _FILES if given.get(what) is not None}
    if sources:
        from .files import read_files

        files = read_files(**sources)
    files = files or SourceFiles()
    exports = exports if exports is not None else read_functions(get("functions"))
    images: dict[str, Cubin] = {}
    image_files: dict[str, ImageFile] = {}
    launches = [launch for export in exports or () for launch in export.launches]
    carried = any(not isinstance(launch.image, str | None) for launch in launches)
    if get("embed_cubin") is not None or files.images or carried:
        from .images import embed

        exports, images, image_files = embed(get("embed_cubin"), exports, files.images, name)
    libraries: tuple[Cubin, ...] = ()
    if get("device_libraries") is not None:
        from .images import device_libraries

        libraries = device_libraries(get("device_libraries"))
    bound_params = several("bound_params", get("bound_params"))
    for text in bound_params:
        bound_param(text)  # raises if it is invalid
    output, directory, target = get("output"), get("build_directory"), ""
    called = f"{name}.so" if output is None else os.fspath(output)
    if output is not None or directory is not None:
        (folder,) = paths("build_directory", directory) or (os.getcwd(),)
        target = os.path.join(folder, os.path.expanduser(called))
    request = Request(
        name=name,
        cpp_sources=texts("cpp_sources", get("cpp_sources")),
        cuda_sources=texts("cuda_sources", get("cuda_sources")),
        kernel_sources=texts("kernel_sources", get("kernel_sources")),
        functions=exports,
        name_expressions=several("name_expressions", get("name_expressions")),
        cflags=host_flags("extra_cflags", get("extra_cflags")),
        cuda_cflags=cuda_cflags,
        ldflags=host_flags("extra_ldflags", get("extra_ldflags")),
        include_paths=paths("extra_include_paths", get("extra_include_paths")),
        images=images,
        image_files=image_files,
        device_libraries=libraries,
        lto=bool(lto),
        ptx=choice("ptx", get("ptx"), ("assemble", "keep")),
        bound_params=bound_params,
        output=file_name("output", os.path.basename(called)),
        target=target,
        files=files,
        use_pch=config.wants_pch(get("use_pch")),
        compiler="nvcc" if compiler == "nvcc" else "nvrtc",
        nvcc_flags=given_flags if compiler == "auto" else None,
        verbose=bool(get("verbose")),
        arch=get("arch"),
    )
    _check(request)
    return request


def _check(request: Request) -> None:
    """Reject an empty request, and an output that cannot be made from what is given."""
    if not request.output.endswith((".so", *OBJECTS)):
        raise ValueError(f"output must end in .so (shared object) or .o, got {request.output!r}")
    if not (request.texts or request.files or request.images or request.image_files):
        raise ValueError(
            f"{request.name!r}: no source: pass cuda_sources (kernels or a C++ wrapper), "
            "cpp_sources or embed_cubin, or sources to load(); for a built module, use load_module"
        )
    beside = [x.file for x in request.image_files.values() if not os.path.isabs(x.file)]
    if beside and not request.target:
        raise ValueError(
            f"ImageFile({beside[0]!r}) is relative to the shared object: set that object's folder "
            "with build_directory= (or output= if it is only built), or pass an absolute path"
        )
    misplaced = [argument for argument in OF_NVRTC if getattr(request, argument)]
    if request.is_by_nvcc and misplaced:
        raise ValueError(
            f'{misplaced[0]} is for NVRTC: with compiler="nvcc", pass nvcc\'s own flags in '
            "extra_cuda_cflags, such as -rdc=true and -dlto"
        )
