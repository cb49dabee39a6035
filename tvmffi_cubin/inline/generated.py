"""`Generated`: what a caller's own compiler has made, checked; and its place in the cache."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..cache.entry import Entry, Product
from ..kernels.cubin import Cubin
from ..launches.dispatch import Dispatch
from ..launches.export import identifier
from ..launches.form import Launched, function_value
from ..launches.launch import Launch

__all__ = ["FORM", "Generated", "generated", "read", "store"]

FORM = 2
"""Part of every key: changes with what is stored, or with what it means."""

_INDEX = "generated.json"
_IMAGE_TYPES = (str, os.PathLike, bytes, bytearray, memoryview, Cubin)


@dataclass(frozen=True)
class Generated:
    """What there is to make a module of.

    Attributes
    ----------
    images : mapping of str to Cubin
        The images by name.
    functions : mapping or None
        How functions launch, by name, where the compiler has told; they name their images.
    description : mapping or None
        The same as a whole `Description` in JSON.
    """

    images: Mapping[str, Cubin]
    functions: Mapping[str, Launched] | None = None
    description: Mapping[str, Any] | None = None


def generated(value: Any, *, module: str) -> Generated:
    """Check what `generate` has returned.

    Parameters
    ----------
    value : Any
        Whatever it is.
    module : str
        The module's name, which an image or a function without one gets.

    Raises
    ------
    TypeError, ValueError, OSError
        It is nothing that a module can be made of; the message says what came.
    """
    from ..formats.description import Description

    what = f"lazy({module!r}): what generate returned"
    if isinstance(value, Description):
        return _described(what, value)
    if not isinstance(value, Mapping):
        if _is_launched(value):
            return _with_functions(what, {identifier(what, module): value})
        return Generated({_own_name(module): _image(what, value)})
    if not value:
        raise ValueError(f"{what} is an empty mapping: give one image or function at least")
    if not any(map(_is_launched, value.values())):
        named = {identifier(what, name): x for name, x in value.items()}
        return Generated({name: _image(f"{what}[{name!r}]", x) for name, x in named.items()})
    other = next((name for name, x in value.items() if not _is_launched(x)), None)
    if other is not None:
        raise TypeError(
            f"{what} has functions, and {other!r} is {type(value[other]).__name__}: give images "
            "with their launches, Launch(image=...), or images alone"
        )
    return _with_functions(what, value)


def _is_launched(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(x, Launch) for x in value)
    return isinstance(value, Launch | Dispatch)


def _described(what: str, description: Any) -> Generated:
    """Take a description's images, wherever it has them."""
    from ..formats.load import described_images
    from .images import ImageFile

    given = described_images(description)
    if not given:
        raise ValueError(f"{what} is a description without images: have it say where they are")
    for name, x in given.items():
        if isinstance(x, ImageFile):
            raise ValueError(
                f"{what}: image {name!r} is to lie in a file beside a shared object, and a lazy "
                'module has its own in the cache: say "path" instead of "file"'
            )
    images = {name: _image(f"{what}: image {name!r}", x) for name, x in given.items()}
    places = ("path", "base64")
    facts = {
        name: {key: x for key, x in facts.items() if key not in places}
        for name, facts in description.images.items()
    }
    return Generated(images, description=replace(description, images=facts).to_json())


def _with_functions(what: str, functions: Mapping[str, Launched]) -> Generated:
    """Take the images out of launches, which then name them."""
    from ..launches.export import read_functions
    from .embedding import embed_carried

    exports, given = embed_carried(read_functions(functions), {})
    named: dict[str, Launched] = {}
    for export in exports or ():
        for image in {launch.image for launch in export.launches} - given.keys():
            raise ValueError(
                f"{what}: function {export.name!r} is of "
                + ("no image" if image is None else f"the image {image!r}, which is not there")
                + ": give its launch the image, Launch(image=...), as bytes, a Cubin or a Path"
            )
        named[export.name] = Dispatch(export.instances)
    return Generated({name: _checked(what, image) for name, image in given.items()}, named)


def _own_name(module: str) -> str:
    try:
        return identifier("name", module)
    except ValueError:
        return "image"


def _image(what: str, value: Any) -> Cubin:
    if not isinstance(value, _IMAGE_TYPES):
        raise TypeError(
            f"{what} is {type(value).__name__}: wanted an image (bytes, a Cubin or the path of a "
            "file) or a Launch with its image, or a mapping of names to images or to such launches"
        )
    from ..kernels.image import take_image

    return _checked(what, take_image(what, value))


def _checked(what: str, given: Cubin) -> Cubin:
    """Return an image; whatever is wrong with it is found before it is kept."""
    from ..device.image import given_image

    try:
        given_image("image", given)
    except ValueError as error:
        raise error if given.name.startswith(what) else ValueError(f"{what}: {error}") from None
    return given


def store(made: Generated, folder: Path) -> Product:
    """Write into an empty folder what is to be published.

    Raises
    ------
    OSError
        It cannot be written.
    """
    images: dict[str, dict[str, Any]] = {}
    for name, cubin in made.images.items():
        file = f"{name}.image"
        (folder / file).write_bytes(cubin.image)
        images[name] = {"file": file, "cubin": cubin.facts}
    functions = None
    if made.functions is not None:
        functions = {name: function_value(x) for name, x in made.functions.items()}
    index = {"images": images, "functions": functions, "description": made.description}
    (folder / _INDEX).write_text(json.dumps(index))
    files = tuple(image["file"] for image in images.values())
    return Product(so=_INDEX, keep=files, used=files)


def read(entry: Entry) -> Generated:
    """Return what was stored.

    Raises
    ------
    OSError, TypeError, ValueError
        It is not there any more, or damaged.
    """
    index = json.loads(_content(entry, _INDEX))
    images = {
        name: Cubin(_content(entry, x["file"]), **x["cubin"]) for name, x in index["images"].items()
    }
    if index["functions"] is None:
        return Generated(images, description=index.get("description"))
    from ..launches.form import read_function

    return Generated(images, {k: read_function(x, where=k) for k, x in index["functions"].items()})


def _content(entry: Entry, file: str) -> bytes:
    data = (entry.path / file).read_bytes()
    if hashlib.sha256(data).hexdigest() != entry.manifest["files"][file][1]:
        raise ValueError(f"the content of {entry.path / file} is not what was stored")
    return data
