"""`describe_module`: a module's description and its images as files, to edit and build again."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

from .artifact import open_artifact
from .atomic import write_output
from .description import Description

__all__ = ["describe_module"]

_SUFFIXES = {"fatbin": ".fatbin", "ptx": ".ptx"}


def describe_module(path: Path, output: Path) -> tuple[Path, ...]:
    """Write a module's description, and its images beside it; return the files.

    Parameters
    ----------
    path : Path
        A shared object or object that this package made.
    output : Path
        The description to write: ``k.json``. An image is ``k.NAME.cubin``.

    Raises
    ------
    OSError, ValueError
        A file cannot be read or written, or is no module.
    """
    if output.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "this is a folder: name a file in it, such as k.json", str(output)
        )
    if output.exists() and output.samefile(path):
        raise ValueError(f"{output}: this is the module itself: name another file, such as k.json")
    description = Description.of(path)
    try:
        with open_artifact(path) as artifact:
            cubins = artifact.cubins(artifact.manifest.get("images", {}))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    files = {
        name: output.with_name(f"{output.stem}.{name}{_SUFFIXES.get(cubin.kind, '.cubin')}")
        for name, cubin in cubins.items()
    }
    images = {
        name: {"path": file.name, **description.images.get(name, {})}
        for name, file in files.items()
    }
    replace(description, images={**description.images, **images}).write(output)
    for name, file in files.items():
        write_output(file, cubins[name].image)
    return (output, *files.values())
