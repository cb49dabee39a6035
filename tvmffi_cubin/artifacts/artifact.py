"""`Artifact`: what an object or a shared object carries from this package: manifest and images."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from typing import Any, NamedTuple

from ..kernels.cubin import FACTS, Cubin, read_image, regular
from ..kernels.elf import DYNSYM, GLOBAL, SYMTAB, Elf, reading
from ..launches import check_schema
from ..launches.values import told

_OWNER = b"tvmffi_cubin"
_MANIFEST, _IMAGE_PLACE = 0x101, 0x102
_PLACE = struct.Struct("<qQ")
_IMAGE = "__tvm_ffi__cubin_"
_FUNCTION = "__tvm_ffi_"
# Prefixes of the names of functions that describe other functions or the module.
_APART = ("_tvmffi_cubin_", "_cubin_", "_doc_", "_library_", "_metadata_")


class Artifact(NamedTuple):
    """What a file carries.

    `manifest` is its description of itself, see `Module.manifest`; those of several linked objects
    are merged; it is empty if this package built no part of it. `images` come with their names.
    `exports` are the functions that tvm-ffi finds in it, as far as its symbols tell. An object is
    yet to be linked.
    """

    manifest: Mapping[str, Any]
    images: tuple[tuple[str, memoryview], ...]
    exports: tuple[str, ...]
    is_object: bool

    def cubins(self, expected: Mapping[str, Any]) -> dict[str, Cubin]:
        """Return the images by name.

        `expected` is what the manifest of a loaded module says about its images. Raises ValueError
        if one is not an image, or not the one that was loaded.
        """
        facts = {**self.manifest.get("images", {}), **expected}
        found = {}
        for name, view in self.images:
            image, known = bytes(view), facts.get(name)
            if known is None:
                found[name] = read_image(Cubin(image, "", name=f"image {name!r}"))
            elif known["crc32"] != zlib.crc32(image):
                raise ValueError(f"image {name!r} changed after it was loaded")
            else:
                found[name] = Cubin(image, name=name, **{key: known[key] for key in FACTS})
        return found


@contextmanager
def open_artifact(path: str | os.PathLike[str]) -> Iterator[Artifact]:
    """Read a file without loading it; errors in the ``with`` block name the file, too."""
    with told(os.fspath(path)), regular(path).open("rb") as file:
        yield read_artifact(mmap(file.fileno(), 0, access=ACCESS_READ))


def manifest_of(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """Return a file's manifest; raises OSError and ValueError as `open_artifact` does."""
    with open_artifact(path) as artifact:
        return artifact.manifest


def exported_names(path: str | os.PathLike[str]) -> frozenset[str]:
    """Return the functions that tvm-ffi finds in a file; none if it cannot be read."""
    try:
        with open_artifact(path) as artifact:
            return frozenset(artifact.exports)
    except (OSError, ValueError):
        return frozenset()


@reading()
def read_artifact(content: bytes | mmap) -> Artifact:
    """Read a file's bytes; raises ValueError if it is damaged, or not an object or library."""
    file = Elf(content)
    manifests, places = [], {}  # size and name of images, by offset
    for kind, address, data in file.notes(_OWNER):
        if kind == _MANIFEST:
            manifests.append(_manifest(data))
        elif kind == _IMAGE_PLACE and not file.is_object:
            distance, size = _PLACE.unpack_from(data)
            name = data[_PLACE.size :].rstrip(b"\0").decode()
            places[file.place_of_address(address + distance, size)] = size, name
    # An object's notes are not relocated, and other tools may have embedded images.
    for offset, size, name in _symbol_images(file):
        places.setdefault(offset, (size, name))
    view = memoryview(content)  # an image may be large, and most callers want other things
    images = tuple((name, view[x : x + size]) for x, (size, name) in places.items())
    return Artifact(_joined(manifests), images, tuple(_exports(file)), file.is_object)


def _manifest(data: bytes) -> dict[str, Any]:
    text = data[4:]
    if data[:4] != zlib.crc32(text).to_bytes(4, "little"):
        raise ValueError("its manifest is damaged: its checksum does not match")
    manifest: dict[str, Any] = json.loads(text)
    check_schema(manifest.get("schema"), "its manifest")
    return manifest


def _joined(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge manifests into one; the first is the module's own, the others of objects in it."""
    if not manifests:
        return {}
    # Only one of them can have a generated launcher, and with it bound parameters.
    said = {k: v for one in reversed(manifests) for k, v in one.items() if v}
    joined = {**manifests[0], **said}
    for key in ("functions", "images"):
        joined[key] = {k: v for one in reversed(manifests) for k, v in one[key].items()}
    joined["kernels"] = [row for one in manifests for row in one["kernels"]]
    return joined


def _symbol_images(file: Elf) -> Iterator[tuple[int, int, str]]:
    symbols = file.symbols(having=_IMAGE)
    placed = {x.name: x for x in symbols if x.is_placed and x.name.startswith(_IMAGE)}
    for name, first in placed.items():
        end = placed.get(f"{name}_end")
        if end is not None:
            yield (*file.place_between(first, end), name.removeprefix(_IMAGE))


def _exports(file: Elf) -> Iterator[str]:
    for symbol in file.symbols(SYMTAB if file.is_object else DYNSYM, having=_FUNCTION):
        name = symbol.name.removeprefix(_FUNCTION)
        is_function = symbol.name.startswith(_FUNCTION) and not name.startswith(_APART)
        if is_function and symbol.is_placed and symbol.binding == GLOBAL:
            yield name
