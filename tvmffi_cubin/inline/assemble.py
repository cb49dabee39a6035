"""`make`: device code compiled, the launcher generated, all of it linked, in an empty folder."""

from __future__ import annotations

import contextlib
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .. import importing
from ..cuda.program import Call
from ..device.compile import compile_device
from ..host import launcher
from ..host.inputs import Inputs, joined
from ..host.process import Later
from ..sources import DEVICE_IMAGE
from ..sources.sort import sort_sources
from .request import Request
from .tools import Build

if TYPE_CHECKING:
    from ..cache.entry import Product
    from ..cache.publish import Built
    from ..host.build import Assembling
    from .job import Job

# What host code does instead of exporting: it registers functions and classes as it is loaded.
_REGISTERS = ("TVM_FFI_STATIC_INIT", "GlobalDef", "ObjectDef", "__attribute__((constructor))")
# The symbols of functions, but for those that every module has.
_EXPORTED = rb"\0__tvm_ffi_(?!_tvmffi_cubin_|_cubin_|_doc_|_library_|_metadata_)"


def make(wanted: Build, folder: Path, built: Built) -> Product:
    """Build in an empty folder, and note it."""
    request, archs, tools, cache = wanted.request, wanted.archs, wanted.tools, wanted.cache
    sources = sort_sources(request)
    if sources.has_host:
        tools.compiler.require()
    device = None
    if sources.device and not sources.mixed:
        device = Call(lambda: compile_device(request, sources.device, archs))
    # While NVRTC works, which needs no Python, the launcher's own object, which does not depend on
    # the kernels, is compiled where that was never done, and the stages after it are imported.
    generates = not sources.has_host or any(export.launches for export in request.functions or ())
    generates = generates or bool(request.bound_params)
    body = Later(partial(launcher.obtain, cache, tools)) if generates else None
    with importing:
        from ..device.image import given_images
        from ..functions import exports
        from ..host.build import Assembling
        from ..kernels import nv_info  # noqa: F401  which reads the image in another thread
        from .job import Job, assembled

        if sources.mixed:
            from .mixed import compile_mixed
    begun: contextlib.AbstractContextManager[Assembling | None] = contextlib.nullcontext()
    if body and not (sources.has_host or request.host_flags):
        begun = Assembling(assembled(request, tools, body.result()), folder)
    with begun as assembling:
        given = given_images(request, archs)
        inputs = [Inputs(tuple(binary.path for binary in request.files.binaries))]
        # The scan is not even imported where nothing is included.
        if request.may_read_files:
            with importing:
                from .headers import HeaderSearch
            inputs.append(HeaderSearch(request, tools).device(sources.device))
        mixed = None
        if sources.mixed:
            mixed = compile_mixed(wanted, sources, given)
        own = mixed.images if mixed else {DEVICE_IMAGE: device.result()} if device else {}
        images = (*(image._replace(name=name) for name, image in own.items()), *given)
        host_functions, plan = exports.resolve(request, sources, images)
        if plan.bound(None):
            _refuse_compiled(request)
        objects = []
        if not plan.is_empty:
            objects.append(body.result() if body else launcher.obtain(cache, tools))
        objects += mixed.objects if mixed else ()
        job = Job(request, tools, sources, images, host_functions, plan, archs, mixed)
        inputs += mixed.inputs if mixed else ()
        if assembling is None:
            files, others = _run(job, objects, wanted, folder)
            inputs.append(others)
            if request.functions is None and sources.has_host and not request.is_object:
                _check_exports(request, folder / request.output)
        else:
            files, _ = job.files_and_units()
            assembling.assemble(files)
        # While the linker works, too.
        archs_of_images = {arch for image in images for arch in image.cubin.archs}
        if request.is_by_nvcc:  # nvcc's images are not the module's
            archs_of_images.update(archs)
        facts = {"name": request.name, "archs": sorted(archs_of_images)}
        history = request.name, built
        product = tools.product(
            request.output, joined(inputs), keep=tuple(files), facts=facts, history=history
        )
        if assembling is not None:
            assembling.finish()
    return product


def _run(
    job: Job, objects: list[str], wanted: Build, folder: Path
) -> tuple[dict[str, bytes | str], Inputs]:
    """Build by ninja; return the files that were generated, and those that were read."""
    with importing:
        from ..host import precompiled
        from .headers import HeaderSearch
    request, tools = job.request, job.tools
    files, units = job.files_and_units()
    listed = precompiled.run(
        job.steps(units, objects),
        folder,
        files,
        cache=wanted.cache,
        tools=tools,
        folders=request.include_paths,
        use_pch=request.use_pch,
    )
    search = HeaderSearch(request, tools)
    return files, search.host(folder, listed, request.host_sources, request.host_flags)


def _check_exports(request: Request, built: Path) -> None:
    """Refuse texts of which nothing would be exported, which a slip makes them."""
    texts = [source.text for source in request.host_sources]
    if request.files or any(word in text for text in texts for word in _REGISTERS):
        return
    if not re.search(_EXPORTED, built.read_bytes()):
        raise ValueError(
            f"{request.name}: nothing would be exported, which functions=[] allows: mark a kernel "
            "with __global__, or name in functions= the C++ functions that launch the kernels, or "
            "an included file's kernels"
        )
