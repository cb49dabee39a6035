"""Device code that was compiled separately to one image, through nvJitLink."""

from __future__ import annotations

import ctypes
import logging
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import CompileError, CubinError, ToolchainError
from ..kernels.cubin import Cubin
from . import calls, program
from .arch import check_arch, is_ptx, number_of, resolve_arch
from .libraries import Cuda, find_cuda
from .library import Library
from .link_faults import (
    LinkFault,
    find_faults,
    find_undefined,
    find_undefined_in_ptx,
    hints,
    read_faults,
)
from .link_input import Linkable, LinkInput, read_input
from .options import check_link_options

__all__ = ["link", "version"]

_UNKNOWN_OPTION = 1
# nvJitLinkInputType, by our name of the kind.
_TYPES = {"relocatable": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}

_logger = logging.getLogger("tvmffi_cubin")


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
    if not isinstance(lto, bool):
        raise TypeError(f"lto is True or False, got {lto!r}")
    options = check_link_options(options)
    given = list(inputs)
    read = [read_input(value, f"inputs[{index}]") for index, value in enumerate(given)]
    if not read:
        raise ValueError("inputs is empty: there is nothing to link")
    known = {item.arch for item in read if item.arch is not None and item.kind != "ptx"}
    common = known.pop() if len(known) == 1 else None
    target = check_arch(arch) if arch is not None else resolve_arch(common)
    try:
        linked = link_inputs(read, arch=target, lto=lto, options=options)
    except LinkFailure as failure:
        raise failure.error(
            f"the inputs do not link for {target}", hints(failure.faults, read)
        ) from None
    linked.report(f"for {target}")
    names: dict[str, str] = {}
    for value in given:
        if isinstance(value, Cubin):
            names.update(value.lowered_names)
    return Cubin(
        image=linked.image,
        arch=target,
        lowered_names=names,
        log=linked.log,
        kind="ptx" if is_ptx(target) else "cubin",
        cuda_version=".".join(map(str, version())),
    )


def version() -> tuple[int, int]:
    """Return the version of the nvJitLink in use, such as ``(12, 9)``; loads it.

    Raises
    ------
    ToolchainError
        It is missing.
    """
    return NvJitLink.of(find_cuda().require("nvjitlink")).version()


class Linked(NamedTuple):
    """A linked image, with nvJitLink's warnings and remarks."""

    image: bytes
    log: str

    def report(self, what: str) -> None:
        """Log what nvJitLink said, if anything; as a warning where there is one in it."""
        if self.log:
            level = logging.WARNING if "warning" in self.log.lower() else logging.INFO
            _logger.log(level, "nvJitLink %s:\n%s", what, self.log)


class LinkFailure(Exception):
    """The inputs do not fit together.

    Attributes
    ----------
    faults : tuple of LinkFault
        What is wrong; empty where only the log tells.
    log : str
        nvJitLink's own log.
    options : tuple of str
        The options that it was given.
    """

    def __init__(self, faults: tuple[LinkFault, ...], log: str, options: tuple[str, ...]) -> None:
        super().__init__(log)
        self.faults = faults
        self.log = log
        self.options = options

    def error(self, title: str, hints: Sequence[str] = ()) -> CompileError:
        """Return it as what callers get."""
        lines = [f"{title}:", *(map(str, self.faults) if self.faults else (self.log,))]
        if "NVVM_ERROR_NO_MODULE_IN_PROGRAM" in self.log:
            hint = 'no input has LTO-IR: compile them with target_type="ltoir", or leave out lto'
            hints = (*hints, hint)
        lines += [f"Hint: {hint}" for hint in hints]
        return CompileError("\n".join(lines), log=self.log, options=self.options)


class _Outcome(NamedTuple):
    """What came out of a link: what was refused, if anything, by its place among the inputs."""

    refused: int | str | None
    result: int
    errors: str
    remarks: str = ""
    image: bytes = b""


class NvJitLink(Library):
    """A loaded libnvJitLink."""

    title = "nvJitLink"
    prefix = "nvJitLink"

    def link(
        self, options: Sequence[str], inputs: Sequence[LinkInput], names: Iterable[str]
    ) -> _Outcome:
        """Link inputs, called as messages are to call them."""
        return calls.apart(lambda _: self._link([*map(os.fsencode, options)], inputs, [*names]))

    def _link(
        self, options: list[bytes], inputs: Sequence[LinkInput], names: list[str]
    ) -> _Outcome:
        handle = ctypes.c_void_p()
        array = (ctypes.c_char_p * len(options))(*options)
        result = self.result("Create", ctypes.byref(handle), len(options), array)
        try:
            if result != 0:
                errors = self._text("ErrorLog", handle) if handle.value else ""
                return _Outcome("options", result, errors)
            # Its messages read the names where they lie: it takes no copies.
            kept = [name.encode() for name in names]
            for index, (item, name) in enumerate(zip(inputs, kept, strict=True)):
                size = ctypes.c_size_t(len(item.data))
                result = self.result("AddData", handle, _TYPES[item.kind], item.data, size, name)
                if result != 0:
                    return _Outcome(index, result, self._text("ErrorLog", handle))
            result = self.result("Complete", handle)
            logs = self._text("ErrorLog", handle), self._text("InfoLog", handle)
            if result != 0:
                return _Outcome("link", result, *logs)
            if b"-ptx" in options:
                return _Outcome(None, 0, *logs, self._read("LinkedPtx", handle).rstrip(b"\0"))
            return _Outcome(None, 0, *logs, self._read("LinkedCubin", handle))
        finally:
            # A link that could not begin has a handle too: it holds the log.
            if handle.value:
                self.result("Destroy", ctypes.byref(handle))

    def _text(self, what: str, handle: ctypes.c_void_p) -> str:
        return self._read(what, handle).rstrip(b"\0").decode("utf-8", "replace").strip("\n")

    def _read(self, what: str, handle: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self.call(f"Get{what}Size", handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        if size.value:
            self.call(f"Get{what}", handle, buffer)
        return buffer.raw[: size.value]


def link_inputs(
    inputs: Sequence[LinkInput], *, arch: str, lto: bool = False, options: Sequence[str] = ()
) -> Linked:
    """Link inputs to an image.

    Raises
    ------
    LinkFailure
        They do not fit together.
    CompileError, ValueError
        One of them cannot be linked for this architecture, or an option is unknown.
    ToolchainError
        nvJitLink is missing, or older than NVRTC.
    """
    cuda = find_cuda()
    library = NvJitLink.of(cuda.require("nvjitlink"))
    _check_supported(library, cuda, arch)
    as_ptx = is_ptx(arch)
    for item in inputs:
        item.check_arch(arch)
        if as_ptx and item.kind in ("relocatable", "ptx"):
            raise ValueError(
                f"{item.name} cannot be linked for {arch}: PTX is made of LTO-IR alone; compile it "
                'with target_type="ltoir", or leave out the PTX'
            )
    lto = lto or as_ptx or any(item.kind == "ltoir" for item in inputs)
    command = (f"-arch={arch}", *(["-lto"] * lto), *(["-ptx"] * as_ptx), *options)
    if faults := find_faults(inputs, arch):
        raise LinkFailure(faults, "", command)
    # Not the names themselves: they may hold anything, and the log is to be read.
    names = {f"input{index}": item.name for index, item in enumerate(inputs)}

    def readable(log: str) -> str:
        return re.sub(r"\binput\d+\b", lambda match: names.get(match[0], match[0]), log)

    done = library.link(command, inputs, names)
    if done.refused == "options":
        text = (
            f"nvJitLink {_release(library)} refuses an option: "
            f"{done.errors or f'error {done.result}'}; the options were: {' '.join(command)}"
        )
        raise ValueError(text) if done.result == _UNKNOWN_OPTION else CubinError(text)
    if isinstance(done.refused, int):
        item = inputs[done.refused]
        raise _refusal(library, cuda, item, arch, readable(done.errors))
    # A variable that is defined nowhere, or something that is defined twice, is no error to
    # nvJitLink where LTO-IR is linked: the image would have a variable of its own.
    faults = read_faults(f"{done.errors}\n{done.remarks}", names)
    faults += find_undefined_in_ptx(done.image) if as_ptx else ()
    if done.refused or faults:
        faults = faults or find_undefined(inputs, arch)
        log = readable("\n".join(filter(None, (done.errors, done.remarks))))
        raise LinkFailure(faults, log or f"error {done.result}", command)
    return Linked(done.image, readable(done.remarks))


def _release(library: NvJitLink) -> str:
    return ".".join(map(str, library.version()))


def _check_supported(library: NvJitLink, cuda: Cuda, arch: str) -> None:
    nvrtc = program.load(cuda.nvrtc)
    own, made = library.version(), nvrtc.version()
    if own < made:
        release, needed = (".".join(map(str, version)) for version in (own, made))
        wheel = cuda.wheels["nvjitlink"]
        raise ToolchainError(
            f"nvJitLink {release} is older than NVRTC {needed} and cannot link what that compiles; "
            f"run: pip install --upgrade '{wheel}>={needed}'"
        )
    # Newer releases end the process where they do not know the architecture.
    supported = nvrtc.supported_archs()
    if number_of(arch) not in supported:
        known = ", ".join(f"sm_{number}" for number in supported)
        raise ValueError(f"arch={arch!r}: CUDA {'.'.join(map(str, own))} links for {known}")


def _refusal(
    library: NvJitLink, cuda: Cuda, item: LinkInput, arch: str, log: str
) -> CubinError | ValueError:
    if newer := re.search(r"ERROR (\d+) in LTOIR arch newer than target arch", log):
        return ValueError(
            f"{item.name} is for sm_{newer[1]} and cannot be linked into an image for {arch}: "
            f"compile it for {arch} or an older architecture"
        )
    which = f"{item.name} ({item.arch})" if item.arch else item.name
    verb = "assembled" if item.kind == "ptx" else "linked"
    text = f"{which} cannot be {verb} for {arch}: nvJitLink {_release(library)} says: {log}"
    upgrade = f"run: pip install --upgrade {cuda.wheels['nvjitlink']}"
    if "Unsupported .version" in log:
        text += (
            f"\nHint: a newer compiler made it; {upgrade}, or the extra cu13 in place of cu12; of "
            'an image that is embedded, ptx="keep" leaves it to the driver'
        )
    elif "may need newer version of nvJitLink" in log or item.kind == "relocatable":
        text += f"\nHint: it may come from a newer compiler; {upgrade}"
    return CompileError(text, log=log)
