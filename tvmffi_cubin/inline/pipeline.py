"""From a request to its place in the cache: looked up, or built and published."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from .. import importing
from ..cache import store
from ..cache.entry import Entry
from ..cache.key import Key
from ..cuda.arch import resolve_archs
from ..errors import BuildError, CompileError, ToolchainError
from .request import Request
from .tools import TOOLS, Toolset, find_tools, module_key

_logger = logging.getLogger("tvmffi_cubin")


class Build(NamedTuple):
    """A request, for which architectures, with which tools and where it is built."""

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    cache: store.Cache


class Missed(NamedTuple):
    """What the cache has nothing of, and why; since when it was looked for."""

    wanted: Build
    key: Key
    reason: str
    start: float


def obtain(request: Request, *, is_loaded: bool = False) -> Entry:
    """Return the entry of a request, building it where the cache has none.

    Where a tool is missing, what other tools have built of the same will do; where NVRTC does not
    build it, nvcc may (`Request.for_nvcc`). What is built may be made ready meanwhile for being
    loaded (`is_loaded`). Raises as `tvmffi_cubin.load_inline`.
    """
    found = _look_up(request)
    if isinstance(found, Entry):
        return found
    by_nvcc = None if request.for_nvcc is None else _look_up(request.for_nvcc)
    if isinstance(by_nvcc, Entry):
        return by_nvcc
    # What builds is imported where something is built, and nowhere else.
    with importing:
        from .build import build

    try:
        return build(found, is_loaded)
    except (BuildError, CompileError, ValueError) as error:
        if by_nvcc is None or not _is_for_nvcc(error, found.wanted, by_nvcc.wanted.tools):
            raise
        lines = str(error).splitlines()
        reason = next((line for line in lines if "error:" in line), lines[0])
        _logger.warning("%s is built by nvcc, because of: %s", request.name, reason)
        ours = error.with_traceback(None)
    try:
        return build(by_nvcc, is_loaded)
    except (BuildError, ValueError) as error:
        raise error from ours


def _is_for_nvcc(error: Exception, ours: Build, tools: Toolset) -> bool:
    """Whether nvcc may build what we have failed to; an error says where it is missing."""
    from ..sources.sort import sort_sources
    from .assemble import NothingExportedError

    if isinstance(error, NothingExportedError) or not sort_sources(ours.request).are_for_nvcc:
        return False
    if tools.missing:
        error.args = (f"{error}\nHint: nvcc may build it: {tools.missing}",)
    return not tools.missing


def _look_up(request: Request) -> Entry | Missed:
    start = time.perf_counter()
    with importing:  # what asks compilers what they are, the first time
        archs = resolved_archs(request)
        # Of PTX that is assembled without an architecture, the text is embedded, too.
        is_fat = request.needs_arch if len(archs) > 1 else request.assembles and not archs
        tools = find_tools(
            needs_cuda=request.needs_cuda,
            needs_fatbin=is_fat,
            nvcc_flags=request.cuda_cflags if request.is_by_nvcc else None,
        )
    key = module_key(request, archs, tools)
    cache = store.default(lambda: tools.roots)
    found, why = cache.find(key.hexdigest()), ""
    if not isinstance(found, Entry) and (tools.lacks_any or cache.mode == "require"):
        found = _built_elsewhere(request, key, cache)
        lacking = tools.missing or tools.compiler.missing or "as or ld is missing"
        why = f"it was built by other tools: {lacking}" if tools.lacks_any else "by any tools"
    if not isinstance(found, Entry):
        return Missed(Build(request, archs, tools, cache), key, found, start)
    seconds = time.perf_counter() - start
    store.note(request.name, found.level, seconds, why, is_hit=True)
    where = f"{found.level}, {why}" if why else found.level
    _logger.debug("%s was in the cache (%s, %.2f ms)", request.name, where, seconds * 1e3)
    return found


def _built_elsewhere(request: Request, key: Key, cache: store.Cache) -> Entry | str:
    """Return what other tools built of the same, or why there is none."""
    found = cache.find(key.hexdigest(without=TOOLS), may_lack=True)
    if found != store.NOTHING:
        return found
    from ..cache import publish

    others = publish.known(cache.folders, request.name)
    return publish.Built.of(key, TOOLS).explain(others, without=TOOLS)


def resolved_archs(request: Request) -> tuple[str, ...]:
    """Return the architectures; none where nothing needs one or none can be found out."""
    arch = request.arch
    if request.is_by_nvcc:
        from ..cuda.nvcc import names_archs

        if arch is None and names_archs(request.cuda_cflags):
            return ()
    elif request.cuda_cflags:
        from ..cuda.options import named_archs

        arch = named_archs(request.cuda_cflags, arch) or None
    if arch is None and not request.needs_arch:
        return ()
    try:
        return resolve_archs(arch)
    except ToolchainError:
        # Whether an architecture is needed at all is only known once the sources are parsed, which
        # a cache hit does not do; whoever compiles asks again and then passes the error on.
        return ()
