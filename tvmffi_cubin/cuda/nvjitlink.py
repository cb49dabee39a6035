"""Links separately compiled device code into one image with nvJitLink."""

from __future__ import annotations

import ctypes
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..errors import CompileError, bare
from ..kernels import ptx
from ..kernels.cubin import Cubin, read_image, take_image
from ..kernels.demangle import demangle
from ..kernels.nv_info import SPACE, shared_symbols
from . import program
from .arch import is_ptx, number_of, resolve_arch
from .hints import explained
from .libraries import Library, find_cuda, library
from .nvrtc import join
from .options import items

__all__ = ["link", "version"]

# nvJitLinkInputType by `Cubin.kind`.
_TYPES = {"relocatable": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}


@bare
def link(
    inputs: Iterable[Cubin | bytes | bytearray | memoryview | str | os.PathLike[str]],
    *,
    arch: str | None = None,
    lto: bool = False,
    options: Sequence[str] = (),
) -> Cubin:
    """Link separately compiled device code to an image that can be launched.

    Parameters
    ----------
    inputs : iterable of Cubin, bytes or path
        Relocatable cubins and LTO-IR (``nvrtc.compile(..., target_type="relocatable")`` or
        ``"ltoir"``, nvcc's ``-rdc=true``), PTX, fatbins, static libraries and host objects with
        device code, recognized by content. nvJitLink trusts its inputs: link only files that you
        would load.
    arch : str, optional
        The image's architecture, such as ``"sm_90a"``. Default: the inputs' architecture, if they
        agree, else as for `resolve_archs`. ``"compute_90"`` and the like make PTX from LTO-IR.
    lto : bool
        Optimize across translation units. LTO-IR inputs turn it on; LTO-IR inside fatbins or
        libraries does not.
    options : sequence of str
        Additional options for nvJitLink, such as ``"-lineinfo"``.

    Returns
    -------
    Cubin
        The image, with warnings in its ``log`` and the inputs' ``lowered_names``.

    Raises
    ------
    CompileError
        The inputs do not link: a symbol is undefined or multiply defined; or an option is unknown.
    ToolchainError
        nvJitLink is missing or does not know the architecture.
    TypeError, ValueError, OSError
        An input cannot be linked or is for another architecture.
    """
    given, options = items("inputs", inputs), items("options", options)
    for option in options:
        # With a second architecture, nvJitLink rejects an input and then blocks the next link.
        if re.match(r"--?(arch|gpu-architecture|gencode|generate-code|lto|dlto|ptx)\b", option):
            raise ValueError(f"cannot pass the option {option!r}: use the argument arch or lto")
    read = [linkable(take_image(f"inputs[{i}]", value)) for i, value in enumerate(given)]
    if not read:
        raise ValueError("inputs is empty: nothing to link")
    known = {x.arch for x in read if x.kind in ("relocatable", "ltoir") and x.arch}
    common = known.pop() if len(known) == 1 else None
    return link_inputs(read, arch=resolve_arch(arch or common), lto=lto, options=options)


def version() -> tuple[int, int]:
    """Return the version of the nvJitLink in use, such as ``(12, 9)``; loads it."""
    return library("nvJitLink", find_cuda().require("nvjitlink")).version()


def linkable(given: Cubin) -> Cubin:
    """Return the caller's image as a link input; raise an ImageError if it cannot be one."""
    # nvJitLink accepts linked images and shared objects, but links nothing from them.
    wanted = 'expected code to link: compile with target_type="relocatable", or nvcc -rdc=true'
    return read_image(given, wanted=_TYPES, or_else=wanted)


def _fits(item: Cubin, target: str) -> bool:
    number, wanted = number_of(item.arch), number_of(target)
    same_family = number // 10 == wanted // 10
    # nvJitLink itself links architecture-specific code into images marked as less specific.
    if item.arch.endswith("a"):
        return number == wanted and target.endswith("a")
    if item.arch.endswith("f"):
        return number <= wanted and same_family and target[-1] in "af"
    return number <= wanted and (same_family or item.kind != "relocatable")


def _clashes(inputs: Sequence[Cubin]) -> Iterator[str]:
    """Yield what relocatable cubins and PTX define twice, or cubins declare inconsistently."""
    # nvJitLink reports these only on stderr, and links anyway or crashes.
    cubins = [x for x in inputs if x.kind == "relocatable"]
    symbols = [(x.name, symbol) for x in cubins for symbol in shared_symbols(x.image)]
    known = {x.name: x for _, x in symbols if not x.is_undefined}
    defined = [(unit, x.name) for unit, x in symbols if not x.is_undefined]
    defined += [(x.name, y) for x in inputs if x.kind == "ptx" for y in ptx.defined(x.image)]
    homes: dict[str, str] = {}
    for unit, name in defined:
        if name in homes:
            yield f"Multiple definition of '{name}' in '{unit}', first in '{homes[name]}'"
        homes.setdefault(name, unit)
    for unit, symbol in symbols:
        first = known.get(symbol.name, symbol)
        is_same = (symbol.type, symbol.other & SPACE) == (first.type, first.other & SPACE)
        if symbol.is_undefined and not (is_same and symbol.size in (0, first.size)):
            home = homes[symbol.name]
            yield f"'{symbol.name}' differs in size or kind between '{unit}' and '{home}'"


def link_inputs(
    inputs: Sequence[Cubin], *, arch: str, lto: bool = False, options: Sequence[str] = ()
) -> Cubin:
    """Link inputs into an image; raise as `link` does."""
    nvjitlink = library("nvJitLink", find_cuda().require("nvjitlink"))
    # Newer releases terminate the process if they do not know the architecture.
    program.prepare().result().check_known(arch)
    for item in inputs:
        if item.kind in ("relocatable", "ltoir", "ptx") and item.arch and not _fits(item, arch):
            raise ValueError(
                f"{item.name} is for {item.arch} and cannot be linked into an image for {arch}: "
                f'compile it for {arch}, or everything else with arch="{item.arch}"'
            )
    as_ptx = is_ptx(arch)
    lto = lto or as_ptx or any(item.kind == "ltoir" for item in inputs)
    command = (f"-arch={arch}", *(["-lto"] * lto), *(["-ptx"] * as_ptx), *options)
    image, log = b"", "\n".join(_clashes(inputs))
    if not log:
        image, log = program.called(lambda: _linked(nvjitlink, command, inputs))
        # nvJitLink got placeholders, since names may contain anything; put the names into the log.
        log = re.sub(r"tvmffi_cubin_(\d+)\b", lambda match: inputs[int(match[1])].name, log)
    # With LTO-IR, nvJitLink does not treat these as errors: the image gets a variable of its own.
    if not image or re.search("Unresolved extern|Multiple definition of", log):
        shown = re.sub(r"'(_Z\w+)'", lambda match: f"'{demangle(match[1])}'", log)
        message = f"device code does not link for {arch}:\n{explained(shown)}"
        raise CompileError(message, log=log, options=command)
    if log:
        level = logging.WARNING if "warning" in log.lower() else logging.INFO
        logging.getLogger("tvmffi_cubin").log(level, "nvJitLink for %s:\n%s", arch, log)
    kind = "ptx" if as_ptx else "cubin"
    image = image.rstrip(b"\0") if as_ptx else image
    names = {name: symbol for x in inputs for name, symbol in x.lowered_names.items()}
    return Cubin(image, arch, names, log, kind, nvjitlink.release)


def _linked(
    nvjitlink: Library, command: tuple[str, ...], inputs: Sequence[Cubin]
) -> tuple[bytes, str]:
    """Return the image, empty if the link fails, and the log."""
    handle = ctypes.c_void_p()
    words = (ctypes.c_char_p * len(command))(*map(str.encode, command))
    # Keep the names alive: nvJitLink's messages read them without a copy.
    names = [b"tvmffi_cubin_%d" % index for index in range(len(inputs))]
    failed = nvjitlink.result("Create", ctypes.byref(handle), len(words), words)
    for item, name in zip(inputs, names, strict=True):
        given = (_TYPES[item.kind], item.image, ctypes.c_size_t(len(item.image)), name)
        failed = failed or nvjitlink.result("AddData", handle, *given)
    failed = failed or nvjitlink.result("Complete", handle)
    # A link that failed to start also has a handle, which holds the log.
    logs = (nvjitlink.text(what, handle) for what in ("GetErrorLog", "GetInfoLog"))
    log = "\n".join(filter(None, logs))
    getter = "GetLinkedPtx" if "-ptx" in command else "GetLinkedCubin"
    image = b"" if failed else nvjitlink.read(getter, handle)
    nvjitlink.call("Destroy", ctypes.byref(handle))
    return image, log


def assembled(given: Cubin, archs: tuple[str, ...]) -> Cubin:
    """Assemble PTX to a cubin or, for several architectures (default: its own), to a fatbin."""
    text = linkable(given)
    own = f"sm_{text.arch.removeprefix('compute_')}"
    archs = archs or (own, *([text.arch] if own[-1].isdigit() else ()))
    images = [link_inputs([text], arch=arch) for arch in archs if not is_ptx(arch)]
    if not images:  # to check that it assembles
        link_inputs([text], arch=f"sm_{number_of(archs[0])}")
    if any(map(is_ptx, archs)):
        images.append(text)
    image = images[0] if len(images) == 1 else join(images)
    return replace(given, image=image.image)
