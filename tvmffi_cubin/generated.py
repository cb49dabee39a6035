"""`Generated`: what a caller's own compiler has made, checked; and its place in the cache."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .arguments import identifier
from .cubin import Cubin
from .entry import Entry, Product

__all__ = ["FORM", "Generated", "generated", "read", "store"]

FORM = 1
"""Part of every key: changes with what is stored, or with what it means."""

_INDEX = "generated.json"


@dataclass(frozen=True)
class Generated:
    """What there is to make a module of.

    Attributes
    ----------
    images : mapping of str to Cubin
        The images by name.
    """

    images: Mapping[str, Cubin]


def generated(value: Any, *, module: str) -> Generated:
    """Check what `generate` has returned.

    Parameters
    ----------
    value : Any
        Whatever it is.
    module : str
        The module's name, which an image without one gets.

    Raises
    ------
    TypeError, ValueError, OSError
        It is nothing that a module can be made of; the message says what came.
    """
    what = f"lazy({module!r}): what generate returned"
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{what} is an empty mapping: give one image at least")
        given = {identifier(what, name): (f"{what}[{name!r}]", x) for name, x in value.items()}
    else:
        given = {_own_name(module): (what, value)}
    return Generated({name: _image(label, x) for name, (label, x) in given.items()})


def _own_name(module: str) -> str:
    try:
        return identifier("name", module)
    except ValueError:
        return "image"


def _image(what: str, value: Any) -> Cubin:
    if not isinstance(value, str | os.PathLike | bytes | bytearray | memoryview | Cubin):
        raise TypeError(
            f"{what} is {type(value).__name__}: wanted an image (bytes, a Cubin or the path of a "
            "file), or a mapping of names to images"
        )
    from .given_image import read_given
    from .image import read_image

    given = read_given(what, value)
    # Whatever is wrong with it is found before it is kept.
    read_image("image", given._replace(name=what))
    return Cubin(given.data, given.arch, given.lowered_names, signatures=given.signatures)


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
        images[name] = {
            "file": file,
            "arch": cubin.arch,
            "lowered_names": dict(cubin.lowered_names),
            "signatures": dict(cubin.signatures),
        }
    (folder / _INDEX).write_text(json.dumps({"images": images}))
    return Product(so=_INDEX, keep=tuple(image["file"] for image in images.values()))


def read(entry: Entry) -> Generated:
    """Return what was stored.

    Raises
    ------
    OSError, ValueError
        It is not there any more, or damaged.
    """
    index = json.loads(_content(entry, _INDEX))
    images = {
        name: Cubin(
            _content(entry, x["file"]), x["arch"], x["lowered_names"], signatures=x["signatures"]
        )
        for name, x in index["images"].items()
    }
    return Generated(images)


def _content(entry: Entry, file: str) -> bytes:
    data = (entry.path / file).read_bytes()
    if hashlib.sha256(data).hexdigest() != entry.manifest["files"][file][1]:
        raise ValueError(f"the content of {entry.path / file} is not what was stored")
    return data
