"""What keeps units from being linked: found before the link, or read from nvJitLink's log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .compile_log import LAUNCHES_ON_DEVICE
from .kernels.demangle import demangle
from .kernels.nv_info import DeviceSymbol
from .kernels.ptx import ptx_symbols
from .link_input import LinkInput

__all__ = [
    "LinkFault",
    "dropped_hints",
    "find_faults",
    "find_undefined",
    "find_undefined_in_ptx",
    "read_faults",
    "runtime_hints",
    "tells_error",
    "where_defined",
]

_UNDEFINED = re.compile(r"Undefined reference to '([^']+)' in '([^']+)'")
# Of these nvJitLink knows no unit: they are found once all units are one.
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '([^']+)'")
_DEFINED_TWICE = re.compile(
    r"Multiple definition of '([^']+)' in '([^']+)', first defined in '([^']*)'"
)
_MERGED_TWICE = re.compile(
    r"(\S+): link error: .*Linking globals named '([^']+)'.*multiply defined"
)
_DIFFERS = re.compile(
    r"(Size|Memory space|Managed attribute|Prototype) doesn't match for '([^']+)' in '([^']+)', "
    r"first (?:specified|defined) in '([^']*)'"
)
# nvJitLink's own way to begin a line: others print "ERROR: " or "error: " into the same stream.
_ERROR = re.compile(r"^(?:error   |error\*  |fatal   ): ", re.MULTILINE)
# What nvJitLink calls the unit that it makes of all LTO-IR.
_ALL_LTOIR = "ltoPtx"


# What the compiler makes of <<<...>>> in device code.
_DEVICE_RUNTIME = "__cudaCDP2"
# What the driver defines.
_SYSTEM = {"vprintf", "malloc", "free", "__assertfail"}
# Around what is static or in an unnamed namespace, so that units do not collide.
_OWN_NAMESPACE = re.compile(r"\b(?:_INTERNAL_|_GLOBAL__N_)\w+::")


class LinkFault(NamedTuple):
    """One symbol that cannot be linked.

    Attributes
    ----------
    kind : str
        ``"undefined"``, ``"duplicate"`` or ``"mismatch"``.
    symbol : str
        Its name in the symbol table.
    units : tuple of str
        Undefined: who uses it. Otherwise: who defines or declares it. Empty where that is not
        known.
    detail : tuple of str
        Of a mismatch: what it is in each unit; where that is not known, what of it differs alone.
    is_kernel : bool
        Of a duplicate: whether it is known to be a kernel.
    """

    kind: str
    symbol: str
    units: tuple[str, ...]
    detail: tuple[str, ...] = ()
    is_kernel: bool = False

    def __str__(self) -> str:
        name = demangle(self.symbol)
        units = _join(self.units)
        if self.kind == "undefined":
            used = f"used in {units}" if units else "used"
            return f"{name} is {used} and defined nowhere"
        if self.kind == "mismatch" and len(self.detail) == 1:
            places = f", in {units}" if units else ""
            return f"{name} is not the same everywhere: its {self.detail[0]} differs{places}"
        if self.kind == "mismatch":
            pairs = zip(self.detail, self.units, strict=True)
            parts = tuple(f"{what} in {unit}" for what, unit in pairs)
            return f"{name} is not the same everywhere: {_join(parts)}"
        times = "twice" if len(self.units) < 3 else f"{len(self.units)} times"
        remedy = "rename one" if self.is_kernel else "make it static or inline"
        units = f"{units} and elsewhere" if len(self.units) == 1 else units
        places = f", in {units}" if units else ""
        return f"{name} is defined {times}{places}: {remedy}, or keep one"


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def find_faults(inputs: Sequence[LinkInput]) -> tuple[LinkFault, ...]:
    """Return what the symbol tables of relocatable cubins show to be wrong.

    nvJitLink tells of it on the error stream of the process only, and links nevertheless.
    """
    homes: dict[str, list[tuple[LinkInput, DeviceSymbol]]] = {}
    for item in inputs:
        for symbol in item.symbols:
            if symbol.defined and symbol.linkage == "shared":
                homes.setdefault(symbol.name, []).append((item, symbol))
    faults = [
        LinkFault(
            "duplicate",
            name,
            tuple(item.name for item, _ in found),
            is_kernel=all(symbol.what == "kernel" for _, symbol in found),
        )
        for name, found in homes.items()
        if len(found) > 1
    ]
    for item in inputs:
        for symbol in item.symbols:
            if symbol.defined or symbol.name not in homes:
                continue
            home, definition = homes[symbol.name][0]
            if detail := _difference(definition, symbol):
                units = (home.name, item.name)
                faults.append(LinkFault("mismatch", symbol.name, units, detail))
    return tuple(faults)


def find_undefined(inputs: Sequence[LinkInput]) -> tuple[LinkFault, ...]:
    """Return what relocatable cubins refer to and none of them defines.

    Only where a link has failed and its log tells nothing: libraries may define it, or the system.
    """
    known = {symbol.name for item in inputs for symbol in item.symbols if symbol.defined} | _SYSTEM
    users: dict[str, list[str]] = {}
    for item in inputs:
        for symbol in item.symbols:
            is_open = symbol.linkage == "shared" and symbol.what != "__shared__"
            if is_open and symbol.name not in known:
                users.setdefault(symbol.name, []).append(item.name)
    return tuple(LinkFault("undefined", name, tuple(units)) for name, units in users.items())


def find_undefined_in_ptx(text: bytes) -> tuple[LinkFault, ...]:
    """Return what PTX refers to and does not define."""
    names = (symbol.name for symbol in ptx_symbols(text) if not symbol.defined)
    return tuple(LinkFault("undefined", name, ()) for name in names if name not in _SYSTEM)


def _difference(definition: DeviceSymbol, use: DeviceSymbol) -> tuple[str, ...]:
    code = ("kernel", "function")
    if definition.what in code or use.what in code:
        same = definition.what in code and use.what in code
        return () if same else (_words(definition), _words(use))
    if definition.what != use.what:
        return _words(definition), _words(use)
    if definition.size and use.size and definition.size != use.size:
        return f"{definition.size} bytes", f"{use.size} bytes"
    return ()


def _words(symbol: DeviceSymbol) -> str:
    return f"a {symbol.what}" + ("" if symbol.what in ("kernel", "function") else " variable")


def read_faults(log: str, names: Mapping[str, str]) -> tuple[LinkFault, ...]:
    """Return what nvJitLink's logs say.

    Parameters
    ----------
    log : str
        Errors and warnings.
    names : mapping of str to str
        The inputs' names, by those that nvJitLink was given.
    """
    users: dict[str, list[str]] = {}
    homes: dict[str, list[str]] = {}
    differing: dict[tuple[str, str], list[str]] = {}
    for line in log.split("\n"):
        if match := _UNDEFINED.search(line):
            users.setdefault(match[1], []).append(match[2])
        elif match := _UNRESOLVED.search(line):
            users.setdefault(match[1], [])
        elif match := _DEFINED_TWICE.search(line):
            homes.setdefault(match[1], []).extend((match[3], match[2]))
        elif match := _MERGED_TWICE.search(line):
            homes.setdefault(match[2], []).append(match[1])
        elif (match := _DIFFERS.search(line)) and tells_error(line):
            differing.setdefault((match[2], match[1].lower()), []).extend((match[4], match[3]))
    found = [("undefined", *item) for item in users.items()]
    found += [("duplicate", *item) for item in homes.items()]
    faults = [LinkFault(kind, name, _named(units, names)) for kind, name, units in found]
    faults += [
        LinkFault("mismatch", name, _named(units, names), (what,))
        for (name, what), units in differing.items()
    ]
    return tuple(faults)


def tells_error(log: str) -> bool:
    """Return whether nvJitLink's logs, or what it printed, have an error, of whatever kind."""
    return _ERROR.search(log) is not None


def _named(units: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    units = dict.fromkeys(units)
    return tuple(names.get(unit, unit) for unit in units if unit != _ALL_LTOIR)


def dropped_hints(faults: Iterable[LinkFault], inputs: Sequence[LinkInput]) -> tuple[str, ...]:
    """Return what nvJitLink may have dropped: of LTO-IR it keeps what the LTO-IR itself uses."""
    merged = [item.name for item in inputs if item.kind == "ltoir"]
    users = [unit for fault in faults for unit in fault.units if fault.kind == "undefined"]
    if not merged or not users:
        return ()
    it = "it" if len(merged) == 1 else "them"
    return (
        f"{_join(merged)}: of LTO-IR nvJitLink may keep no more than its own kernels use; compile "
        f"{_join(tuple(dict.fromkeys(users)))} to LTO-IR, too, or {it} to relocatable code",
    )


def runtime_hints(faults: Iterable[LinkFault]) -> tuple[str, ...]:
    """Return what is to be linked where kernels launch kernels, if that is what is undefined."""
    if any(x.kind == "undefined" and x.symbol.startswith(_DEVICE_RUNTIME) for x in faults):
        return (LAUNCHES_ON_DEVICE,)
    return ()


def where_defined(fault: LinkFault, inputs: Iterable[LinkInput]) -> tuple[str, ...]:
    """Return where something that is almost an undefined symbol is defined, as sentences.

    Parameters
    ----------
    fault : LinkFault
        Of an undefined symbol.
    inputs : iterable of LinkInput
        What was to be linked.
    """
    if fault.kind != "undefined":
        return ()
    wanted = demangle(fault.symbol)
    base = _base(wanted)
    users = _join(fault.units) or "the other"
    found: list[str] = []
    elsewhere: list[str] = []
    for item in inputs:
        for symbol in item.symbols:
            text = _OWN_NAMESPACE.sub("", demangle(symbol.name))
            if not symbol.defined or _last(_base(text)) != _last(base):
                continue
            if _base(text) != base:
                elsewhere.append(f"{item.name} defines {text}, which is in another namespace")
            elif text == wanted:
                found.append(f"{item.name} has it for itself alone (static)")
            elif text == symbol.name:
                found.append(
                    f'{item.name} defines {text} as extern "C", {users} declares it without'
                )
            elif wanted == fault.symbol:
                found.append(f'{item.name} defines {text}, {users} declares it as extern "C"')
            else:
                found.append(f"{item.name} defines {text}")
    return tuple(dict.fromkeys(found or elsewhere))


def _base(name: str) -> str:
    # In front of a template's instance is what it returns.
    return name.split("(", 1)[0].split("<", 1)[0].strip().rpartition(" ")[2]


def _last(name: str) -> str:
    return name.rpartition("::")[2]
