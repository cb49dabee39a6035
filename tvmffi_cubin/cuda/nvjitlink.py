"""Device code that was compiled separately to one image, through nvJitLink."""

from __future__ import annotations

import ctypes
import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import CompileError, CubinError, ToolchainError
from ..kernels import fatbin, nv_info, ptx
from ..kernels.cubin import Cubin
from ..kernels.demangle import demangle
from ..kernels.elf import RELOCATABLE, Elf
from ..kernels.image import ARCHIVE, ELF, EM_CUDA, FATBIN, LTOIR, describe, looks_like_ptx
from ..kernels.nv_info import DeviceSymbol
from . import program
from .arch import check_arch, is_ptx, number_of, resolve_arch
from .given import GivenImage, read_given
from .libraries import Cuda, Library, find_cuda
from .log import LAUNCHES_ON_DEVICE
from .options import check_link_options

__all__ = ["link", "version"]

Linkable = Cubin | bytes | bytearray | memoryview | str | os.PathLike[str]
"""What can be linked: an image, its bytes, or the path of its file."""

_UNKNOWN_OPTION = 1
# nvJitLinkInputType, by our name of the kind.
_TYPES = {"relocatable": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
# What nvJitLink calls the unit that it makes of all LTO-IR.
_ALL_LTOIR = "ltoPtx"
# What the driver defines.
_SYSTEM = {"vprintf", "malloc", "free", "__assertfail"}
_CODE = ("kernel", "function")

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
    read = [as_input(read_given(f"inputs[{index}]", value)) for index, value in enumerate(given)]
    if not read:
        raise ValueError("inputs is empty: there is nothing to link")
    known = {item.arch for item in read if item.arch is not None and item.kind != "ptx"}
    common = known.pop() if len(known) == 1 else None
    target = check_arch(arch) if arch is not None else resolve_arch(common)
    try:
        linked = link_inputs(read, arch=target, lto=lto, options=options)
    except LinkFailure as failure:
        raise failure.error(f"the inputs do not link for {target}") from None
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
        images = [self.data] if self.kind == "relocatable" else []
        if self.kind == "fatbin":
            members = (x for x in fatbin.readable(self.data)[0] if x.kind == "relocatable")
            images = [x.image for x in members if _fits(x.arch, target, is_code=True)][-1:]
        try:
            return tuple(symbol for image in images for symbol in nv_info.device_symbols(image))
        except ValueError as error:
            raise ValueError(f"{self.name} cannot be linked: {error}") from None

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
    """Return what a caller gave as something to link; a ValueError says what else it looks like."""
    try:
        return _classified(given)
    except ValueError as error:
        raise ValueError(f"{given.name} cannot be linked: {error}") from None


def _classified(given: GivenImage) -> LinkInput:
    data, name = given.data, given.name
    # What is truncated nvJitLink reads on where it ends; it crashes, or never returns.
    if data.startswith(FATBIN):
        members, unreadable = fatbin.readable(data)
        if members and not unreadable and all(member.kind == "cubin" for member in members):
            raise ValueError(
                "its cubins are linked already, and of those nothing can be used elsewhere; "
                'compile them with target_type="relocatable" (nvcc: -rdc=true -fatbin)'
            )
        return LinkInput(name, "fatbin", data)
    if data.startswith(LTOIR):
        # It does not say what it was compiled for.
        return LinkInput(name, "ltoir", data, given.arch or None)
    if data.startswith(ARCHIVE):
        _check_archive(data)
        return LinkInput(name, "library", data)
    if data.startswith(ELF) and len(data) >= 64:
        return _classified_elf(data, name)
    if looks_like_ptx(data):
        return LinkInput(name, "ptx", data, ptx.parse(data).target)
    raise ValueError(
        f"{describe(data)}; wanted is a relocatable cubin, LTO-IR, PTX, "
        "a fatbin, or a static library or object with device code"
    )


def _check_archive(data: bytes) -> None:
    """Refuse a truncated archive; 60 bytes precede each member, its size among them."""
    position = len(ARCHIVE)
    while position < len(data):
        header = data[position : position + 60]
        size = header[48:58].strip()
        end = position + 60 + int(size) if size.isdigit() else 0
        if not header.endswith(b"`\n") or not position < end <= len(data):
            raise ValueError(
                f"corrupt library: its member at byte {position} is truncated or damaged"
            )
        position = end + end % 2


def _classified_elf(data: bytes, name: str) -> LinkInput:
    file_type, machine = (int.from_bytes(data[at : at + 2], "little") for at in (16, 18))
    if machine == EM_CUDA:
        image = nv_info.parse(data)
        if not image.relocatable:
            raise ValueError(
                "it is a cubin that is linked already, of which nothing can be used elsewhere; "
                'compile it with target_type="relocatable" (nvcc: -rdc=true -cubin)'
            )
        return LinkInput(name, "relocatable", data, image.arch)
    if file_type != RELOCATABLE:
        raise ValueError(
            "it is a shared object or a program of the host; "
            "give the static library or the object files that it was made from"
        )
    Elf(data, "object")
    return LinkInput(name, "object", data)


# What keeps it from being linked


class LinkFault(NamedTuple):
    """A symbol that is ``"undefined"``, a ``"duplicate"`` or a ``"mismatch"``.

    `units` use it or define it, none where that is not known; `detail` is what a mismatch is in
    each of them.
    """

    kind: str
    symbol: str
    units: tuple[str, ...]
    detail: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = demangle(self.symbol)
        units = _join(self.units)
        if self.kind == "undefined":
            return f"{name} is used{f' in {units}' if units else ''} and defined nowhere"
        if self.kind == "mismatch":
            pairs = zip(self.detail, self.units, strict=True)
            parts = [f"{what} in {unit}" for what, unit in pairs]
            return f"{name} is not the same everywhere: {_join(parts)}"
        times = "twice" if len(self.units) < 3 else f"{len(self.units)} times"
        places = f", in {units}" if units else ""
        elsewhere = " and elsewhere" if len(self.units) == 1 else ""
        return (
            f"{name} is defined {times}{places}{elsewhere}: "
            "rename one, make it static or inline, or keep one"
        )


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


class LinkFailure(Exception):
    """The inputs do not fit together: `faults`, where they are known, and nvJitLink's `log`."""

    def __init__(self, faults: tuple[LinkFault, ...], log: str, options: tuple[str, ...]) -> None:
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


def _find_faults(inputs: Sequence[LinkInput], target: str) -> tuple[LinkFault, ...]:
    """Return what is defined twice or is not the same everywhere, by the symbol tables.

    nvJitLink tells of it on the error stream of the process only, and links nevertheless.
    """
    homes: dict[str, list[tuple[LinkInput, DeviceSymbol]]] = {}
    users: list[tuple[LinkInput, DeviceSymbol]] = []
    for item in inputs:
        for symbol in item.symbols(target):
            if not symbol.defined:
                users.append((item, symbol))
            elif symbol.linkage == "shared":
                homes.setdefault(symbol.name, []).append((item, symbol))
    faults = [
        LinkFault("duplicate", name, tuple(item.name for item, _ in found))
        for name, found in homes.items()
        if len(found) > 1
    ]
    for item, symbol in users:
        if symbol.name in homes:
            home, definition = homes[symbol.name][0]
            if detail := _difference(definition, symbol):
                faults.append(LinkFault("mismatch", symbol.name, (home.name, item.name), detail))
    return tuple(faults)


def _difference(*symbols: DeviceSymbol) -> tuple[str, ...]:
    if len({"code" if symbol.what in _CODE else symbol.what for symbol in symbols}) > 1:
        return tuple(f"a {x.what}{'' if x.what in _CODE else ' variable'}" for x in symbols)
    sizes = [symbol.size for symbol in symbols]
    if symbols[0].what in _CODE or not all(sizes) or len({*sizes}) == 1:
        return ()
    return tuple(f"{size} bytes" for size in sizes)


def _find_undefined(inputs: Sequence[LinkInput], target: str) -> tuple[LinkFault, ...]:
    """Return what inputs refer to and none of them defines; nvJitLink 12.6 does not tell.

    Only where a link has failed: libraries may define it.
    """
    symbols = [(item, symbol) for item in inputs for symbol in item.symbols(target)]
    known = {symbol.name for _, symbol in symbols if symbol.defined} | _SYSTEM
    users: dict[str, list[str]] = {}
    for item, symbol in symbols:
        is_open = symbol.linkage == "shared" and symbol.what != "__shared__"
        if is_open and symbol.name not in known:
            users.setdefault(symbol.name, []).append(item.name)
    return tuple(LinkFault("undefined", name, tuple(units)) for name, units in users.items())


def _read_faults(log: str, names: Mapping[str, str]) -> tuple[LinkFault, ...]:
    """Return what nvJitLink's logs say; `names` are the inputs', by what it was given."""
    users: dict[str, list[str]] = {}
    homes: dict[str, list[str]] = {}
    for line in log.split("\n"):
        if match := re.search(r"Undefined reference to '([^']+)' in '([^']+)'", line):
            users.setdefault(match[1], []).append(match[2])
        elif match := re.search(r"Unresolved extern (?:function|variable) '([^']+)'", line):
            # Of these it knows no unit: they are found once all units are one.
            users.setdefault(match[1], [])
        elif match := re.search(
            r"Multiple definition of '([^']+)' in '([^']+)', first defined in '([^']*)'", line
        ):
            homes.setdefault(match[1], []).extend((match[3], match[2]))
        elif match := re.search(
            r"(\S+): link error: .*Linking globals named '([^']+)'.*multiply defined", line
        ):
            homes.setdefault(match[2], []).append(match[1])
    found = [("undefined", *item) for item in users.items()]
    found += [("duplicate", *item) for item in homes.items()]
    return tuple(
        LinkFault(
            kind, name, tuple(names.get(x, x) for x in dict.fromkeys(units) if x != _ALL_LTOIR)
        )
        for kind, name, units in found
    )


# The link itself


class Linked(NamedTuple):
    """A linked image, with nvJitLink's warnings and remarks."""

    image: bytes
    log: str

    def report(self, what: str) -> None:
        """Log what nvJitLink said, if anything; as a warning where there is one in it."""
        if self.log:
            level = logging.WARNING if "warning" in self.log.lower() else logging.INFO
            _logger.log(level, "nvJitLink %s:\n%s", what, self.log)


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
        self, options: list[bytes], inputs: Sequence[LinkInput], names: list[bytes]
    ) -> _Outcome:
        """Link inputs, called as messages are to call them."""
        handle = ctypes.c_void_p()
        array = (ctypes.c_char_p * len(options))(*options)
        result = self.result("Create", ctypes.byref(handle), len(options), array)
        try:
            if result != 0:
                errors = self._text("ErrorLog", handle) if handle.value else ""
                return _Outcome("options", result, errors)
            # Its messages read the names where they lie: it takes no copies.
            for index, (item, name) in enumerate(zip(inputs, names, strict=True)):
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
    """Link inputs to an image; raises `LinkFailure`, and what `link` does."""
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
    if faults := _find_faults(inputs, arch):
        raise LinkFailure(faults, "", command)
    # Not the names themselves: they may hold anything, and the log is to be read.
    names = {f"input{index}": item.name for index, item in enumerate(inputs)}

    def readable(log: str) -> str:
        return re.sub(r"\binput\d+\b", lambda match: names.get(match[0], match[0]), log)

    words = [*map(os.fsencode, command)]
    done = program.apart(lambda _: library.link(words, inputs, [name.encode() for name in names]))
    if done.refused == "options":
        text = (
            f"nvJitLink {_release(library)} refuses an option: "
            f"{done.errors or f'error {done.result}'}; the options were: {' '.join(command)}"
        )
        raise ValueError(text) if done.result == _UNKNOWN_OPTION else CubinError(text)
    if isinstance(done.refused, int):
        raise _refusal(library, cuda, inputs[done.refused], arch, readable(done.errors))
    # A variable that is defined nowhere, or something that is defined twice, is no error to
    # nvJitLink where LTO-IR is linked: the image would have a variable of its own.
    faults = _read_faults(f"{done.errors}\n{done.remarks}", names)
    if as_ptx and done.image:
        faults += _find_undefined([LinkInput("the linked image", "ptx", done.image)], arch)
    if done.refused or faults:
        faults = faults or _find_undefined(inputs, arch)
        log = readable("\n".join(filter(None, (done.errors, done.remarks))))
        raise LinkFailure(faults, log or f"error {done.result}", command)
    return Linked(done.image, readable(done.remarks))


def _release(library: NvJitLink) -> str:
    return ".".join(map(str, library.version()))


def _check_supported(library: NvJitLink, cuda: Cuda, arch: str) -> None:
    nvrtc = program.load(cuda.nvrtc)
    if library.version() < nvrtc.version():
        needed = ".".join(map(str, nvrtc.version()))
        raise ToolchainError(
            f"nvJitLink {_release(library)} is older than NVRTC {needed} and cannot link what that "
            f"compiles; run: pip install --upgrade '{cuda.wheels['nvjitlink']}>={needed}'"
        )
    # Newer releases end the process where they do not know the architecture.
    supported = nvrtc.supported_archs()
    if number_of(arch) not in supported:
        known = ", ".join(f"sm_{number}" for number in supported)
        raise ValueError(f"arch={arch!r}: CUDA {_release(library)} links for {known}")


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
    elif item.kind == "relocatable":
        text += f"\nHint: it may come from a newer compiler; {upgrade}"
    return CompileError(text, log=log)
