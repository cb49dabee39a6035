"""Images in files: where they lie is told to the launcher, and they are made where missing."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tvm_ffi

from ..cache.publish import builder_lock
from ..errors import LaunchError
from .images import ImageFile, call_generate, checked_image, once

if TYPE_CHECKING:
    from ..module import Module

_ENTRY = "_tvmffi_cubin_set_image_file"

# Else Ctrl-C, on its way through C++, would become a RuntimeError.
tvm_ffi.register_error("KeyboardInterrupt", KeyboardInterrupt)


def set_files(module: Module, files: Mapping[str, ImageFile], folder: str | None) -> None:
    """Tell a module where its images' files lie, and what makes those that are missing.

    `folder` is where they lie; None: beside the shared object.
    """
    entry = tvm_ffi.Module.get_function(module, _ENTRY)
    for name, file in files.items():
        make = None if file.generate is None else tvm_ffi.convert(partial(_make, file.generate))
        entry(name, folder, make)


def set_makers(module: Module, generate: Mapping[str, Callable[..., Any]]) -> None:
    """Tell a module what makes those of its images that lie in files beside it."""
    if not isinstance(generate, Mapping):
        kind = type(generate).__name__
        raise TypeError(f"generate maps names of images to callables, got {kind}")
    images = module.manifest.get("images", {})
    files = {name: facts["file"] for name, facts in images.items() if "file" in facts}
    if unknown := generate.keys() - files.keys():
        raise ValueError(
            f"generate names {min(unknown)!r}, which is not an image of {module.path} that lies in "
            f"a file; there are {', '.join(files) or 'none'}"
        )
    set_files(module, {name: ImageFile(files[name], x) for name, x in generate.items()}, None)


def _make(generate: Callable[..., Any], name: str, path: str) -> None:
    """Make the file of an image, unless another thread or process does; called from C++."""
    name, path = str(name), str(path)
    folder, file = os.path.split(path)
    try:
        with once(path), builder_lock(f"{folder}/.{file}.lock", patience=math.inf, name=path):
            if os.path.exists(path):
                return
            # On the file system of the image, which appears in one step.
            with tempfile.TemporaryDirectory(prefix=f".{file}.", dir=folder) as staging:
                value = call_generate(generate, Path(staging))
                image = checked_image(f"image {name!r}: what generate returned", value).image
                made = Path(staging, ".image")
                made.write_bytes(image)
                os.replace(made, path)
    except Exception as error:
        # tvm-ffi carries the kind and text of few errors through C++, and no half of a character.
        text = f"the image {name} was not made: {type(error).__name__}: {error}"
        raise LaunchError(text.encode("utf-8", "backslashreplace").decode()) from error
