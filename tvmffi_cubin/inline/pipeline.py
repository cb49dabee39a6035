"""From a request to its place in the cache: looked up, or built and published."""

from __future__ import annotations

import logging
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ..cache import store as caches
from ..cache.entry import Entry
from ..cache.info import seen
from ..cuda.arch import known_archs, resolve_archs
from ..errors import BuildError, CompileError, ToolchainError
from .module_key import module_key
from .request import Request
from .tools import Toolset, find_tools

if TYPE_CHECKING:
    from . import place

__all__ = ["find_place", "obtain"]

_logger = logging.getLogger("tvmffi_cubin")


def obtain(request: Request, arch: Any, *, is_loaded: bool = False) -> Entry:
    """Return the entry of a request, building it where the cache has none.

    Where a tool is missing, what other tools have built of the same will do. What is built may be
    made ready meanwhile for being loaded (`is_loaded`).

    Raises
    ------
    CompileError, BuildError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    start = time.perf_counter()
    try:
        return _found_or_built(request, arch, start, is_loaded=is_loaded)
    except (BuildError, CompileError, ToolchainError) as error:
        # The message says all; a screen of this package's frames would bury it in a notebook.
        raise error.with_traceback(None) from error.__cause__


def _found_or_built(request: Request, arch: Any, start: float, *, is_loaded: bool) -> Entry:
    asked_ns = time.time_ns()
    try:
        tools = find_tools(
            needs_cuda=request.needs_cuda,
            needs_c=bool(request.files.c),
            flags=request.host_flags,
            nvcc_flags=request.cuda_cflags if request.is_by_nvcc else None,
        )
        archs = _resolve_archs(request, arch, tools)
        tools = _with_libraries(request, archs, tools)
        key = module_key(request, archs, tools)
    except ToolchainError as error:
        return _built_elsewhere(request, arch, start, error)
    cache = caches.default(tools.roots)
    found = cache.find(key.hexdigest())
    if isinstance(found, Entry):
        _note(request.name, found, start)
        return found
    if not (tools.host.assembler and tools.host.linker):
        # A compiler alone builds nothing, unless it has both inside: then it does.
        from . import built_elsewhere

        other = built_elsewhere.find(request, archs)
        if isinstance(other, Entry):
            _note(request.name, other, start, "it was built by other tools: ld or as is missing")
            return other
    if tools.cuda is not None and request.may_be_compiled:
        from ..cuda import program

        # It takes as long as the imports of a build; who needs it waits, and says what fails.
        program.prepare(tools.cuda.nvrtc)
    from .miss import Wanted, build

    wanted = Wanted(request, archs, tools, key, is_loaded)
    return build(wanted, cache, found, asked_ns=asked_ns, start=start)


def _built_elsewhere(request: Request, arch: Any, start: float, error: ToolchainError) -> Entry:
    from .built_elsewhere import find

    found = find(request, _resolve_archs(request, arch, None))
    if isinstance(found, Entry):
        _note(request.name, found, start, f"it was built by other tools: {error}")
        return found
    text = f"{error}. Nor does the cache have what other tools built of the same: {found}"
    raise type(error)(text) from error.__cause__


def _note(name: str, found: Entry, start: float, reason: str = "") -> None:
    seconds = time.perf_counter() - start
    seen.found(name, found.level, seconds, reason)
    if _logger.isEnabledFor(logging.DEBUG):
        more = f"; {reason}" if reason else ""
        _logger.debug("%s was in the cache (%s, %.2f ms)%s", name, found.level, seconds * 1e3, more)


def _with_libraries(request: Request, archs: tuple[str, ...], tools: Toolset) -> Toolset:
    """Return the tools with the further parts of the CUDA wheels that a build uses."""
    if len(archs) > 1 and request.may_have_kernels:
        tools = tools.using("nvfatbin")
    can_link = tools.cuda is not None and "nvjitlink" in tools.cuda.parts
    if request.assembles:
        _check_can_assemble(request, tools)
        # Without an architecture the text is embedded, too.
        tools = tools if archs else tools.using("nvfatbin")
    if request.assembles or (request.may_link and can_link):
        tools = tools.using("nvjitlink")
    return tools


def _check_can_assemble(request: Request, tools: Toolset) -> None:
    cuda = tools.cuda
    if cuda is None or "nvjitlink" in cuda.parts:
        return
    from ..kernels.image import looks_like_ptx

    name = next(x.name for x in request.images.values() if looks_like_ptx(x.image))
    raise ToolchainError(
        f"{name} is PTX, which nvJitLink assembles when a module is built, and the Python path has "
        f"no {cuda.wheels['nvjitlink']}; run: pip install 'tvmffi-cubin[cu{cuda.major}]'; or give "
        'ptx="keep", and the driver compiles it'
    )


def _resolve_archs(request: Request, arch: Any, tools: Toolset | None) -> tuple[str, ...]:
    """Return the architectures; none where nothing needs one or none can be found out."""
    cuda = None if tools is None else tools.cuda
    if request.is_by_nvcc:
        from ..cuda.nvcc import names_archs

        if arch is None and names_archs(request.cuda_cflags):
            return ()
    elif request.cuda_cflags:
        from ..cuda.options import named_archs

        arch = named_archs(request.cuda_cflags, arch) or None
    if arch is not None:
        return resolve_archs(arch)
    if not request.may_have_kernels:
        return ()
    try:
        return resolve_archs(known=None if cuda is None else partial(known_archs, cuda))
    except ToolchainError:
        # Whether an architecture is needed at all is only known once the sources are parsed, which
        # a cache hit does not do; whoever compiles asks again and then passes the error on.
        return ()


def find_place(output: Any, directory: str | os.PathLike[str] | None) -> place.Destination | None:
    """Return where a copy for people is put, None where none is wanted.

    Raises
    ------
    OSError, TypeError, ValueError
        It cannot be put there; see `destination`.
    """
    if output is None and directory is None:
        return None
    from .place import destination

    place = destination(output, directory)
    place.check()
    return place
