"""`build`: compiles and links a module that is not in the cache; logs why, and counts it."""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .. import importing
from ..cache import publish, store
from ..cache.entry import Entry, Product
from ..cuda import program
from ..errors import BuildError, CompileError, ToolchainError
from .request import DEVICE_IMAGE, Request
from .tools import TOOLS, Build

PATIENCE = 1.0
"""How long a build may take, in seconds, before a terminal shows that it is running."""

# Signs of host code that registers functions and classes on load instead of exporting them.
_REGISTERS = ("TVM_FFI_STATIC_INIT", "GlobalDef", "ObjectDef", "__attribute__((constructor))")
# The symbols of exported functions, except for those that every module has.
_EXPORTED = rb"\0__tvm_ffi_(?!_tvmffi_cubin_|_cubin_|_doc_|_library_|_metadata_)"

_logger = logging.getLogger("tvmffi_cubin")


def build(wanted: Build, by_nvcc: Build | None, is_loaded: bool) -> Entry:
    """Build a module and return its entry; fall back to `by_nvcc` if NVRTC cannot build it."""
    try:
        return _build(wanted, is_loaded)
    except (BuildError, CompileError, ValueError) as error:
        from ..sources.sort import sort_sources

        if by_nvcc is None or not sort_sources(wanted.request).are_for_nvcc:
            raise
        if by_nvcc.tools.missing:
            error.args = (f"{error}\nHint: nvcc may build it: {by_nvcc.tools.missing}",)
            raise
        lines = str(error).splitlines()
        reason = next((line for line in lines if "error:" in line), lines[0])
        _logger.warning("%s is built by nvcc, because of: %s", wanted.request.name, reason)
        ours = error.with_traceback(None)
    try:
        return _build(by_nvcc, is_loaded)
    except (BuildError, ValueError) as error:
        raise error from ours


def _build(wanted: Build, is_loaded: bool) -> Entry:
    request, tools, cache, reason = wanted.request, wanted.tools, wanted.cache, wanted.reason
    if tools.missing and cache.mode != "require":
        raise ToolchainError(
            f"{tools.missing}. The cache has no matching entry from other tools: {reason}"
        )
    if tools.cuda is not None and request.is_compiled:
        # Loads NVRTC alongside a build's imports, which take as long; users wait and report errors.
        program.prepare()
    built_now = publish.Built.of(wanted.key, TOOLS)
    if reason == store.NOTHING:
        others = publish.known(cache.folders, request.name)
        reason = f"{store.NOTHING}: {built_now.explain(others)}"
    _logger.info("%s is not in the cache: %s", request.name, reason)
    is_begun = False

    def make_product(folder: Path) -> Product:
        nonlocal is_begun
        is_begun = True
        with importing:
            from ..host import process

        # In a process's first build, tvm-ffi's own imports take as long as everything else.
        loader = _import_loader if is_loaded else None
        with process.building(is_shown=request.verbose, meanwhile=loader):
            return make(wanted, folder, built_now)

    outcome = "failed"
    try:
        with _said(request.name):
            entry = cache.obtain(
                built_now.base_key, make_product, name=request.name, is_shared=True, reason=reason
            )
        outcome = "built" if is_begun else entry.level
    finally:
        store.note(request.name, outcome, time.perf_counter() - wanted.start, reason)
    return entry._replace(level=outcome)


@contextlib.contextmanager
def _said(name: str) -> Iterator[None]:
    """Tell users at a terminal or in a notebook that a slow build is running."""
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
    # What fails here fails again, and is reported, when the module is loaded.
    with contextlib.suppress(Exception), importing:
        importlib.import_module("tvmffi_cubin.module")


def make(wanted: Build, folder: Path, built: publish.Built) -> Product:
    """Build in an empty folder, and return the product."""
    request, archs, tools, cache = wanted.request, wanted.archs, wanted.tools, wanted.cache
    with importing:
        from ..device.compile import compile_device
        from ..host import launcher
        from ..host.inputs import Inputs, joined
        from ..host.process import Later
        from ..sources.sort import sort_sources
    sources = sort_sources(request)
    if sources.has_host:
        tools.compiler.require()
    device = None
    if sources.device and not sources.mixed:
        device = program.Call(lambda: compile_device(request, sources.device, archs))
    # While NVRTC works without the GIL, compile the launcher's own object, which does not depend
    # on the kernels, if the cache does not have it, and import the later stages.
    generates = not sources.has_host or any(export.launches for export in request.functions or ())
    generates = generates or bool(request.bound_params)
    body = Later(partial(launcher.obtain, cache, tools)) if generates else None
    with importing:
        from ..device.image import given_images
        from ..functions import exports
        from ..host.build import Assembling
        from ..kernels import nv_info  # noqa: F401  reads the image in another thread
        from .job import Job, assembled

        if sources.mixed:
            from .mixed import compile_mixed
    assembling: Assembling | None = None
    with contextlib.ExitStack() as stack:
        if body and not (sources.has_host or request.host_flags):
            assembling = Assembling(assembled(request, tools, body.result()), folder)
            stack.enter_context(assembling)
        given = given_images(request, archs)
        inputs = [Inputs(tuple(binary.path for binary in request.files.binaries))]
        # The scan is imported only if something may be included.
        if request.may_read_files:
            with importing:
                from .headers import device_headers
            inputs.append(device_headers(request, tools, sources.device))
        mixed = compile_mixed(wanted, sources, given) if sources.mixed else None
        own = mixed.images if mixed else {DEVICE_IMAGE: device.result()} if device else {}
        images = (*(image._replace(name=name) for name, image in own.items()), *given)
        host_functions, plan = exports.resolve(request, sources, images)
        if plan.bound(None):
            _refuse_compiled(request)
        objects = []
        if not plan.is_empty:
            objects.append(body.result() if body else launcher.obtain(cache, tools))
        objects += mixed.objects if mixed else ()
        job = Job(wanted, sources, images, host_functions, plan, mixed)
        inputs += mixed.inputs if mixed else ()
        files, units = job.files_and_units()
        if assembling is None:
            with importing:
                from .headers import run_host
            steps = job.steps(units, objects)
            flags = request.host_flags
            inputs.append(run_host(wanted, steps, folder, files, request.host_sources, flags))
            if request.functions is None and sources.has_host and not request.is_object:
                _check_exports(request, folder / request.output)
        else:
            assembling.assemble(files)
        # This also runs while the linker works.
        archs_of_images = {arch for image in images for arch in image.cubin.archs}
        if request.is_by_nvcc:  # nvcc's images are not the module's
            archs_of_images.update(archs)
        facts = {"name": request.name, "archs": sorted(archs_of_images)}
        more = {"keep": tuple(files), "facts": facts, "history": (request.name, built)}
        product = tools.product(request.output, joined(inputs), **more)
        if assembling is not None:
            assembling.finish()
    return product


def _refuse_compiled(request: Request) -> None:
    """Reject objects that may launch kernels but were compiled without the bound parameters."""
    for binary in request.files.binaries:
        if not binary.is_shared and b"tvmffi_cubin" in Path(binary.path).read_bytes():
            raise ValueError(
                f"{binary.path} was compiled separately, without bound_params, so its launches "
                "would pass too few parameters: pass its source instead"
            )


def _check_exports(request: Request, built: Path) -> None:
    """Reject texts that would export nothing, and files that are a program."""
    text = "\n".join(source.text for source in request.host_sources)
    is_program = re.search(r"(?m)^int\s+main\s*\(", text)
    if (request.files and not is_program) or any(word in text for word in _REGISTERS):
        return
    if not re.search(_EXPORTED, built.read_bytes()):
        raise ValueError(
            f"{request.name}: nothing to export (functions=[] allows that): mark a kernel with "
            "__global__, or list in functions= the C++ functions that launch the kernels, or an "
            "included file's kernels; to build a program with main(), make an object (.o)"
        )
