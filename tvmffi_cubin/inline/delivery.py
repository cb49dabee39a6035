"""The last step of `load_inline` and its siblings: what was built is loaded, or put somewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..cache.entry import Entry
from ..errors import BuildError, CacheError
from .pipeline import obtain
from .request import Request

if TYPE_CHECKING:
    from ..module import Module
    from .place import Destination

__all__ = ["built", "loaded"]

_T = TypeVar("_T")

# How often what was found may be gone before it is used.
_TRIES = 3


def loaded(
    request: Request, arch: Any, place: Destination | None, *, keep_module_alive: bool
) -> Module:
    """Return the module of a request, loaded from the cache, with a copy for people.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    folder = None if place is None else place.folder
    _check_place(request, folder)
    if folder is not None and any(x.is_relative for x in request.image_files.values()):
        # What is loaded keeps in mind where its files lie: one for each folder.
        request = request._replace(image_folder=folder)

    def use(entry: Entry) -> Module:
        from ..module import load_module

        if place is not None:
            place.put(entry.so)
        return load_module(entry.so, keep_module_alive=keep_module_alive)

    module = _with_entry(request, arch, use, is_loaded=True)
    if request.image_files:
        from .image_files import set_files

        set_files(module, request.image_files, folder)
    return module


def built(request: Request, arch: Any, place: Destination | None) -> str:
    """Return the path of what a request makes: of the copy, or in the cache.

    Raises
    ------
    CompileError, BuildError, ToolchainError, OSError, TypeError, ValueError
        See `tvmffi_cubin.build_inline`.
    """
    _check_place(request, None if place is None else place.folder)

    def use(entry: Entry) -> str:
        return os.fspath(entry.so) if place is None else place.put(entry.so)

    return _with_entry(request, arch, use)


def _check_place(request: Request, folder: str | None) -> None:
    if request.image_files:
        from .images import check_place

        check_place(request.image_files, folder)


def _with_entry(
    request: Request, arch: Any, use: Callable[[Entry], _T], *, is_loaded: bool = False
) -> _T:
    """Use the entry of a request; where somebody removes it meanwhile, one that is built again."""
    for _ in range(_TRIES):
        entry = obtain(request, arch, is_loaded=is_loaded)
        try:
            return use(entry)
        except (OSError, BuildError, CacheError) as error:
            if not _is_gone(os.fspath(entry.so), error):
                raise
            gone = error
    raise CacheError(
        f"{entry.so} is removed again and again before it is used: wait until who empties the "
        "cache folder is done, or set TVMFFI_CUBIN_CACHE_DIR to another"
    ) from gone


def _is_gone(so: str, error: Exception) -> bool:
    # Who makes room may have moved it away, and back as it is in use: then it is there again.
    if isinstance(error, FileNotFoundError) and error.filename == so:
        return True
    said = f"{so}: cannot open shared object file: No such file"
    return said in str(error) or not os.path.exists(so)
