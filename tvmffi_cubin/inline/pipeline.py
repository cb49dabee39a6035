"""From a request to its place in the cache: looked up, or built and published."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from ..cache import store
from ..cache.entry import Entry
from ..cache.info import seen
from ..cache.key import Key
from ..cuda.arch import resolve_archs
from ..errors import BuildError, CompileError, ToolchainError
from .request import Request
from .tools import TOOLS, Toolset, find_tools, module_key, with_libraries

_logger = logging.getLogger("tvmffi_cubin")


class _Missed(NamedTuple):
    """What the cache has nothing of, and why; since when it was looked for."""

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    cache: store.Cache
    key: Key
    miss: store.Miss
    start: float

    def build(self, is_loaded: bool) -> Entry:
        """Build it; raises as `tvmffi_cubin.load_inline`."""
        request, tools = self.request, self.tools
        if tools.missing:
            raise ToolchainError(
                f"{tools.missing}. The cache has nothing of the same by other tools: "
                f"{self.miss.reason}"
            )
        if tools.cuda is not None and request.is_compiled:
            from ..cuda import program

            # It takes as long as the imports of a build; who needs it waits, and says what fails.
            program.prepare(tools.cuda.nvrtc)
        from .build import Build, build

        wanted = Build(request, self.archs, tools, self.cache)
        return build(wanted, self.key, self.miss, self.start, is_loaded)


def obtain(request: Request, *, is_loaded: bool = False) -> Entry:
    """Return the entry of a request, building it where the cache has none.

    Where a tool is missing, what other tools have built of the same will do; where NVRTC does not
    build it, nvcc may (`Request.for_nvcc`). What is built may be made ready meanwhile for being
    loaded (`is_loaded`). Raises as `tvmffi_cubin.load_inline`.
    """
    found = _look_up(request)
    if isinstance(found, Entry):
        return found
    for_nvcc = request.for_nvcc
    if for_nvcc is None:
        return found.build(is_loaded)
    by_nvcc = _look_up(for_nvcc)
    if isinstance(by_nvcc, Entry):
        return by_nvcc
    try:
        return found.build(is_loaded)
    except (BuildError, CompileError, ValueError) as error:
        from ..sources.sort import sort_sources
        from .assemble import NothingExportedError

        is_built = isinstance(error, NothingExportedError)
        if is_built or not sort_sources(request).are_for_nvcc:
            raise
        if no_nvcc := by_nvcc.tools.missing:
            error.args = (f"{error}\nHint: nvcc may build it: {no_nvcc}",)
            raise
        lines = str(error).splitlines()
        reason = next((line for line in lines if "error:" in line), lines[0])
        _logger.warning("%s is built by nvcc, because of: %s", request.name, reason)
        ours = error.with_traceback(None)
    try:
        return by_nvcc.build(is_loaded)
    except (BuildError, ValueError) as error:
        raise error from ours


def _look_up(request: Request) -> Entry | _Missed:
    start = time.perf_counter()
    tools = find_tools(
        needs_cuda=request.needs_cuda,
        needs_c=bool(request.files.c),
        nvcc_flags=request.cuda_cflags if request.is_by_nvcc else None,
    )
    archs = _resolve_archs(request)
    tools = with_libraries(tools, request, archs)
    key = module_key(request, archs, tools)
    cache = store.default(tools.roots)
    found = cache.find(key.hexdigest())
    if isinstance(found, Entry):
        _note(request.name, found, start)
        return found
    if tools.lacks_any:
        other = _built_elsewhere(request, key, cache)
        if isinstance(other, Entry):
            why = tools.missing or tools.compiler.missing or "ld or as is missing"
            _note(request.name, other, start, f"it was built by other tools: {why}")
            return other
        if tools.missing:
            found = store.Miss(other)
    return _Missed(request, archs, tools, cache, key, found, start)


def _built_elsewhere(request: Request, key: Key, cache: store.Cache) -> Entry | str:
    """Return what other tools built of the same, or why there is none."""
    from ..cache import history

    wanted = history.Built.of(key, TOOLS)
    others = history.known(cache.folders, request.name)
    reason = ""
    for other in others:
        if other.purpose == wanted.purpose:
            found = cache.find(other.base_key, may_lack=True)
            if isinstance(found, Entry):
                return found
            reason = reason or found.reason
    return reason or wanted.explain(others, without=TOOLS)


def _note(name: str, found: Entry, start: float, reason: str = "") -> None:
    seconds = time.perf_counter() - start
    seen.note(name, found.level, seconds, reason, is_hit=True)
    if _logger.isEnabledFor(logging.DEBUG):
        more = f"; {reason}" if reason else ""
        _logger.debug("%s was in the cache (%s, %.2f ms)%s", name, found.level, seconds * 1e3, more)


def _resolve_archs(request: Request) -> tuple[str, ...]:
    """Return the architectures; none where nothing needs one or none can be found out."""
    arch = request.arch
    if request.is_by_nvcc:
        from ..cuda.nvcc import names_archs

        if arch is None and names_archs(request.cuda_cflags):
            return ()
    elif request.cuda_cflags:
        from ..cuda.options import named_archs

        arch = named_archs(request.cuda_cflags, arch) or None
    if arch is not None:
        return resolve_archs(arch)
    if not request.needs_arch:
        return ()
    try:
        return resolve_archs()
    except ToolchainError:
        # Whether an architecture is needed at all is only known once the sources are parsed, which
        # a cache hit does not do; whoever compiles asks again and then passes the error on.
        return ()
