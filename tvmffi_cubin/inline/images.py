"""A request's images: embedded by name, carried by launches, or in files and generated."""

from __future__ import annotations

import inspect
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LaunchError
from ..kernels.cubin import Cubin, take_image
from ..launches.form import Export, identifier
from .options import several
from .request import DEVICE_IMAGE

if TYPE_CHECKING:
    from ..launches.launch import Launch
    from ..module import Module


@dataclass(frozen=True)
class ImageFile:
    """An image in a separate file, read at the first launch of one of its kernels.

    The file need not exist when the module is built, so launches must declare all parameters of
    its kernels in order, ``Launch(params=...)``; loading checks the file against that.

    Parameters
    ----------
    file : path
        A cubin, fatbin or PTX file; relative paths start at the shared object's folder.
    generate : callable, optional
        Creates the image if the file is missing, once across processes. Called as ``generate()``,
        or as ``generate(folder)`` with an empty folder, a ``pathlib.Path``, for its files; returns
        the image as bytes, a `Cubin` or a path. The shared object does not contain the callable:
        pass it again to ``load_module(path, generate=...)``.
    """

    file: str | os.PathLike[str]
    generate: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", os.fspath(self.file))


def embed(
    given: Any, exports: tuple[Export, ...] | None, files: Mapping[str, str], module: str
) -> tuple[tuple[Export, ...] | None, dict[str, Cubin], dict[str, ImageFile]]:
    """Return exports whose launches name their images, the embedded images, and the image files.

    `given` is ``embed_cubin``; `files` are the images among the sources. An image that a launch
    carries is embedded under its file's name, else its function's; equal images are embedded once.
    """
    images = {name: replace(take_image(path, path), name=path) for name, path in files.items()}
    image_files: dict[str, ImageFile] = {}
    named = given if isinstance(given, Mapping) else {_name(given, module): given}
    for name, image in named.items() if given is not None else ():
        what = f"embed_cubin[{identifier('embed_cubin', name)!r}]"
        if name in images:
            raise ValueError(f"{what} and the file {images[name].name} share a name: rename one")
        if isinstance(image, ImageFile):
            image_files[name] = image
        else:
            images[name] = take_image(what, image)

    def placed(export: Export, launch: Launch) -> Launch:
        """Embed a launch's image, and return the launch with the image's name."""
        image = launch.image
        if image is None or isinstance(image, str):
            return launch
        cubin = take_image(f"the image of functions[{export.name!r}]", image)
        return replace(launch, image=_add(cubin, _name(image, export.name), images))

    def with_names(export: Export) -> Export:
        found = export.instances and tuple(
            tuple(placed(export, launch) for launch in launches) for launches in export.instances
        )
        return export._replace(instances=found)

    return exports and tuple(map(with_names, exports)), images, image_files


def _add(given: Cubin, base: str, images: dict[str, Cubin]) -> str:
    """Add an image under a free name, unless an equal one exists; return its name."""
    for name, known in images.items():
        # The image itself contains the architecture, whether or not the Cubin states it.
        if replace(known, arch=given.arch) == given:
            return name
    name, number = base, 1
    while name in images or name == DEVICE_IMAGE:
        number += 1
        name = f"{base}_{number}"
    images[name] = given
    return name


def _name(image: Any, otherwise: str) -> str:
    """Return a name for an unnamed image: its file's, if that is a C identifier."""
    file = image.file if isinstance(image, ImageFile) else image
    if not isinstance(file, str | os.PathLike):
        return otherwise
    stem = os.path.splitext(os.path.basename(os.fsdecode(file)))[0]
    return stem if stem.isascii() and stem.isidentifier() else otherwise


def device_libraries(value: Any) -> tuple[Cubin, ...]:
    """Normalize the argument `device_libraries`."""
    what, kinds = "device_libraries", str | os.PathLike | bytes | bytearray | memoryview | Cubin
    found: list[Cubin] = []
    for x in several(what, value, kinds, "paths, bytes or Cubins", one=False):
        if isinstance(x, str) and x == "cudadevrt":  # kernels that launch kernels need it
            from ..cuda.libraries import find_cuda

            x = find_cuda().require("cudart").with_name("libcudadevrt.a")
        found.append(take_image(f"{what}[{len(found)}]", x))
    return tuple(found)


def call_generate(generate: Callable[..., Any], folder: Path) -> Any:
    """Call `generate`, with the empty folder if it takes one, and return the result."""
    try:
        inspect.signature(generate).bind()
    except TypeError:
        pass
    else:
        return generate()
    value = generate(folder)
    return folder / value if isinstance(value, str | os.PathLike) else value


def checked_image(what: str, value: Any) -> Cubin:
    """Return the image that `generate` made, after validating it."""
    from ..device.image import given_image

    cubin = take_image(what, value)
    given_image("image", cubin)
    return cubin


def set_files(module: Module, files: Mapping[str, ImageFile], folder: str | None) -> None:
    """Tell a module where its image files are, by default beside it, and what generates them."""
    import tvm_ffi

    entry = tvm_ffi.Module.get_function(module, "_tvmffi_cubin_set_image_file")
    for name, file in files.items():
        make = None if file.generate is None else tvm_ffi.convert(partial(_make, file.generate))
        entry(name, folder, make)


def set_makers(module: Module, generate: Mapping[str, Callable[..., Any]]) -> None:
    """Tell a module what generates the image files beside it."""
    if not isinstance(generate, Mapping):
        kind = type(generate).__name__
        raise TypeError(f"generate must map image names to callables, got {kind}")
    images = module.manifest.get("images", {})
    files = {name: facts["file"] for name, facts in images.items() if "file" in facts}
    if unknown := generate.keys() - files.keys():
        raise ValueError(
            f"generate names {min(unknown)!r}, which is not an image file of {module.path}; "
            f"available: {', '.join(files) or 'none'}"
        )
    set_files(module, {name: ImageFile(files[name], x) for name, x in generate.items()}, None)


def _make(generate: Callable[..., Any], name: str, path: str) -> None:
    """Generate an image file, unless another thread or process does; called from C++."""
    from ..cache.publish import builder_lock

    name, path = str(name), str(path)
    folder, file = os.path.split(path)
    try:
        with builder_lock(f"{folder}/.{file}.lock", patience=math.inf, name=path):
            if os.path.exists(path):
                return
            # On the image's file system, so that the image appears atomically.
            with tempfile.TemporaryDirectory(prefix=f".{file}.", dir=folder) as staging:
                value = call_generate(generate, Path(staging))
                image = checked_image(f"image {name!r}: generate's result", value).image
                made = Path(staging, ".image")
                made.write_bytes(image)
                os.replace(made, path)
    except Exception as error:
        # Through C++, tvm-ffi keeps the type and text of few errors, and no lone surrogates.
        text = f"cannot generate image {name}: {type(error).__name__}: {error}"
        raise LaunchError(text.encode("utf-8", "backslashreplace").decode()) from error
