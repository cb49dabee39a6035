"""A process's requests and their outcomes, a line of JSON each, and how to build them again."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import config, importing
from ..cache import store
from ..cache.entry import Entry, Product
from ..cuda.options import named_archs
from ..kernels.cubin import Cubin
from ..launches.form import key_text, read_exports
from .calls import obtain
from .images import ImageFile
from .options import make_request
from .request import LABELS, TEXTS, Request


class Line(NamedTuple):
    """One lookup of a recorded run.

    `outcome` is that of a `CacheEvent`; `where` is the cache folder with the entry, or the error.
    `archs` are the architectures looked up. `request` has arguments of `load_inline`, or the files
    that `lazy` keeps and their key.
    """

    name: str
    outcome: str
    ms: float
    archs: Sequence[str]
    where: str
    request: Mapping[str, Any]


def recorded(request: Request, *, is_loaded: bool = False) -> Entry:
    """Call `obtain`, and append a line to the file that ``TVMFFI_CUBIN_RECORD`` names."""
    start, outcome, where = time.perf_counter(), "failed", ""
    with importing:
        archs = request.archs
    try:
        entry = obtain(request, is_loaded=is_loaded)
        outcome, where = entry.level, _root(entry)
    except Exception as error:
        where = str(error).partition("\n")[0]
        raise
    finally:
        _write(request.name, outcome, start, archs, where, arguments(request, archs))
    return entry


def record_entry(name: str, outcome: str, start: float, entry: Entry) -> None:
    """Append a line for an entry that only its caller's key identifies, with all its files."""
    manifest = entry.manifest
    files = {x: _text((entry.path / x).read_bytes()) for x in manifest["loaded"]}
    request = {"base_key": manifest["base_key"], "files": files}
    _write(name, outcome, start, (), _root(entry), request)


def _write(
    name: str, outcome: str, start: float, archs: Sequence[str], where: str, request: Any
) -> None:
    ms = round((time.perf_counter() - start) * 1e3, 3)
    outcome = "hit" if outcome == "cache" else outcome
    line = json.dumps(Line(name, outcome, ms, archs, where, request)._asdict())
    path = os.path.expanduser(config.get("TVMFFI_CUBIN_RECORD") or os.devnull)
    with open(path, "ab", buffering=0) as file:  # in one write: others may append, too
        file.write(f"{line}\n".encode())


def _root(entry: Entry) -> str:
    return os.fspath(entry.path.parents[2])


def read(path: str | os.PathLike[str]) -> list[Line]:
    """Return the lines of a recorded run; raise ValueError for a malformed one."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            try:
                lines.append(Line(**json.loads(text)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}:{number}: not a line of a record: {error}") from None
    return lines


def wanted(lines: Sequence[Line], archs: Sequence[str]) -> list[Line]:
    """Return the lines to pass to `build`, each request once.

    A request that names no architecture, by `arch` or flags, is built for each of `archs`, if any.
    """
    found = {}
    for line in lines:
        request = line.request
        names = "arch" in request or named_archs(request.get("extra_cuda_cflags", ()))
        is_open = line.archs and archs and not names
        for each in [(arch,) for arch in archs] if is_open else [line.archs]:
            found[json.dumps((line.name, line.request, each))] = line._replace(archs=each)
    return [*found.values()]


def build(line: Line) -> str:
    """Build the request of a line for its architectures; return the entry's folder."""
    os.environ["TVMFFI_CUBIN_ARCH"] = ",".join(line.archs)
    if "base_key" in line.request:
        return os.fspath(_keep(line.name, **line.request).path)
    return os.fspath(obtain(request_of(line.name, **line.request)).path)


def _keep(name: str, base_key: str, files: Mapping[str, str]) -> Entry:
    """Return an entry with the files of a recorded one."""

    def make(folder: Path) -> Product:
        for file, text in files.items():
            (folder / file).write_bytes(base64.b64decode(text))
        first, *used = files
        return Product(first, used=tuple(used), facts={"name": name})

    return store.default().obtain(base_key, make, name=name)


def arguments(request: Request, archs: Sequence[str]) -> dict[str, Any]:
    """Return the arguments from which `request_of` makes a request, as non-empty JSON values."""
    files, auto = request.files, request.nvcc_flags
    named: list[Any] = [*files.cuda, *files.c, *files.cxx, *files.binaries]
    images: dict[str, Any] = {**request.images, **request.image_files}
    given = {
        **{what: getattr(request, what.removeprefix("extra_")) for what in LABELS},
        **{what: [source.text for source in getattr(request, what)] for what in TEXTS},
        "sources": [*(x.path for x in named), *files.images.values()],
        "embed_cubin": {x: _values(image) for x, image in images.items() if x not in files.images},
        "image_folder": request.image_folder,
        "device_libraries": list(map(_values, request.device_libraries)),
        "extra_cuda_cflags": request.cuda_cflags if auto is None else auto,
        "compiler": request.compiler if auto is None else "auto",
        "arch": request.arch and archs,
        "name": "",
    }
    found = {what: x for what, x in given.items() if x}
    if request.functions is not None:
        found["functions"] = json.loads(key_text(request.functions))
    return {**found, "use_pch": request.use_pch}


def request_of(
    name: str,
    *,
    functions: Sequence[Any] | None = None,
    embed_cubin: Mapping[str, Any] = {},
    device_libraries: Sequence[Any] = (),
    image_folder: str = "",
    **given: Any,
) -> Request:
    """Return the request with these `arguments`."""
    return make_request(
        name,
        exports=None if functions is None else read_exports(functions),
        embed_cubin={x: _image(value) for x, value in embed_cubin.items()},
        device_libraries=[*map(_image, device_libraries)],
        build_directory=image_folder or None,
        **given,
    )


def _values(image: Cubin | ImageFile) -> Any:
    if isinstance(image, ImageFile):
        return os.fspath(image.file)
    return {"image": _text(image.image), **image.facts}


def _image(value: Any) -> Cubin | ImageFile:
    if isinstance(value, str):
        return ImageFile(value)
    return Cubin(**{**value, "image": base64.b64decode(value["image"])})


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
