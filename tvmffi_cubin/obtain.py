"""From a request to its place in the cache: looked up, or built and published."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from . import cache as caches
from . import toolset
from .arch import resolve_archs
from .entry import Entry
from .errors import BuildError, CompileError, ToolchainError
from .module_key import module_key
from .request import Request

if TYPE_CHECKING:
    from . import destination

__all__ = ["find_place", "obtain"]

_GENERATES = f"{__package__}.assemble"


def obtain(request: Request, arch: Any) -> Entry:
    """Return the entry of a request, building it where the cache has none.

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    try:
        return _obtain(request, arch)
    except (BuildError, CompileError, ToolchainError) as error:
        # The message says all; a screen of this package's frames would bury it in a notebook.
        raise error.with_traceback(None) from error.__cause__


def _obtain(request: Request, arch: Any) -> Entry:
    asked_ns = time.time_ns()
    tools = toolset.find(
        needs_cuda=request.needs_cuda, needs_c=bool(request.files.c), flags=request.host_flags
    )
    archs = _resolve_archs(request, arch, tools)
    if len(archs) > 1 and request.may_have_kernels:
        tools = tools.using("nvfatbin")
    can_link = tools.cuda is not None and tools.cuda.nvjitlink is not None
    if request.assembles:
        _check_can_assemble(request, tools)
        # Without an architecture the text is embedded, too.
        tools = tools if archs else tools.using("nvfatbin")
    if request.assembles or (request.may_link and can_link):
        tools = tools.using("nvjitlink")
    cache = caches.default(tools.roots)
    key = module_key(request, archs, tools).hexdigest()
    found = cache.find(key)
    if isinstance(found, Entry):
        return found
    if _GENERATES not in sys.modules:
        tools = tools.looked_at_again()
        key = module_key(request, archs, tools).hexdigest()
    # Compilers and generators are imported on a miss only.
    from .assemble import make

    return cache.obtain(
        key,
        lambda folder: make(request, archs, tools, cache, folder),
        asked_ns=asked_ns if request.may_include else 0,
        name=request.name,
        is_shared=True,
    )


def _check_can_assemble(request: Request, tools: toolset.Toolset) -> None:
    cuda = tools.cuda
    if cuda is None or cuda.nvjitlink is not None:
        return
    name = next(image.name for image in request.images.values() if image.is_ptx)
    raise ToolchainError(
        f"{name} is PTX, which nvJitLink assembles when a module is built, and the Python path has "
        f"no {cuda.wheels['nvjitlink']}; run: pip install 'tvmffi-cubin[cu{cuda.major}]'; or give "
        'ptx="keep", and the driver compiles it'
    )


def _resolve_archs(request: Request, arch: Any, tools: toolset.Toolset) -> tuple[str, ...]:
    """Return the architectures; none where nothing needs one or none can be found out."""
    if request.cuda_cflags:
        from .nvrtc_options import caller_options, named_archs

        arch = named_archs(caller_options(request.cuda_cflags), arch) or None
    if arch is not None:
        return resolve_archs(arch)
    if not request.may_have_kernels:
        return ()

    def known() -> Collection[int]:
        from .nvrtc_archs import known_archs

        assert tools.cuda is not None
        return known_archs(tools.cuda)

    try:
        return resolve_archs(known=known)
    except ToolchainError:
        # Whether an architecture is needed at all is only known once the sources are parsed, which
        # a cache hit does not do; whoever compiles asks again and then passes the error on.
        return ()


def find_place(
    output: Any, directory: str | os.PathLike[str] | None
) -> destination.Destination | None:
    """Return where a copy for people is put, None where none is wanted.

    Raises
    ------
    OSError, TypeError, ValueError
        It cannot be put there; see `destination`.
    """
    if output is None and directory is None:
        return None
    from .destination import destination

    place = destination(output, directory)
    place.check()
    return place
