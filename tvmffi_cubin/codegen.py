"""Text of a module's translation units: the launcher's tables and the units that embed images."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence

from .bound_text import bound_text, slot_rows
from .c_text import c_string, template
from .dispatch_text import dispatch_text
from .dispatched import Dispatched
from .function import BoundParam, Function, KernelRef
from .function_text import function_text, param_row
from .image_file_text import declared_text, file_export, file_text
from .kernels.cubin import Kernel

__all__ = ["image_unit", "kernel_rows", "launcher_unit", "manifest_unit"]

_SMALL_SMEM = 48 * 1024
_BLOCK_THREADS = 1024
_QUARTER_REGISTERS = 16 * 1024
# Above this, images go where the linker may put them beyond the reach of 32-bit relocations.
_LARGE = 1 << 30
_INCLUDES = {
    "bound": "\n#include <tvmffi_cubin/core/bound.h>",
    "files": "\n#include <tvmffi_cubin/launcher/image_file_plan.h>",
    "maps": "\n#include <tvmffi_cubin/launcher/tensor_map_plan.h>",
    "scratch": "\n#include <tvmffi_cubin/launcher/scratch_plan.h>",
    "target": "\n#include <tvmffi_cubin/launcher/target_plan.h>",
}


def image_unit(
    name: str,
    file: str,
    size: int,
    machine: str,
    *,
    arches: str = "",
    cuda_version: str = "",
    is_shared: bool = True,
) -> str:
    """Return the assembly text that embeds a file as an image.

    Parameters
    ----------
    name : str
        The image's name.
    file : str
        The file.
    size : int
        Its size in bytes.
    machine : str
        The processor that the text is for, as `platform.machine` names it.
    arches, cuda_version : str
        What messages say of the image, see `Cubin`.
    is_shared : bool
        Whether other units know it by its name, so that no other object's may have that.
    """
    large = size > _LARGE and machine == "x86_64"
    return template("image.s.in").substitute(
        name=name,
        file=file,
        section='.lrodata,"al",%progbits' if large else '.rodata,"a",%progbits',
        arches=arches,
        cuda_version=cuda_version,
        binding="globl" if is_shared else "weak",
    )


def manifest_unit(file: str, text: str, *, is_called: bool) -> str:
    """Return the assembly text that embeds a manifest where it can be read without loading.

    Parameters
    ----------
    file : str
        The file that holds it.
    text : str
        Its content.
    is_called : bool
        Whether a launcher returns it; no two of those can be linked to one shared object.
    """
    names = ("__tvmffi_cubin_manifest", "__tvmffi_cubin_manifest_end") if is_called else ()
    visible = "".join(f"    .globl {name}\n    .hidden {name}\n" for name in names)
    return template("manifest.s.in").substitute(
        file=file, checksum=zlib.crc32(text.encode()), visibility=visible
    )


def launcher_unit(
    functions: Sequence[Function | Dispatched],
    images: Sequence[str],
    trailing: Sequence[BoundParam] = (),
    launched: Mapping[str, Sequence[Kernel]] | None = None,
    files: Mapping[str, str] | None = None,
) -> str:
    """Return the C++ text of a launcher.

    Parameters
    ----------
    functions : sequence of Function or Dispatched
        What it exports.
    images : sequence of str
        Names of the embedded images that the functions use.
    trailing : sequence of BoundParam
        What may be bound for the kernels that C++ functions launch.
    launched : mapping of str to sequence of Kernel, optional
        Those kernels, by the name of their image.
    files : mapping of str to str, optional
        Images that lie in files: names and paths.
    """
    files = files or {}
    kernels = kernel_rows(functions)
    rows = {ref.key: number for number, ref in enumerate(kernels)}
    slots = slot_rows(functions)
    bound, bound_exports = bound_text(slots, trailing, launched or {}, param_row)
    return template("launcher.cc.in").substitute(
        more="".join(_more(functions, [*slots, *trailing], files)),
        embeds="\n".join(
            f"EMBED_CUBIN({name});" for name in dict.fromkeys((*images, *(launched or ())))
        ),
        images="\n".join(
            [
                f"EmbeddedImage image_{name} = {{__tvmffi_cubin_image_{name}, {c_string(name)}}};"
                for name in images
            ]
            + file_text(files)
        ),
        image_list=", ".join(f"&image_{name}" for name in (*images, *files)),
        declared=declared_text(kernels),
        kernels="\n".join(_kernel_row(ref, number) for number, ref in enumerate(kernels)),
        functions="\n".join(
            _tables(index, function, rows, slots) for index, function in enumerate(functions)
        ),
        exports="\n".join(
            template("launcher_export.cc.in").substitute(
                name=function.name,
                index=index,
                doc=c_string("\n\n".join(filter(None, [function.signature, function.doc]))),
            )
            for index, function in enumerate(functions)
        ),
        bound=bound,
        bound_exports=bound_exports + (file_export() if files else ""),
    )


def _more(
    functions: Sequence[Function | Dispatched], slots: Sequence[object], files: Mapping[str, str]
) -> Iterator[str]:
    """Yield the includes of what only some launchers have."""
    if files:
        yield _INCLUDES["files"]
    launches = [bound for function in functions for bound in function.launches]
    if slots:
        yield _INCLUDES["bound"]
    for kind in ("maps", "scratch", "target"):
        if any(getattr(bound, kind) for bound in launches):
            yield _INCLUDES[kind]


def kernel_rows(functions: Sequence[Function | Dispatched]) -> tuple[KernelRef, ...]:
    """Return the kernels that functions launch, in the order of the launcher's table."""
    kernels: dict[tuple[str, str, str], KernelRef] = {}
    for function in functions:
        for bound in function.launches:
            kernels.setdefault(bound.kernel.key, bound.kernel)
    return tuple(kernels.values())


def _tables(
    index: int,
    function: Function | Dispatched,
    kernels: Mapping[tuple[str, str, str], int],
    slots: Sequence[tuple[str, BoundParam]],
) -> str:
    own = {param.name: n for n, (name, param) in enumerate(slots) if name == function.name}
    if isinstance(function, Dispatched):
        return dispatch_text(index, function, kernels, own)
    return function_text(index, function, kernels, own)


def _kernel_row(ref: KernelRef, number: int) -> str:
    allowed = max(0, _SMALL_SMEM - ref.kernel.static_smem_bytes)
    arches = c_string(", ".join(ref.archs)) if ref.archs else "nullptr"
    cluster = ", ".join(map(str, ref.kernel.cluster or (0, 0, 0)))
    cells = (
        f"&image_{ref.image}",
        c_string(ref.kernel.name),
        c_string(ref.display),
        arches,
        f"{{{allowed}u}}",
        # Of one in a file it is read when it is loaded, which is before the function launches any.
        f"{_max_threads(ref.kernel) if ref.least_params is None else 0}u",
        f"{{{cluster}}}",
        "true" if ref.kernel.grid_in_clusters else "false",
        *([] if ref.least_params is None else ["{}", "nullptr", f"&declared_{number}"]),
    )
    return f"    {{{', '.join(cells)}}},"


def _max_threads(kernel: Kernel) -> int:
    """Return how many threads of a block no device refuses; a few more may do."""
    most = min(_BLOCK_THREADS, kernel.max_threads or _BLOCK_THREADS)
    if not kernel.registers:
        return most
    # Registers come in units of 8 a thread, a warp at a time, from one quarter of the file.
    warp = 32 * (-(-kernel.registers // 8) * 8)
    return min(most, 4 * (_QUARTER_REGISTERS // warp) * 32)
