"""`described_images`: the images of a description, as `load_inline` takes them."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

from .given_image import read_given
from .image_file import ImageFile
from .kernels.cubin import Cubin

__all__ = ["described_images"]

_KNOWN = ("signatures", "lowered_names")


def described_images(images: Mapping[str, Mapping[str, Any]], given: Any, *, folder: str) -> Any:
    """Return the images of a description by name, with those that a caller gives.

    Parameters
    ----------
    images : mapping
        What the description says.
    given : mapping of str to image, image or None
        The argument `embed_cubin`. Its images come before the description's of the same name, of
        which it has what is known of their kernels.
    folder : str
        Where relative paths start.

    Raises
    ------
    OSError, TypeError, ValueError
        An image is nowhere, cannot be read, or is not what it should be; the message has its place.
    """
    if not images:
        return given
    if given is not None and not isinstance(given, Mapping):
        if len(images) > 1:
            raise ValueError(
                f"embed_cubin is one image, and the description has {', '.join(images)}: say which "
                f'it is, as in embed_cubin={{"{next(iter(images))}": image}}'
            )
        given = {next(iter(images)): given}
    found: dict[str, Any] = dict(given or {})
    for name, facts in images.items():
        where = f"images.{name}"
        image = found[name] if name in found else _image(where, facts, folder)
        found[name] = _with_known(f"embed_cubin[{name!r}]", image, facts)
    return found


def _image(where: str, facts: Mapping[str, Any], folder: str) -> Any:
    if "path" in facts:
        return read_given(f"{where}.path", os.path.join(folder, facts["path"])).data
    if "base64" in facts:
        # Those who encode break lines.
        text = "".join(facts["base64"].split())
        try:
            return base64.b64decode(text.encode(), validate=True)
        except ValueError as error:
            raise ValueError(f"{where}.base64: wanted base64: {error}") from None
    if "file" in facts:
        try:
            return ImageFile(facts["file"])
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    raise ValueError(
        f"{where}: the description does not say where the image is: give it path or base64, or "
        f'the image as embed_cubin={{"{where.removeprefix("images.")}": ...}}'
    )


def _with_known(what: str, image: Any, facts: Mapping[str, Any]) -> Any:
    """Return an image with what the description knows of its kernels, unless it does itself."""
    known = {name: facts[name] for name in _KNOWN if facts.get(name)}
    # Of a file that is yet to be made, the launches declare what its kernels take.
    if not known or isinstance(image, Cubin | ImageFile):
        return image
    return Cubin(read_given(what, image).data, "", **known)
