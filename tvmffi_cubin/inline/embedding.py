"""What a request embeds: the images that have names, and those that launches carry."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..kernels.cubin import Cubin
from ..kernels.image import read_image, take_image
from ..launches.export import Export, identifier
from ..launches.launch import Launch
from ..sources.source import DEVICE_IMAGE
from .files import EmbeddedFile, SourceFiles

__all__ = ["device_libraries", "embed_carried", "named_images"]

_RUNTIME = "cudadevrt"


def named_images(value: Any, files: SourceFiles, module: str) -> dict[str, Cubin]:
    """Return the images that have names: files, and those of ``embed_cubin``.

    Parameters
    ----------
    value : mapping, image or None
        Images by name, or one image: bytes, a `Cubin` or a path.
    files : SourceFiles
        Have names of their own.
    module : str
        The module's name, which an image without one gets.

    Raises
    ------
    TypeError, ValueError, OSError
        One is wrong, cannot be read, or has another's name; the message names it.
    """
    found = {name: _of_file(file) for name, file in files.images.items()}
    if value is None:
        return found
    if isinstance(value, Mapping):
        given = {
            identifier("embed_cubin", name): (f"embed_cubin[{name!r}]", x)
            for name, x in value.items()
        }
    else:
        given = {_name_of_one(value, module): ("embed_cubin", value)}
    for name, (what, image) in given.items():
        if name in found:
            raise ValueError(
                f"{what} and the file {found[name].name} have one name, {name!r}: "
                f'give another, as in embed_cubin={{"other": image}}'
            )
        found[name] = take_image(what, image)
    return found


def _of_file(file: EmbeddedFile) -> Cubin:
    given = Cubin(file.data, "", name=file.path)
    if file.is_ptx:
        read_image(given, wanted=("ptx",), or_else="give the file the suffix .cubin or .fatbin")
    return given


def _name_of_one(value: Any, module: str) -> str:
    """Return the name of an image that was given without one."""
    if not isinstance(value, str | os.PathLike | bytes | bytearray | memoryview | Cubin):
        raise TypeError(
            "embed_cubin maps names to images, or is one image (bytes, a Cubin or a path), got "
            f"{type(value).__name__}"
        )
    for name in (_stem(value), module):
        try:
            return identifier("embed_cubin", name)
        except ValueError:
            continue
    raise ValueError(
        f"embed_cubin is an image without a name, and the module's name {module!r} is none that C "
        'can have; give it one, as in embed_cubin={"image": ...}'
    )


def embed_carried(
    exports: tuple[Export, ...] | None, images: Mapping[str, Cubin]
) -> tuple[tuple[Export, ...] | None, dict[str, Cubin]]:
    """Return exports whose launches name their images, and all images.

    What a launch carries is embedded under its file's name, or that of its function; equal images
    are embedded once.

    Raises
    ------
    OSError, ValueError
        A file cannot be read; the message names the function.
    """
    shelf = _Shelf(dict(images), {DEVICE_IMAGE, *images})
    if exports is not None:
        exports = tuple(map(shelf.placed, exports))
    return exports, shelf.images


@dataclass
class _Shelf:
    """Images by name; `names` has that of every image that a launch carried."""

    images: dict[str, Cubin]
    taken: set[str]
    names: dict[Any, str] = field(default_factory=dict)

    def placed(self, export: Export) -> Export:
        if all(x.image is None or isinstance(x.image, str) for x in export.launches):
            return export
        instances = tuple(self.named(export.name, x) for x in export.instances or ())
        return export._replace(instances=instances)

    def named(self, function: str, launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
        return tuple(replace(x, image=self.name(function, x.image)) for x in launches)

    def name(self, function: str, image: Any) -> str | None:
        if image is None or isinstance(image, str):
            return image
        if image not in self.names:
            given = take_image(f"the image of functions[{function!r}]", image)
            self.names[image] = self.embed(given, _base_name(function, image))
        return self.names[image]

    def embed(self, given: Cubin, base: str) -> str:
        for name, known in self.images.items():
            # The architecture is in the image, whether or not a Cubin says it.
            if replace(known, arch=given.arch) == given:
                return name
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        self.images[name] = given
        return name


def _base_name(function: str, image: Any) -> str:
    try:
        return identifier("image", _stem(image))
    except ValueError:
        return function


def _stem(image: object) -> str:
    """Return the name of an image's file without its suffix; empty where there is no file."""
    if not isinstance(image, str | os.PathLike):
        return ""
    return os.path.splitext(os.path.basename(os.fsdecode(image)))[0]


def device_libraries(value: Any) -> tuple[Cubin, ...]:
    """Return the argument of that name in one form."""
    what = "device_libraries"
    single = isinstance(value, str | bytes | os.PathLike | Cubin | Mapping)
    if single or not isinstance(value, Iterable):
        raise TypeError(
            f"{what} is a sequence of paths, bytes or Cubins, got one {type(value).__name__}; "
            "pass a list"
        )
    given = (_device_runtime() if isinstance(x, str) and x == _RUNTIME else x for x in value)
    return tuple(take_image(f"{what}[{index}]", item) for index, item in enumerate(given))


def _device_runtime() -> os.PathLike[str]:
    """Return the path of the device runtime, which kernels that launch kernels need."""
    from ..cuda.libraries import find_cuda

    return find_cuda().require("cudart").with_name(f"lib{_RUNTIME}.a")
