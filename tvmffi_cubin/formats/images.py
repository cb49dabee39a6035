"""The images of a description, as `load_inline` takes them, and into files."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..artifact import open_artifact
from ..atomic import write_output
from ..cuda.given import read_given
from ..image_file import ImageFile
from ..kernels.cubin import Cubin
from .description import Description


def described_images(description: Description, given: Any = None) -> Any:
    """Return the images of a description by name, with those that a caller gives.

    Images `given` as ``embed_cubin`` come before the description's of the same name, of which they
    have what is known of their kernels.
    """
    images = description.images
    if not images:
        return given
    if given is not None and not isinstance(given, Mapping):
        name, *more = images
        if more:
            raise ValueError(
                f"embed_cubin is one image, and the description has {', '.join(images)}: say which "
                f'it is, as in embed_cubin={{"{name}": image}}'
            )
        given = {name: given}
    found: dict[str, Any] = dict(given or {})
    for name, said in images.items():
        if name not in found:
            found[name] = _image(name, said, os.path.dirname(description.path))
        known = {key: said[key] for key in ("signatures", "lowered_names") if said.get(key)}
        # Of a file that is yet to be made, the launches declare what its kernels take.
        if known and not isinstance(found[name], Cubin | ImageFile):
            data = read_given(f"embed_cubin[{name!r}]", found[name]).data
            found[name] = Cubin(data, "", **known)
    return found


def _image(name: str, said: Mapping[str, Any], folder: str) -> Any:
    where = f"images.{name}"
    if "path" in said:
        return read_given(f"{where}.path", os.path.join(folder, said["path"])).data
    if "base64" in said:
        try:
            # Those who encode break lines.
            return base64.b64decode("".join(said["base64"].split()), validate=True)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    if "file" in said:
        return ImageFile(said["file"])
    raise ValueError(
        f"{where}: the description does not say where the image is: give it path or base64, or the "
        f'image as embed_cubin={{"{name}": ...}}'
    )


def describe_module(path: Path, output: Path) -> tuple[Path, ...]:
    """Write a module's description, ``k.json``, and its images beside it; return the files."""
    if output.exists() and output.samefile(path):
        raise ValueError(f"{output}: this is the module itself: name another file, such as k.json")
    description = Description.of(path)
    with open_artifact(path) as artifact:
        cubins = artifact.cubins(artifact.manifest.get("images", {}))
    suffixes = {"fatbin": ".fatbin", "ptx": ".ptx"}
    files = {
        name: output.with_name(f"{output.stem}.{name}{suffixes.get(cubin.kind, '.cubin')}")
        for name, cubin in cubins.items()
    }
    said = {name: {"path": x.name, **description.images.get(name, {})} for name, x in files.items()}
    replace(description, images={**description.images, **said}).write(output)
    for name, file in files.items():
        write_output(file, cubins[name].image)
    return (output, *files.values())
