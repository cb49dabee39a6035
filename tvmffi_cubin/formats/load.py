"""From a description and its images to a module, and back into files."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artifacts.artifact import open_artifact
from ..cache.files import write_output
from ..inline.calls import build_inline, load_inline
from ..inline.images import ImageFile
from ..inline.options import TextOptions, Texts, spelled_out
from ..kernels.image import take_image
from ..launches.values import told
from .description import FACTS, OPTIONS, Description

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

Source = Description | str | os.PathLike[str] | bytes | Mapping[str, Any]


@spelled_out(TextOptions)
def load_description(
    description: Source,
    *,
    name: str | None = None,
    cuda_sources: Texts = None,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Build a module from a description and its images, and load it.

    Parameters
    ----------
    description : Description, path, bytes or mapping
        A description, or anything that `Description.read` takes.
    name : str, optional
        The module's name. Default: the description's, else its file's without suffix.
    cuda_sources, keep_module_alive, **options
        As in `load_inline`; they override the description. An image in `embed_cubin` replaces that
        of its name, one without a name the only one. Sources become the image ``kernels``.

    Raises
    ------
    OSError, TypeError, ValueError
        The description or an image cannot be read, or an argument is wrong.
    CompileError, BuildError, ToolchainError
        As in `load_inline`.
    """
    arguments = _arguments(description, name, {"cuda_sources": cuda_sources, **options})
    return load_inline(keep_module_alive=keep_module_alive, **arguments)


@spelled_out(TextOptions)
def build_description(
    description: Source,
    *,
    name: str | None = None,
    cuda_sources: Texts = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[TextOptions],
) -> str:
    """Build what `load_description` would load, without loading it.

    Parameters
    ----------
    description, name, cuda_sources, **options
        As in `load_description`.
    output : path, optional
        The file to make, as in `build_inline`; so is what is returned and raised.
    """
    arguments = _arguments(description, name, {"cuda_sources": cuda_sources, **options})
    return build_inline(output=output, **arguments)


def _arguments(source: Source, name: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `load_inline`."""
    if options.get("functions") is not None:
        raise TypeError("functions are the description's: leave the argument out")
    description = source if isinstance(source, Description) else Description.read(source)
    name = name or description.name or os.path.basename(description.path).partition(".")[0]
    if not name:
        raise ValueError("the description has no name: give the module one, as name=")
    said = {key: getattr(description, key) for key in OPTIONS}
    return {
        **{key: value for key, value in said.items() if value},
        **{key: value for key, value in options.items() if value is not None},
        "name": name,
        "functions": description or None,
        "embed_cubin": described_images(description, options.get("embed_cubin")),
    }


def described_images(description: Description, given: Any = None) -> Any:
    """Return the images of a description by name; those given as ``embed_cubin`` replace its own.

    They keep what the description says of their kernels.
    """
    images = description.images
    if not images:
        return given
    if given is not None and not isinstance(given, Mapping):
        if len(images) > 1:
            raise ValueError(
                f"embed_cubin is one image, the description has {', '.join(images)}: say which, "
                f'as in embed_cubin={{"{next(iter(images))}": ...}}'
            )
        given = dict.fromkeys(images, given)
    found: dict[str, Any] = dict(given or {})
    for name, said in images.items():
        if name not in found:
            found[name] = _image(name, said, os.path.dirname(description.path))
        # Of a file that is yet to be made, the launches declare what its kernels take.
        if not isinstance(found[name], ImageFile):
            image = take_image(f"embed_cubin[{name!r}]", found[name])
            known = {key: getattr(image, key) or said.get(key, {}) for key in FACTS}
            found[name] = replace(image, **known)
    return found


def _image(name: str, said: Mapping[str, Any], folder: str) -> Any:
    if "path" in said:
        return take_image(f"images.{name}.path", os.path.join(folder, said["path"])).image
    if "base64" in said:
        with told(f"images.{name}.base64"):
            # Tools break lines where they please.
            return base64.b64decode("".join(str(said["base64"]).split()), validate=True)
    if "file" in said:
        return ImageFile(said["file"])
    raise ValueError(
        f"images.{name}: the description does not say where the image is: give it path or base64, "
        f'or the image as embed_cubin={{"{name}": ...}}'
    )


def describe_module(path: Path, output: Path) -> tuple[Path, ...]:
    """Write a module's description, ``k.json``, and its images beside it; return the files."""
    if output.exists() and output.samefile(path):
        raise ValueError(f"{output}: this is the module itself: name another file, such as k.json")
    description = Description.of(path)
    with open_artifact(path) as artifact:
        cubins = artifact.cubins(artifact.manifest.get("images", {}))
    images, files = dict(description.images), [output]
    for name, cubin in cubins.items():
        suffix = {"fatbin": "fatbin", "ptx": "ptx"}.get(cubin.kind, "cubin")
        files.append(output.with_name(f"{output.stem}.{name}.{suffix}"))
        images[name] = {"path": files[-1].name, **images.get(name, {})}
        write_output(files[-1], cubin.image)
    replace(description, images=images).write(output)
    return tuple(files)
