"""`build`: what happens when a module is not in the cache: said why, built, and counted."""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from .. import importing
from ..cache import publish, store
from ..cache.entry import Entry, Product
from ..cuda import program
from ..errors import BuildError, CompileError, ToolchainError
from .tools import TOOLS, Build

PATIENCE = 1.0
"""How long a build may take, in seconds, before it is said on a terminal that it is going on."""

_logger = logging.getLogger("tvmffi_cubin")


def build(wanted: Build, by_nvcc: Build | None, is_loaded: bool) -> Entry:
    """Return the entry of a module, once it is built, where NVRTC does not build it by nvcc."""
    try:
        return _build(wanted, is_loaded)
    except (BuildError, CompileError, ValueError) as error:
        if by_nvcc is None or not _is_for_nvcc(error, wanted, by_nvcc):
            raise
        lines = str(error).splitlines()
        reason = next((line for line in lines if "error:" in line), lines[0])
        _logger.warning("%s is built by nvcc, because of: %s", wanted.request.name, reason)
        ours = error.with_traceback(None)
    try:
        return _build(by_nvcc, is_loaded)
    except (BuildError, ValueError) as error:
        raise error from ours


def _is_for_nvcc(error: Exception, wanted: Build, by_nvcc: Build) -> bool:
    """Whether nvcc may build what we have failed to; an error says where it is missing."""
    from ..sources.sort import sort_sources

    missing = by_nvcc.tools.missing
    if not sort_sources(wanted.request).are_for_nvcc:
        return False
    if missing:
        error.args = (f"{error}\nHint: nvcc may build it: {missing}",)
    return not missing


def _build(wanted: Build, is_loaded: bool) -> Entry:
    request, tools, cache, reason = wanted.request, wanted.tools, wanted.cache, wanted.reason
    if tools.missing and cache.mode != "require":
        raise ToolchainError(
            f"{tools.missing}. The cache has nothing of the same by other tools: {reason}"
        )
    if tools.cuda is not None and request.is_compiled:
        # It takes as long as the imports of a build; who needs it waits, and says what fails.
        program.prepare()
    built_now = publish.Built.of(wanted.key, TOOLS)
    if reason == store.NOTHING and cache.mode == "off":
        reason = "TVMFFI_CUBIN_CACHE=off: nothing is looked up"
    elif reason == store.NOTHING:
        others = publish.known(cache.folders, request.name)
        reason = f"{store.NOTHING}: {built_now.explain(others)}"
    _logger.info("%s is not in the cache: %s", request.name, reason)
    is_begun = False

    def make_product(folder: Path) -> Product:
        nonlocal is_begun
        is_begun = True
        with importing:
            from ..host import process
            from .assemble import make

        # tvm-ffi's own imports take as long as all else in the first build of a process.
        loader = _import_loader if is_loaded else None
        with process.shown(request.verbose), process.meanwhile(loader):
            return make(wanted, folder, built_now)

    outcome = "failed"
    try:
        with _said(request.name):
            entry = cache.obtain(
                built_now.base_key,
                make_product,
                name=request.name,
                is_shared=True,
                reason=reason,
            )
        outcome = "built" if is_begun else entry.level
    finally:
        store.note(request.name, outcome, time.perf_counter() - wanted.start, reason)
    return entry._replace(level=outcome)


@contextlib.contextmanager
def _said(name: str) -> Iterator[None]:
    """Say to who looks on, at a terminal or in a notebook, that a build takes its time."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield
        return
    said = f"tvmffi_cubin: building {name}"
    timer = threading.Timer(PATIENCE, lambda: print(said, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _import_loader() -> None:
    # What fails here fails when the module is loaded, and is said then.
    with contextlib.suppress(Exception), importing:
        importlib.import_module("tvmffi_cubin.module")
