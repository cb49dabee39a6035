"""Images in files: where they lie is told to the launcher, and they are made where missing."""

from __future__ import annotations

import contextlib
import glob
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tvm_ffi

from ..cache.files import temporary_name
from ..cache.lock import builder_lock
from ..errors import LaunchError
from .generated import call_generate, once
from .images import ImageFile

if TYPE_CHECKING:
    from ..module import Module

_ENTRY = "_tvmffi_cubin_set_image_file"

# Else Ctrl-C, on its way through C++, would become a RuntimeError.
tvm_ffi.register_error("KeyboardInterrupt", KeyboardInterrupt)


def set_files(module: Module, files: Mapping[str, ImageFile], folder: str | None) -> None:
    """Tell a module where its images' files lie, and what makes those that are missing.

    Parameters
    ----------
    module : Module
        Some of its images lie in files.
    files : mapping of str to ImageFile
        Those, by name.
    folder : str or None
        Where they lie; None: beside the shared object.
    """
    entry = tvm_ffi.Module.get_function(module, _ENTRY)
    for name, file in files.items():
        make = None if file.generate is None else tvm_ffi.convert(partial(_make, file.generate))
        entry(name, folder, make)


def set_makers(module: Module, generate: Mapping[str, Callable[..., Any]]) -> None:
    """Tell a module what makes those of its images that lie in files beside it.

    Raises
    ------
    TypeError, ValueError
        `generate` is no mapping of such images to callables.
    """
    if not isinstance(generate, Mapping):
        kind = type(generate).__name__
        raise TypeError(f"generate maps names of images to callables, got {kind}")
    images = module.manifest.get("images", {})
    files = {name: facts["file"] for name, facts in images.items() if "file" in facts}
    for name in generate:
        if name not in files:
            raise ValueError(
                f"generate names {name!r}, which is no image of {module.path} that lies in a "
                f"file; there are {', '.join(files) or 'none'}"
            )
    set_files(module, {name: ImageFile(files[name], x) for name, x in generate.items()}, None)


def _make(generate: Callable[..., Any], name: str, path: str) -> None:
    """Make the file of an image, unless another thread or process does; called from C++."""
    name, path = str(name), str(path)
    folder, file = os.path.split(path)
    lock = os.path.join(folder, f".{file}.lock")
    circle = f"image {name!r}: generate launches a kernel of the image that it is to make"
    with once(path, circle), builder_lock(lock, patience=math.inf, name=path) as is_alone:
        if os.path.exists(path):
            return
        with _staging(name, path, is_alone=is_alone) as staging:
            try:
                image = _checked(name, call_generate(generate, staging))
            except Exception as error:
                # tvm-ffi carries the kind and text of few errors through C++, and no half of a
                # character, which would crash the process.
                text = f"the image {name} was not made: {type(error).__name__}: {error}"
                text = text.encode("utf-8", "backslashreplace").decode()
                raise LaunchError(text) from error
            try:
                made = staging / ".image"
                made.write_bytes(image)
                os.replace(made, path)
            except OSError as error:
                raise _unwritable(name, path, error) from error


@contextlib.contextmanager
def _staging(name: str, path: str, *, is_alone: bool) -> Iterator[Path]:
    """Make a folder beside the file, on its file system; it is always removed."""
    folder, file = os.path.split(path)
    prefix = f".{file}.making-"
    try:
        # Those of others were left by processes that were killed, if this one has the lock.
        for left in Path(folder).glob(f"{glob.escape(prefix)}*") if is_alone else ():
            shutil.rmtree(left, ignore_errors=True)
        staging = Path(folder, f"{prefix}{temporary_name()}")
        staging.mkdir()
    except OSError as error:
        raise _unwritable(name, path, error) from error
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _unwritable(name: str, path: str, error: OSError) -> LaunchError:
    folder, file = os.path.split(path)
    return LaunchError(
        f"the image {name} cannot be made: {folder} cannot be written ({error.strerror}): make "
        f"{file} where it can be, and copy it there, or have the shared object in a folder "
        "that can be written"
    )


def _checked(name: str, value: Any) -> bytes:
    from ..device.image import given_image
    from ..kernels.image import take_image

    given = take_image(f"image {name!r}: what generate returned", value)
    return given_image(name, given).data
