"""`build`: what happens when a module is not in the cache: said why, built, and counted."""

from __future__ import annotations

import contextlib
import importlib
import logging
import time
from pathlib import Path
from typing import NamedTuple

from ..cache import history
from ..cache.entry import Entry, Product
from ..cache.history import Built
from ..cache.info import seen
from ..cache.key import Key
from ..cache.store import NOTHING, Cache, Miss
from .request import Request, may_read_files
from .tools import TOOLS, Toolset

__all__ = ["Wanted", "build"]

_logger = logging.getLogger("tvmffi_cubin")


class Wanted(NamedTuple):
    """A request, for which architectures, and with which tools it is to be built.

    Its key, and whether what is built is then loaded.
    """

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    key: Key
    is_loaded: bool


def build(wanted: Wanted, cache: Cache, miss: Miss, *, asked_ns: int, start: float) -> Entry:
    """Return the entry of a module that is not in the cache, once it is built.

    Parameters
    ----------
    wanted : Wanted
        What to build.
    cache : Cache
        Where.
    miss : Miss
        What a look-up said.
    asked_ns : int
        See `Cache.obtain`.
    start : float
        When the look-up began, by `time.perf_counter`.

    Raises
    ------
    CompileError, BuildError, ToolchainError, CacheError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    request = wanted.request
    built_now = Built.of(wanted.key, TOOLS)
    reason = miss.reason
    if reason == NOTHING and cache.mode == "off":
        reason = "TVMFFI_CUBIN_CACHE=off: nothing is looked up"
    elif reason == NOTHING:
        others = history.known(cache.folders, request.name)
        reason = f"{NOTHING}: {built_now.explain(others)}"
    _logger.info("%s is not in the cache: %s", request.name, reason)
    make = _Maker(wanted, cache, built_now)
    looked = time.perf_counter() - start
    outcome = "failed"
    try:
        entry = cache.obtain(
            built_now.base_key,
            make,
            name=request.name,
            is_shared=True,
            is_missing=True,
            asked_ns=asked_ns if may_read_files(request) else 0,
        )
        outcome = "built" if make.begun else entry.level
        if entry.is_taken:
            outcome = "remote"
    finally:
        end = time.perf_counter()
        built = end - make.begun if make.begun else 0.0
        seen.missed(request.name, outcome, reason, looked=looked, built=built, total=end - start)
    return entry


class _Maker:
    """Builds a module, and says since when."""

    def __init__(self, wanted: Wanted, cache: Cache, built: Built) -> None:
        self.wanted = wanted
        self.cache = cache
        self.built = built
        self.begun = 0.0

    def __call__(self, folder: Path) -> Product:
        self.begun = self.begun or time.perf_counter()
        wanted = self.wanted
        # Compilers and generators are imported where something is built, and nowhere else.
        from ..host import process
        from .build import make

        # tvm-ffi's own imports take as long as all else in the first build of a process.
        loader = _import_loader if wanted.is_loaded else None
        with process.shown(wanted.request.verbose), process.meanwhile(loader):
            product = make(wanted.request, wanted.archs, wanted.tools, self.cache, folder)
        return product._replace(history=(wanted.request.name, self.built))


def _import_loader() -> None:
    # What fails here fails when the module is loaded, and is said then.
    with contextlib.suppress(Exception):
        importlib.import_module("tvmffi_cubin.module")
