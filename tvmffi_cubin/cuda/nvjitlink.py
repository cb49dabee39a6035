"""Device code that was compiled separately to one image, through nvJitLink."""

from __future__ import annotations

import ctypes
import dataclasses
import logging
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import CompileError, ToolchainError
from ..kernels import fatbin, nv_info, ptx
from ..kernels.cubin import Cubin
from ..kernels.demangle import demangle
from ..kernels.elf import RELOCATABLE
from ..kernels.image import ARCHIVE, ELF, EM_CUDA, FATBIN, LTOIR, describe, looks_like_ptx
from ..kernels.nv_info import DeviceSymbol
from . import program
from .arch import check_arch, is_ptx, number_of, resolve_arch
from .given import GivenImage, read_given
from .libraries import Library, find_cuda, library
from .log import LAUNCHES_ON_DEVICE
from .options import check_options

__all__ = ["link", "version"]

Linkable = Cubin | bytes | bytearray | memoryview | str | os.PathLike[str]
"""What can be linked: an image, its bytes, or the path of its file."""

# nvJitLinkInputType, by our name of the kind.
_TYPES = {"relocatable": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
# What the driver defines.
_SYSTEM = {"vprintf", "malloc", "free", "__assertfail"}


def link(
    inputs: Iterable[Linkable],
    *,
    arch: str | None = None,
    lto: bool = False,
    options: Sequence[str] = (),
) -> Cubin:
    """Link device code that was compiled separately to an image that can be launched.

    Parameters
    ----------
    inputs : iterable of Cubin, bytes or path
        Relocatable cubins and LTO-IR (``nvrtc.compile(..., target_type="relocatable")`` or
        ``"ltoir"``, nvcc's ``-rdc=true``), PTX, fatbins, static libraries and host objects with
        device code. What one is, its content tells. nvJitLink trusts it: only link files that you
        would load.
    arch : str, optional
        What the image is for, such as ``"sm_90a"``. Default: what the inputs were compiled for,
        where they agree; else the current device's. ``"compute_90"`` and the like give PTX, of
        LTO-IR alone.
    lto : bool
        Optimise across units. LTO-IR among the inputs turns it on; it must be said where that is
        inside fatbins or libraries.
    options : sequence of str
        Further options for nvJitLink, such as ``"-lineinfo"``.

    Returns
    -------
    Cubin
        The image; its ``log`` holds the warnings, its ``lowered_names`` are those of the inputs.

    Raises
    ------
    CompileError
        They do not fit together: a symbol is defined nowhere, or twice.
    ToolchainError
        nvJitLink is missing, or older than NVRTC.
    TypeError, ValueError, OSError
        Something is nothing to link, or for another architecture; an option is unknown.
    """
    single = isinstance(inputs, str | bytes | bytearray | memoryview | os.PathLike | Cubin)
    if single or not isinstance(inputs, Iterable):
        raise TypeError(f"inputs is a sequence of what to link, got one {type(inputs).__name__}")
    options = check_options(options)
    for option in options:
        # nvJitLink refuses an input beside a second architecture, and then blocks the next link.
        if re.match(r"--?(arch|gpu-architecture|gencode|generate-code|lto|dlto|ptx)\b", option):
            raise ValueError(f"the option {option!r} is said by an argument: arch or lto")
    given = [read_given(f"inputs[{index}]", value) for index, value in enumerate(inputs)]
    read = [*map(as_input, given)]
    if not read:
        raise ValueError("inputs is empty: there is nothing to link")
    known = {item.arch for item in read if item.arch is not None and item.kind != "ptx"}
    common = known.pop() if len(known) == 1 else None
    target = check_arch(arch) if arch is not None else resolve_arch(common)
    try:
        linked = link_inputs(read, arch=target, lto=lto, options=options)
    except LinkFailure as failure:
        raise failure.error(f"the inputs do not link for {target}") from None
    names = {name: symbol for x in given for name, symbol in x.lowered_names.items()}
    return dataclasses.replace(linked, lowered_names=names)


def version() -> tuple[int, int]:
    """Return the version of the nvJitLink in use, such as ``(12, 9)``; loads it.

    Raises
    ------
    ToolchainError
        It is missing.
    """
    return _library().version()


def _library() -> Library:
    return library("nvJitLink", find_cuda().require("nvjitlink"))


# What is linked


class LinkInput(NamedTuple):
    """One thing to link.

    `kind` is ``"relocatable"``, ``"ltoir"``, ``"ptx"``, ``"fatbin"``, ``"object"`` (a host object
    with device code in it) or ``"library"`` (an archive of such). `arch` is None where it may hold
    several, or does not say.
    """

    name: str
    kind: str
    data: bytes
    arch: str | None = None

    def symbols(self, target: str = "") -> tuple[DeviceSymbol, ...]:
        """Return what relocatable code or PTX defines and uses; of a fatbin what `target` gets.

        Of other kinds nothing is known.
        """
        if self.kind == "ptx":
            return ptx.ptx_symbols(self.data)
        image = self.data if self.kind == "relocatable" else b""
        if self.kind == "fatbin":
            for member in fatbin.readable(self.data)[0]:
                if member.kind == "relocatable" and _fits(member.arch, target, is_code=True):
                    image = member.image
        return nv_info.device_symbols(image) if image else ()

    def check_arch(self, target: str) -> None:
        """Raise ValueError where it cannot be linked into an image for an architecture."""
        if self.arch is None or _fits(self.arch, target, is_code=self.kind == "relocatable"):
            return
        raise ValueError(
            f"{self.name} is for {self.arch} and cannot be linked into an image for {target}: "
            f'compile it for {target}, or the rest for it (arch="{self.arch}")'
        )


def _fits(arch: str, target: str, *, is_code: bool) -> bool:
    number, wanted = number_of(arch), number_of(target)
    same_family = number // 10 == wanted // 10
    if number > wanted:
        return False
    # Code with an architecture's own features must not end up in an image that claims less.
    if arch.endswith("a"):
        return arch == target
    if arch.endswith("f"):
        return same_family and target[-1] in "af"
    return same_family or not is_code


def as_input(given: GivenImage) -> LinkInput:
    """Return what a caller gave as something to link; a ValueError says what else it looks like.

    nvJitLink takes what is linked already, and shared objects, and links nothing of them.
    """
    data, name, what = given.data, given.name, ""
    kind, arch = "", given.arch or None
    try:
        if data.startswith(FATBIN):
            members, unreadable = fatbin.readable(data)
            if members and not unreadable and all(member.kind == "cubin" for member in members):
                what = "its cubins are linked already"
            kind, arch = "fatbin", None
        elif data.startswith(LTOIR):
            kind = "ltoir"
        elif data.startswith(ARCHIVE):
            kind = "library"
        elif data.startswith(ELF) and data[18:20] == EM_CUDA.to_bytes(2, "little"):
            image = nv_info.parse(data)
            kind, arch = "relocatable", image.arch
            what = "" if image.relocatable else "it is a cubin that is linked already"
        elif data.startswith(ELF) and len(data) >= 20:
            kind = "object"
            is_object = data[16:18] == RELOCATABLE.to_bytes(2, "little")
            what = "" if is_object else "it is a shared object or a program of the host"
        elif looks_like_ptx(data):
            kind, arch = "ptx", ptx.parse(data).target
        else:
            what = describe(data)
    except ValueError as error:
        what = str(error)
    if what.endswith("linked already"):
        what += ', of which nothing can be used elsewhere; compile with target_type="relocatable"'
    if what:
        raise ValueError(
            f"{name} cannot be linked: {what}; wanted is a relocatable cubin, LTO-IR, PTX, a "
            "fatbin, or a static library or object with device code"
        )
    return LinkInput(name, kind, data, arch)


# What keeps it from being linked


class LinkFault(NamedTuple):
    """A symbol that is ``"undefined"``, a ``"duplicate"`` or a ``"mismatch"``, and what is said."""

    kind: str
    symbol: str
    text: str

    def __str__(self) -> str:
        return f"{demangle(self.symbol)} is {self.text}"


def _undefined(symbol: str, units: Sequence[str]) -> LinkFault:
    used = f" in {', '.join(units)}" if units else ""
    return LinkFault("undefined", symbol, f"used{used} and defined nowhere")


def _duplicate(symbol: str, units: Sequence[str]) -> LinkFault:
    remedy = "rename one, make it static or inline, or keep one"
    where = f", in {', '.join(units)}" if units else ""
    return LinkFault("duplicate", symbol, f"defined more than once{where}: {remedy}")


class LinkFailure(Exception):
    """The inputs do not fit together: `faults`, where they are known, and nvJitLink's `log`."""

    def __init__(self, faults: Sequence[LinkFault], log: str, options: tuple[str, ...]) -> None:
        super().__init__(log)
        self.faults = faults
        self.log = log
        self.options = options

    def error(self, title: str, hints: Sequence[str] = ()) -> CompileError:
        """Return it as what callers get."""
        lines = [f"{title}:", *(map(str, self.faults) if self.faults else (self.log,))]
        # What the compiler makes of <<<...>>> in device code.
        if any(fault.symbol.startswith("__cudaCDP2") for fault in self.faults):
            hints = (LAUNCHES_ON_DEVICE, *hints)
        if "NVVM_ERROR_NO_MODULE_IN_PROGRAM" in self.log:
            hint = 'no input has LTO-IR: compile them with target_type="ltoir", or leave out lto'
            hints = (*hints, hint)
        lines += [f"Hint: {hint}" for hint in hints]
        return CompileError("\n".join(lines), log=self.log, options=self.options)


def _find_faults(inputs: Sequence[LinkInput], target: str) -> list[LinkFault]:
    """Return what is defined twice or is not the same everywhere, by the symbol tables.

    nvJitLink tells of it on the error stream of the process only, and links nevertheless.
    """
    symbols = [(item.name, symbol) for item in inputs for symbol in item.symbols(target)]
    homes: dict[str, list[tuple[str, DeviceSymbol]]] = {}
    for unit, symbol in symbols:
        if symbol.defined and symbol.linkage == "shared":
            homes.setdefault(symbol.name, []).append((unit, symbol))
    faults = [_duplicate(x, [unit for unit, _ in y]) for x, y in homes.items() if len(y) > 1]
    for unit, symbol in symbols:
        if not symbol.defined and symbol.name in homes:
            home, definition = homes[symbol.name][0]
            one, other = _described(definition), _described(symbol)
            if one == other and "variable" in one and definition.size and symbol.size:
                one, other = f"{definition.size} bytes", f"{symbol.size} bytes"
            if one != other:
                text = f"not the same everywhere: {one} in {home} and {other} in {unit}"
                faults.append(LinkFault("mismatch", symbol.name, text))
    return faults


def _described(symbol: DeviceSymbol) -> str:
    is_code = symbol.what in ("kernel", "function")
    return "a function" if is_code else f"a {symbol.what} variable"


def _find_undefined(inputs: Sequence[LinkInput], target: str) -> list[LinkFault]:
    """Return what inputs refer to and none of them defines; nvJitLink 12.6 does not tell.

    Only where a link has failed: libraries may define it.
    """
    symbols = [(item.name, symbol) for item in inputs for symbol in item.symbols(target)]
    known = {symbol.name for _, symbol in symbols if symbol.defined} | _SYSTEM
    users: dict[str, list[str]] = {}
    for unit, symbol in symbols:
        is_open = symbol.linkage == "shared" and symbol.what != "__shared__"
        if is_open and symbol.name not in known:
            users.setdefault(symbol.name, []).append(unit)
    return [_undefined(symbol, units) for symbol, units in users.items()]


def _read_faults(log: str) -> list[LinkFault]:
    """Return what nvJitLink's log says, whatever the result.

    A variable that is defined nowhere, or something that is defined twice, is no error to it where
    LTO-IR is linked: the image would have a variable of its own. Of what is undefined there it
    knows no unit, since it is found once all units are one.
    """
    users: dict[str, list[str]] = {}
    homes: dict[str, list[str]] = {}
    for line in log.split("\n"):
        if match := re.search(r"Undefined reference to '([^']+)' in '([^']+)'", line):
            users.setdefault(match[1], []).append(match[2])
        elif match := re.search(r"Unresolved extern \w+ '([^']+)'", line):
            users.setdefault(match[1], [])
        elif match := re.search(r"(\S+): link error: .* named '([^']+)'.*multiply defined", line):
            homes.setdefault(match[2], []).append(match[1])
        elif match := re.search(r"Multiple definition of '([^']+)' in '([^']+)'.*'([^']*)'", line):
            homes.setdefault(match[1], []).extend((match[3], match[2]))
    # What it calls the unit that it makes of all LTO-IR tells nothing.
    units = {x: [*dict.fromkeys(y for y in found if y != "ltoPtx")] for x, found in homes.items()}
    faults = [_undefined(x, [*dict.fromkeys(found)]) for x, found in users.items()]
    return faults + [_duplicate(x, found) for x, found in units.items()]


# The link itself


def link_inputs(
    inputs: Sequence[LinkInput], *, arch: str, lto: bool = False, options: Sequence[str] = ()
) -> Cubin:
    """Link inputs to an image; raises `LinkFailure`, and what `link` does."""
    as_ptx = is_ptx(arch)
    nvjitlink = _checked_library(arch)
    for item in inputs:
        item.check_arch(arch)
    lto = lto or as_ptx or any(item.kind == "ltoir" for item in inputs)
    command = (f"-arch={arch}", *(["-lto"] * lto), *(["-ptx"] * as_ptx), *options)
    if faults := _find_faults(inputs, arch):
        raise LinkFailure(faults, "", command)
    failed, image, log = program.Call(lambda _: _linked(nvjitlink, command, inputs)).result()
    # Not the names themselves were given: they may hold anything, and the log is to be read.
    log = re.sub(r"\binput(\d+)\b", lambda match: inputs[int(match[1])].name, log)
    if isinstance(failed, LinkInput):
        raise _refusal(failed, arch, log)
    faults = _read_faults(log)
    if as_ptx and image:
        faults += _find_undefined([LinkInput("the linked image", "ptx", image)], arch)
    if failed or faults:
        raise LinkFailure(faults or _find_undefined(inputs, arch), log or "it failed", command)
    if log:
        level = logging.WARNING if "warning" in log.lower() else logging.INFO
        logging.getLogger("tvmffi_cubin").log(level, "nvJitLink for %s:\n%s", arch, log)
    release = ".".join(map(str, nvjitlink.version()))
    kind = "ptx" if as_ptx else "cubin"
    return Cubin(image, arch, log=log, kind=kind, cuda_version=release)


def _checked_library(arch: str) -> Library:
    """Return nvJitLink, if it links what NVRTC compiles, for an architecture."""
    nvjitlink, cuda = _library(), find_cuda()
    nvrtc = program.load(cuda.nvrtc)
    release, needed = (".".join(map(str, x.version())) for x in (nvjitlink, nvrtc))
    if nvjitlink.version() < nvrtc.version():
        raise ToolchainError(
            f"nvJitLink {release} is older than NVRTC {needed} and cannot link what that "
            f"compiles; run: pip install --upgrade '{cuda.wheels['nvjitlink']}>={needed}'"
        )
    # Newer releases end the process where they do not know the architecture.
    supported = nvrtc.supported_archs()
    if number_of(arch) not in supported:
        known = ", ".join(f"sm_{number}" for number in supported)
        raise ValueError(f"arch={arch!r}: CUDA {release} links for {known}")
    return nvjitlink


def _linked(
    nvjitlink: Library, command: tuple[str, ...], inputs: Sequence[LinkInput]
) -> tuple[LinkInput | bool, bytes, str]:
    """Return which input is refused, or whether the link failed; the image; and the log."""
    words = [option.encode() for option in command]
    handle = ctypes.c_void_p()
    array = (ctypes.c_char_p * len(words))(*words)
    result = nvjitlink.result("Create", ctypes.byref(handle), len(words), array)
    try:
        if result != 0:
            log = nvjitlink.text("GetErrorLog", handle) if handle.value else f"error {result}"
            raise ValueError(
                f"nvJitLink {'.'.join(map(str, nvjitlink.version()))} refuses an option: {log}; "
                f"the options were: {' '.join(command)}"
            )
        # Its messages read the names where they lie: it takes no copies.
        names = [b"input%d" % index for index in range(len(inputs))]
        for item, name in zip(inputs, names, strict=True):
            size = ctypes.c_size_t(len(item.data))
            if nvjitlink.result("AddData", handle, _TYPES[item.kind], item.data, size, name) != 0:
                return item, b"", nvjitlink.text("GetErrorLog", handle)
        failed = nvjitlink.result("Complete", handle) != 0
        logs = (nvjitlink.text(what, handle) for what in ("GetErrorLog", "GetInfoLog"))
        log = "\n".join(filter(None, logs))
        if failed:
            return True, b"", log
        if b"-ptx" in words:
            return False, nvjitlink.read("GetLinkedPtx", handle).rstrip(b"\0"), log
        return False, nvjitlink.read("GetLinkedCubin", handle), log
    finally:
        # A link that could not begin has a handle too: it holds the log.
        if handle.value:
            nvjitlink.result("Destroy", ctypes.byref(handle))


def _refusal(item: LinkInput, arch: str, log: str) -> CompileError | ValueError:
    if newer := re.search(r"ERROR (\d+) in LTOIR arch newer than target arch", log):
        return ValueError(
            f"{item.name} is for sm_{newer[1]} and cannot be linked into an image for {arch}: "
            f"compile it for {arch} or an older architecture"
        )
    text = f"{item.name} cannot be linked for {arch}: nvJitLink says: {log}"
    if item.kind == "relocatable" or "Unsupported .version" in log:
        text += (
            "\nHint: a newer compiler may have made it; run: pip install --upgrade "
            f"{find_cuda().wheels['nvjitlink']}, or the extra cu13 in place of cu12; of an image "
            'that is embedded, ptx="keep" leaves PTX to the driver'
        )
    return CompileError(text, log=log)


# PTX


def assembled(given: GivenImage, archs: tuple[str, ...]) -> GivenImage:
    """Return PTX as a cubin, or as a fatbin where there are several architectures.

    For ``"compute_90"`` and the like the text is kept. `archs` is empty where none is named and
    there is no device: then it is the PTX's own, with the text for newer ones, if it is not for
    that one alone.
    """
    item = as_input(given)
    target = item.arch or ""
    is_base = target[-1].isdigit()
    archs = archs or (target, *([f"compute_{number_of(target)}"] * is_base))
    cubins = [_assembled(item, arch) for arch in archs if not is_ptx(arch)]
    if len(cubins) < len(archs):
        if not is_base:
            raise ValueError(
                f"{given.name} is for {target} alone, and PTX is wanted that newer devices take: "
                'leave "compute_..." out of arch'
            )
        if not cubins:  # only to see whether it can be
            _assembled(item, f"sm_{number_of(archs[0])}")
        cubins.append(Cubin(given.data, f"compute_{number_of(target)}", kind="ptx"))
    if len(cubins) == 1:
        return given._replace(data=cubins[0].image)
    from .nvfatbin import join

    return given._replace(data=join(cubins).image)


def _assembled(item: LinkInput, arch: str) -> Cubin:
    try:
        return link_inputs([item], arch=arch)
    except LinkFailure as failure:
        raise failure.error(f"{item.name} cannot be assembled for {arch}") from None
