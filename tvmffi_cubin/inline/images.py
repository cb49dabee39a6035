"""`ImageFile`: an image that is not embedded, but lies in a file beside the shared object."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..launches.export import Export, check_unicode, identifier
from .arguments import check_path

__all__ = ["ImageFile", "check_files", "check_place", "split"]


@dataclass(frozen=True)
class ImageFile:
    """An image in a file of its own, which is read when a kernel of it is first launched.

    The file need not be there when the module is built, so the launches declare what its kernels
    take, ``Launch(params=...)``, in full and in order; what is loaded is checked against that.

    Parameters
    ----------
    file : path
        From the shared object's folder on, unless it is absolute: a cubin, a fatbin or PTX.
    generate : callable, optional
        Makes the image where the file is missing, once across processes: ``generate()``, or
        ``generate(folder)`` with an empty folder, a ``pathlib.Path``, for its files. It returns the
        image, as bytes, a `Cubin` or a path, or leaves the one file in the folder. It is no part of
        a shared object: who loads one gives it again, ``load_module(path, generate=...)``.

    Raises
    ------
    TypeError, ValueError
        `file` is no path of a file, or `generate` no callable.
    """

    file: str | os.PathLike[str]
    generate: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.file, str | os.PathLike):
            raise TypeError(f"ImageFile: file is a path, got {type(self.file).__name__}")
        file = os.fspath(self.file)
        if not isinstance(file, str):
            raise TypeError(f"ImageFile: file is a path of str, got {type(file).__name__}")
        check_path("ImageFile: file", file)
        # It is written into the shared object, and given to tvm-ffi.
        check_unicode("ImageFile: file", file)
        if os.path.basename(file) in ("", ".", ".."):
            raise ValueError(f"ImageFile: file {file!r} names no file; give one such as 'k.cubin'")
        if self.generate is not None and not callable(self.generate):
            kind = type(self.generate).__name__
            raise TypeError(f"ImageFile: generate is a callable, got {kind}")
        object.__setattr__(self, "file", file)

    @property
    def is_relative(self) -> bool:
        """Whether it lies beside the shared object."""
        return not os.path.isabs(self.file)


def split(embed_cubin: Any, module: str) -> tuple[Any, dict[str, ImageFile]]:
    """Return what of ``embed_cubin`` is embedded, and the files that are not, by name.

    Raises
    ------
    TypeError, ValueError
        A name is none.
    """
    if isinstance(embed_cubin, ImageFile):
        name = os.path.splitext(os.path.basename(embed_cubin.file))[0]
        embed_cubin = {name if name.isidentifier() else module: embed_cubin}
    if not isinstance(embed_cubin, Mapping):
        return embed_cubin, {}
    files = {
        identifier("embed_cubin", name): x
        for name, x in embed_cubin.items()
        if isinstance(x, ImageFile)
    }
    if not files:
        return embed_cubin, {}
    rest = {name: x for name, x in embed_cubin.items() if name not in files}
    return rest or None, files


def check_files(
    files: Mapping[str, ImageFile],
    embedded: Mapping[str, Any],
    functions: Sequence[Export] | None,
    has_bound_params: bool,
) -> None:
    """Refuse what goes with embedded images alone.

    Raises
    ------
    ValueError
        An embedded image has the name of a file, or no function launches a file's kernel.
    """
    launched = {x.image for export in functions or () for x in export.launches}
    for name in files:
        if name in embedded:
            raise ValueError(f"two images are called {name!r}, one of them a file: rename one")
        if name not in launched and (launched != {None} or len(files) + len(embedded) > 1):
            raise ValueError(
                f"image {name!r} is a file of its own, of which no function launches a kernel: "
                f'say what does, functions={{"k": Launch(image={name!r}, params="...", ...)}}'
            )
        if has_bound_params:
            raise ValueError(
                f"image {name!r} is a file of its own, and bound_params are read off images when "
                "the module is built: bind parameters by Launch(args={...: Bound()})"
            )


def check_place(files: Mapping[str, ImageFile], folder: str | None) -> None:
    """Refuse files beside a shared object of which nobody says where it is to be.

    Raises
    ------
    ValueError
        There is one, and no folder.
    """
    lost = next((x.file for x in files.values() if x.is_relative), None)
    if folder is None and lost is not None:
        raise ValueError(
            f"ImageFile({lost!r}) lies beside the shared object, which would be deep in the cache: "
            "say where, by build_directory= (or, of what is only built, output=), or give its "
            "absolute path; images that are to be in the cache are made by tvmffi_cubin.lazy"
        )
