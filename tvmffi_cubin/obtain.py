"""From a request to its place in the cache: looked up, or built and published."""

from __future__ import annotations

import os
from typing import Any

from . import cache as caches
from . import toolset
from .arch import resolve_arch
from .entry import Entry
from .errors import BuildError, CompileError, ToolchainError
from .key import Key
from .request import Request

__all__ = ["obtain", "path_for_people"]


def obtain(request: Request, arch: Any) -> Entry:
    """Return the entry of a request, building it where the cache has none.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    target = _resolve_arch(request, arch)
    tools = toolset.find(needs_cuda=request.needs_cuda)
    cache = caches.default(tools.roots)
    key = _base_key(request, target, tools)
    entry = cache.lookup(key)
    if entry is not None:
        return entry
    # Compilers and generators are imported on a miss only.
    from .assemble import make

    try:
        return cache.obtain(key, lambda folder: make(request, target, tools, cache, folder))
    except (BuildError, CompileError) as error:
        # The message says all; a screen of this package's frames would bury it in a notebook.
        raise error.with_traceback(None) from error.__cause__


def _resolve_arch(request: Request, arch: Any) -> str | None:
    if request.cuda_cflags:
        from .nvrtc_options import arch_option, caller_options

        arch = arch_option(caller_options(request.cuda_cflags), arch)
    if arch is not None:
        return resolve_arch(arch)
    if not request.may_have_kernels:
        return None
    try:
        return resolve_arch()
    except ToolchainError:
        # Whether an architecture is needed at all is only known once the sources are parsed, which
        # a cache hit does not do; whoever compiles asks again and then passes the error on.
        return None


def _base_key(request: Request, arch: str | None, tools: toolset.Toolset) -> str:
    from . import __version__

    key = Key("inline module")
    key.add("package", __version__)
    key.add("tools", tools.versions)
    key.add("arch", arch)
    request.add_to(key)
    return key.hexdigest()


def path_for_people(entry: Entry, directory: str | os.PathLike[str] | None) -> str:
    """Return the path of an entry's product: of a copy in a folder, where one is given.

    Raises
    ------
    CacheError
        It cannot be written.
    """
    if directory is None:
        return os.fspath(entry.so)
    from pathlib import Path

    from .atomic import copy_atomically

    copy = Path(os.path.abspath(directory), entry.so.name)
    copy_atomically(entry.so, copy)
    return os.fspath(copy)
