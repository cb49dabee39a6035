"""`Request`: the arguments of `load_inline`, checked and in one form; nothing is compiled here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import pch, preprocessor_flags
from .cubin import Cubin
from .key import Key
from .launch import Launch
from .source import Source

__all__ = ["DEVICE_IMAGE", "Export", "Request", "make_request"]

DEVICE_IMAGE = "kernels"
"""The name under which the image of the device sources is embedded."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# tvm-ffi and this package put these between "__tvm_ffi_" and a name for symbols of their own.
_RESERVED = ("_tvmffi_cubin_", "_cubin_", "_doc_", "_library_", "_metadata_")
# Without one of these a CUDA source is host code.
_DEVICE_WORDS = ("__global__", "__device__", "__constant__")
_MAX_NAME = 200  # file systems allow 255 bytes, temporary names and suffixes included


@dataclass(frozen=True)
class Export:
    """A function to export; `launches` None where the sources decide what it is."""

    name: str
    doc: str = ""
    launches: tuple[Launch, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be built. Sources are in the order given; `functions` None means by default."""

    name: str
    cpp_sources: tuple[Source, ...]
    cuda_sources: tuple[Source, ...]
    kernel_sources: tuple[Source, ...]
    functions: tuple[Export, ...] | None
    name_expressions: tuple[str, ...]
    cflags: tuple[str, ...]
    cuda_cflags: tuple[str, ...]
    ldflags: tuple[str, ...]
    include_paths: tuple[str, ...]
    images: Mapping[str, bytes]
    use_pch: bool = True

    @property
    def needs_cuda(self) -> bool:
        """Whether anything of CUDA's is needed; C++ sources alone need nothing."""
        return bool(self.cuda_sources or self.kernel_sources or self.images)

    @property
    def may_have_kernels(self) -> bool:
        """Whether some source may need an architecture; a wrapper alone needs none."""
        return bool(self.kernel_sources) or any(
            word in source.text for source in self.cuda_sources for word in _DEVICE_WORDS
        )

    @property
    def wanted_expressions(self) -> tuple[str, ...]:
        """The template instances that are asked for; they exist only then."""
        launches = [x for export in self.functions or () for x in export.launches or ()]
        kernels = [launch.kernel for launch in launches if launch.kernel is not None]
        return (*self.name_expressions, *(kernel for kernel in kernels if "<" in kernel))

    def add_to(self, key: Key) -> None:
        """Add everything here to a key."""
        key.add("name", self.name)
        key.add("cpp_sources", list(map(list, self.cpp_sources)))
        key.add("cuda_sources", list(map(list, self.cuda_sources)))
        key.add("kernel_sources", list(map(list, self.kernel_sources)))
        key.add("functions", None if self.functions is None else _function_fields(self.functions))
        key.add("name_expressions", self.name_expressions)
        key.add("cflags", self.cflags)
        key.add("cuda_cflags", self.cuda_cflags)
        if self.cuda_cflags:
            # Relative paths in them are other paths in another current folder.
            key.add("cuda_preprocessor", preprocessor_flags.parse(self.cuda_cflags).words)
        key.add("ldflags", self.ldflags)
        key.add("include_paths", self.include_paths)
        key.add("images", list(self.images.items()))
        # It changes nothing but for a compiler's faults; who by-passes those wants a fresh build.
        key.add("use_pch", self.use_pch)


def _function_fields(functions: Iterable[Export]) -> list[Any]:
    return [
        [e.name, e.doc, None if e.launches is None else [_launch_fields(x) for x in e.launches]]
        for e in functions
    ]


def _launch_fields(launch: Launch) -> list[Any]:
    # The order of args does not matter to a launch; that of everything else does.
    return [
        launch.grid,
        launch.block,
        launch.dynamic_smem_bytes,
        dict(launch.args),
        launch.params,
        launch.strided,
        launch.kernel,
    ]


def make_request(
    name: str,
    *,
    cpp_sources: Any = None,
    cuda_sources: Any = None,
    kernel_sources: Any = None,
    functions: Any = None,
    name_expressions: Any = None,
    extra_cflags: Any = None,
    extra_cuda_cflags: Any = None,
    extra_ldflags: Any = None,
    extra_include_paths: Any = None,
    embed_cubin: Any = None,
    use_pch: Any = None,
) -> Request:
    """Check the arguments and bring them into one form.

    Raises
    ------
    TypeError, ValueError
        One is wrong; the message names it.
    """
    request = Request(
        name=_module_name(name),
        cpp_sources=_sources("cpp_sources", cpp_sources),
        cuda_sources=_sources("cuda_sources", cuda_sources),
        kernel_sources=_sources("kernel_sources", kernel_sources),
        functions=_functions(functions),
        name_expressions=_strings("name_expressions", name_expressions),
        cflags=_flags("extra_cflags", extra_cflags),
        cuda_cflags=_flags("extra_cuda_cflags", extra_cuda_cflags),
        ldflags=_flags("extra_ldflags", extra_ldflags),
        include_paths=_paths("extra_include_paths", extra_include_paths),
        images=_images(embed_cubin),
        use_pch=pch.is_wanted(use_pch),
    )
    sources = request.cpp_sources + request.cuda_sources + request.kernel_sources
    if not sources and not (request.images and functions):
        raise ValueError(
            f"load_inline({name!r}): there is no source: give cuda_sources (kernels, or a C++ "
            "wrapper), cpp_sources, or embed_cubin with functions"
        )
    return request


def _module_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name is a str, got {type(name).__name__}")
    if not name or name.startswith((".", "-")) or any(c in name for c in "/\0\n\r"):
        raise ValueError(f"name {name!r} cannot be a file's name; give an identifier such as 'ops'")
    if len(os.fsencode(name)) > _MAX_NAME:
        raise ValueError(f"name {name[:40]!r}... has {len(name)} characters, at most {_MAX_NAME}")
    _check_unicode("name", name)
    return name


def _check_unicode(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{what} holds {text[error.start]!r} at character {error.start + 1}, which is no "
            "Unicode text: a file was read in another encoding than its own"
        ) from None


def _sources(what: str, value: Any) -> tuple[Source, ...]:
    """Return the sources that are not blank, without the mark that some editors put first."""
    sources = tuple(source.removeprefix("\ufeff") for source in _strings(what, value))
    for source in sources:
        _check_unicode(what, source)
    return tuple(Source(source) for source in sources if source.strip())


def _strings(what: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = (value,) if isinstance(value, str) else value
    if isinstance(items, bytes | Mapping) or not isinstance(items, Iterable):
        raise TypeError(f"{what} is a str or a sequence of str, got {type(value).__name__}")
    items = tuple(items)
    for item in items:
        if not isinstance(item, str):
            raise TypeError(f"{what} holds str, got {type(item).__name__}")
        if "\0" in item:
            raise ValueError(f"{what} holds a NUL character, which no compiler reads past")
    return items


def _flags(what: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError(f"{what} is a sequence of flags, got the str {value!r}; write [{value!r}]")
    return tuple(filter(None, (flag.strip() for flag in _strings(what, value))))


def _paths(what: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = (value,) if isinstance(value, str | os.PathLike) else value
    if not isinstance(items, Iterable):
        raise TypeError(f"{what} is a sequence of paths, got {type(value).__name__}")
    paths = []
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise TypeError(f"{what} holds paths, got {type(item).__name__}")
        paths.append(os.path.abspath(os.fspath(item)))
    return tuple(paths)


def _images(value: Any) -> dict[str, bytes]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"embed_cubin maps names to images, got {type(value).__name__}")
    return {_identifier("embed_cubin", k): _image(k, image) for k, image in value.items()}


def _image(name: str, image: Any) -> bytes:
    if isinstance(image, Cubin):
        return image.image
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        try:
            with open(image, "rb") as file:
                return file.read()
        except OSError as error:
            problem = f"embed_cubin[{name!r}]: {error.strerror}"
            raise OSError(error.errno, problem, error.filename) from None
    raise TypeError(
        f"embed_cubin[{name!r}] is bytes, a Cubin or a path, got {type(image).__name__}"
    )


def _identifier(what: str, name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{what}: a name is a str, got {type(name).__name__}")
    if not _IDENTIFIER.match(name) or name.startswith(_RESERVED):
        raise ValueError(
            f"{what}: {name!r} is not a name that C can have"
            if not name.startswith(_RESERVED)
            else f"{what}: {name!r} begins as tvm-ffi's or this package's own functions do"
        )
    return name


def _functions(value: Any) -> tuple[Export, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = (value,)
    if isinstance(value, Mapping):
        return tuple(_export(name, spec) for name, spec in value.items())
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise TypeError(
            f"functions is a name, a sequence of names or a mapping, got {type(value).__name__}"
        )
    names = [_identifier("functions", name) for name in value]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"functions names {twice!r} twice")
    return tuple(Export(name) for name in names)


def _export(name: Any, spec: Any) -> Export:
    name = _identifier("functions", name)
    if isinstance(spec, str):
        _check_unicode(f"functions[{name!r}]", spec)
        return Export(name, doc=spec)
    if spec is None:
        return Export(name)
    launches = (spec,) if isinstance(spec, Launch) else spec
    if isinstance(launches, list | tuple) and all(isinstance(x, Launch) for x in launches):
        if not launches:
            raise ValueError(f"functions[{name!r}] is an empty list of launches")
        return Export(name, launches=tuple(launches))
    raise TypeError(f"functions[{name!r}] is a docstring, a Launch or a list of them, got {spec!r}")
