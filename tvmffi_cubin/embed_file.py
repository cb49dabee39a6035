"""`embed_file`: an image into an object file, from file to file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from .cache.files import write_output
from .device.image import Image, given_image
from .embed_object import embed, machine_number
from .kernels.image import take_image
from .launches.export import identifier

__all__ = ["embed_file"]


def embed_file(
    *,
    image: Path,
    name: str,
    output: Path,
    source: Path | None = None,
    machine: str | None = None,
) -> Image:
    """Write an object that has an image in it; return the image.

    Parameters
    ----------
    image : Path
        A cubin, a fatbin or PTX.
    name : str
        What the code declares it as: ``EMBED_CUBIN(name)``, ``TVM_FFI_EMBED_CUBIN(name)``.
    output : Path
        The object to write, in one step; may be `source`. Folders that are missing are made.
    source : Path, optional
        The object that a compiler made. Without it the new one has nothing but the image.
    machine : str, optional
        The processor that an object without `source` is for. Default: this one.

    Raises
    ------
    OSError
        A file cannot be read or written.
    ValueError
        One is not what it should be; the message names it and says what it is instead.
    ToolchainError
        There is no such processor.
    """
    identifier("name", name)
    for given in (image, *([] if source is None else [source])):
        if given.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(given))
    data = None if source is None else source.read_bytes()
    embedded = given_image(name, take_image("--cubin", image))
    if output.is_dir():
        raise OSError(errno.EISDIR, "is a folder; name the object to write", str(output))
    if output.exists() and output.samefile(image):
        raise ValueError(f"{output} is the image itself; name another file to write")
    try:
        made = embed(data, embedded, machine=machine_number(machine))
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    os.makedirs(output.parent, exist_ok=True)
    write_output(output, made)
    return embedded
