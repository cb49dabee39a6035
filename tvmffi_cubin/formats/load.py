"""`load_description` and `build_description`: from a description and its images to a module."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..inline import build_inline, load_inline
from ..options import TextOptions, spelled_out
from .description import Description
from .images import described_images

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

Source = Description | str | os.PathLike[str] | bytes | Mapping[str, Any]


@spelled_out(TextOptions)
def load_description(
    description: Source,
    *,
    name: str | None = None,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Make a module of a description and its images, and load it.

    Parameters
    ----------
    description : Description, path, bytes or mapping
        What `Description.read` takes, or has made.
    name : str, optional
        Name of the module. Default: the description's own, else its file's without suffix.
    keep_module_alive, **options
        As in `load_inline`, and before what the description says of the same. Images in
        `embed_cubin` stand for the description's of the same name; sources compiled beside them
        are the image ``kernels``.

    Returns
    -------
    Module
        The functions as attributes and items.

    Raises
    ------
    OSError, TypeError, ValueError
        The description or an image cannot be read or is none, or an argument is wrong.
    CompileError, BuildError, ToolchainError
        As in `load_inline`.
    """
    own, rest = _arguments("load_description", description, name, options)
    return load_inline(own, keep_module_alive=keep_module_alive, **rest)


@spelled_out(TextOptions)
def build_description(
    description: Source,
    *,
    name: str | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[TextOptions],
) -> str:
    """Build what `load_description` would load, without loading it.

    Parameters
    ----------
    description, name, **options
        As in `load_description`.
    output : path, optional
        The file to make, as in `build_inline`.

    Returns
    -------
    str
        Path of the shared object or object, as of `build_inline`.

    Raises
    ------
    OSError, TypeError, ValueError, CompileError, BuildError, ToolchainError
        As in `load_description`, and where `output` cannot be written.
    """
    own, rest = _arguments("build_description", description, name, options)
    return build_inline(own, output=output, **rest)


def _arguments(
    function: str, source: Source, name: str | None, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name and the keywords of `load_inline`."""
    if options.get("functions") is not None:
        raise TypeError(f"{function}: functions are the description's: leave the argument out")
    description = source if isinstance(source, Description) else Description.read(source)
    name = name or description.name or os.path.basename(description.path).partition(".")[0]
    if not name:
        raise ValueError(f"{function}: the description has no name: give the module one, as name=")
    said = {key: getattr(description, key) for key in ("arch", "ptx", "bound_params")}
    return name, {
        **{key: value for key, value in said.items() if value},
        **{key: value for key, value in options.items() if value is not None},
        "functions": description if description else None,
        "embed_cubin": described_images(description, options.get("embed_cubin")),
    }
