"""The device image of a mixed module: an entry of the cache that only that side changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .cache.entry import Product
from .cache.key import Key
from .cache.store import Cache
from .cuda import headers as std_headers
from .cuda import nvrtc, preprocessor
from .device.compile import compile_device
from .device.image import Image
from .device.instances import wanted_instances
from .device_record import read_device, record_device
from .host.build import write_files
from .inline.headers import HeaderSearch
from .part_files import PartFiles
from .side_text import without_lines
from .sources.source import Source

if TYPE_CHECKING:
    from .inline.request import Request
    from .inline.tools import Toolset

__all__ = ["DeviceCode", "DeviceCompiler"]

_IMAGE = "tvmffi_cubin.device"
_HEADERS = "mixed_headers"
# Both sides mean the same types by int64_t and its like, of which NVRTC's own are others than the
# host's, and both have __int128.
_AS_HOST = ("-DTVMFFI_CUBIN_HOST_INTEGERS", "--device-int128")
# Options with which an image says which line its code is of.
_LINES = re.compile(r"(?:^| )(?:-G|-g|--device-debug|-?-(?:generate-)?line-?info|-lineinfo)\b")


@dataclass(frozen=True)
class DeviceCode:
    """Device code to compile.

    Attributes
    ----------
    sources : tuple of Source
        What NVRTC is given, in order.
    headers : mapping of str to str
        The user's headers, cut: names and texts.
    scanned : tuple of Source
        What looks for headers, where it is not `sources`: parts of them, and of `headers`.
    tells_lines : bool
        Whether macros of headers may tell in which line of `sources` they stand.
    """

    sources: tuple[Source, ...]
    headers: Mapping[str, str]
    scanned: tuple[Source, ...]
    tells_lines: bool


@dataclass(frozen=True)
class DeviceCompiler:
    """What a request's device code is compiled with, for which architectures and which cache."""

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    cache: Cache

    def obtain(self, code: DeviceCode, instances: tuple[str, ...]) -> tuple[Image, PartFiles]:
        """Return the image, compiling it where there is none.

        Parameters
        ----------
        code : DeviceCode
            What to compile.
        instances : tuple of str
            Instances of templates that are wanted beside those of the request.

        Raises
        ------
        CompileError, ToolchainError, TypeError, ValueError
            See `tvmffi_cubin.load_inline`.
        """
        names = tuple(dict.fromkeys((*self.request.name_expressions, *instances)))
        request = self.request._replace(name_expressions=names)
        entry = self.cache.obtain(
            self._key(request, code),
            lambda folder: self._compile(request, code, folder),
            name=f"{request.name} (device code)",
        )
        device = read_device(entry.so.read_bytes(), entry.facts["device"])
        return device, PartFiles.of(entry, self.tools)

    def _key(self, request: Request, code: DeviceCode) -> str:
        tools = {**self.tools.versions, **self.tools.library_versions}
        key = Key("device image").add("tools", tools)
        has_lines = code.tells_lines or _LINES.search(" ".join(request.cuda_cflags))
        texts = [x.text if has_lines else without_lines(x.text) for x in code.sources]
        # With what __FILE__ says of them.
        places = [[x.path, x.label] for x in code.sources]
        key.add("sources", [[text, *place] for text, place in zip(texts, places, strict=True)])
        key.add("headers", code.headers).add("name", request.name).add("archs", self.archs)
        key.add("instances", wanted_instances(request)).add("flags", request.cuda_cflags)
        # Relative paths in them are other paths in another current folder.
        key.add("preprocessor", preprocessor.parse(request.cuda_cflags).words)
        key.add("folders", request.include_paths).add("lto", request.lto)
        key.add("libraries", [[x.image, x.arch] for x in request.device_libraries])
        return key.add("use_pch", request.use_pch).hexdigest()

    def _compile(self, request: Request, code: DeviceCode, folder: Path) -> Product:
        search = HeaderSearch(request, self.tools)
        scan = search.device(code.scanned)
        found = PartFiles(self.tools.unknown(scan.files), scan.absent, scan.unknown)
        first = self._first_headers(code, found.read)
        request = request._replace(cuda_cflags=(*_AS_HOST, *first, *request.cuda_cflags))
        if code.headers:
            write_files(folder, {f"{_HEADERS}/{name}": x for name, x in code.headers.items()})
            headers = os.fspath(folder / _HEADERS)
            request = request._replace(include_paths=(headers, *request.include_paths))
        device = compile_device(request, code.sources, self.archs)
        (folder / _IMAGE).write_bytes(device.cubin.image)
        return Product(
            so=_IMAGE,
            dependencies=found.read,
            absent=found.absent,
            unknown=found.unknown,
            outdated=self.tools.outdated,
            facts={
                "name": request.name,
                "files": found.facts(self.tools),
                "device": record_device(device),
            },
            versions={**self.tools.versions, **self.tools.library_versions},
        )

    def _first_headers(self, code: DeviceCode, read: Iterable[str]) -> Iterator[str]:
        """Yield options that include what nvcc has without an include, as far as it is used."""
        texts = [*(source.text for source in code.sources), *code.headers.values()]
        # NVIDIA's and ours have what they use, and tell nothing of what the source defines in std.
        tools = [nvrtc.shim_dir(), *map(Path, self.tools.cuda_include_dirs)]
        others = (path for path in map(Path, read) if not any(map(path.is_relative_to, tools)))
        texts += [path.read_text("utf-8", "surrogateescape") for path in others]
        for header in std_headers.headers_for(texts, self.tools.cuda_include_dirs):
            yield f"--pre-include={nvrtc.shim_dir() / header}"
