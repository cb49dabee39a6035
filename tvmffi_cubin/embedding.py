"""What a request embeds: the images that have names, and those that launches carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from .arguments import identifier
from .dispatch import Dispatch
from .export import Export
from .given_image import GivenImage, read_given
from .launch import Launch
from .source_files import SourceFiles

__all__ = ["DEVICE_IMAGE", "embed_carried", "named_images"]

DEVICE_IMAGE = "kernels"
"""The name under which the image of the device sources is embedded."""


def named_images(value: Any, files: SourceFiles) -> dict[str, GivenImage]:
    """Return the images that have names: files, and those of ``embed_cubin``.

    Raises
    ------
    TypeError, ValueError, OSError
        One is wrong, cannot be read, or has another's name; the message names it.
    """
    found = {
        name: GivenImage(file.path, file.data)
        for name, file in files.images.items()
        if not file.is_ptx
    }
    if value is None:
        return found
    if not isinstance(value, Mapping):
        raise TypeError(f"embed_cubin maps names to images, got {type(value).__name__}")
    for name, image in value.items():
        if name in files.images:
            raise ValueError(
                f"embed_cubin[{name!r}] and the file {files.images[name].path} have one name: "
                "rename one"
            )
        what = f"embed_cubin[{name!r}]"
        found[identifier("embed_cubin", name)] = read_given(what, image)._replace(name=what)
    return found


def embed_carried(
    exports: tuple[Export, ...] | None, images: Mapping[str, GivenImage], files: SourceFiles
) -> tuple[tuple[Export, ...] | None, dict[str, GivenImage]]:
    """Return exports whose launches name their images, and all images.

    What a launch carries is embedded under its file's name, or that of its function; equal images
    are embedded once.

    Raises
    ------
    OSError, ValueError
        A file cannot be read; the message names the function.
    """
    shelf = _Shelf(dict(images), {DEVICE_IMAGE, *images, *files.images})
    if exports is not None:
        exports = tuple(map(shelf.placed, exports))
    return exports, shelf.images


@dataclass
class _Shelf:
    """Images by name; `names` has that of every image that a launch carried."""

    images: dict[str, GivenImage]
    taken: set[str]
    names: dict[Any, str] = field(default_factory=dict)

    def placed(self, export: Export) -> Export:
        launches = export.launches or ()
        if all(launch.image is None or isinstance(launch.image, str) for launch in launches):
            return export
        if export.dispatch is None:
            return replace(export, launches=self.named(export.name, launches))
        instances = (self.named(export.name, x) for x in export.dispatch.instances)
        dispatch = Dispatch([*instances])
        return replace(export, launches=dispatch.launches, dispatch=dispatch)

    def named(self, function: str, launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
        return tuple(replace(x, image=self.name(function, x.image)) for x in launches)

    def name(self, function: str, image: Any) -> str | None:
        if image is None or isinstance(image, str):
            return image
        if image not in self.names:
            given = read_given(f"the image of functions[{function!r}]", image)
            self.names[image] = self.embed(given, _base_name(function, image))
        return self.names[image]

    def embed(self, given: GivenImage, base: str) -> str:
        for name, known in self.images.items():
            if known[1:] == given[1:]:
                return name
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        self.images[name] = given
        return name


def _base_name(function: str, image: Any) -> str:
    if isinstance(image, PurePath):
        try:
            return identifier("image", image.stem)
        except ValueError:
            pass
    return function
