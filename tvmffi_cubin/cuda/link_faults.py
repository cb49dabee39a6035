"""What keeps units from being linked: found before the link, or read from nvJitLink's log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..kernels.demangle import demangle
from ..kernels.nv_info import DeviceSymbol
from ..kernels.ptx import ptx_symbols
from .link_input import LinkInput
from .log import LAUNCHES_ON_DEVICE

# What nvJitLink calls the unit that it makes of all LTO-IR.
_ALL_LTOIR = "ltoPtx"
# What the driver defines.
_SYSTEM = {"vprintf", "malloc", "free", "__assertfail"}
_CODE = ("kernel", "function")


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
        Of a mismatch: what it is in each unit.
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


def find_faults(inputs: Sequence[LinkInput], target: str) -> tuple[LinkFault, ...]:
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
        LinkFault(
            "duplicate",
            name,
            tuple(item.name for item, _ in found),
            is_kernel=all(symbol.what == "kernel" for _, symbol in found),
        )
        for name, found in homes.items()
        if len(found) > 1
    ]
    for item, symbol in users:
        if symbol.name in homes:
            home, definition = homes[symbol.name][0]
            if detail := _difference(definition, symbol):
                faults.append(LinkFault("mismatch", symbol.name, (home.name, item.name), detail))
    return tuple(faults)


def _difference(definition: DeviceSymbol, use: DeviceSymbol) -> tuple[str, ...]:
    if definition.what in _CODE and use.what in _CODE:
        return ()
    if definition.what != use.what:
        return _words(definition), _words(use)
    if definition.size and use.size and definition.size != use.size:
        return f"{definition.size} bytes", f"{use.size} bytes"
    return ()


def _words(symbol: DeviceSymbol) -> str:
    return f"a {symbol.what}" + ("" if symbol.what in _CODE else " variable")


def find_undefined(inputs: Sequence[LinkInput], target: str) -> tuple[LinkFault, ...]:
    """Return what inputs refer to and none of them defines; nvJitLink 12.6 does not tell.

    Only where a link has failed: libraries may define it, or the system.
    """
    symbols = [(item, symbol) for item in inputs for symbol in item.symbols(target)]
    known = {symbol.name for _, symbol in symbols if symbol.defined} | _SYSTEM
    users: dict[str, list[str]] = {}
    for item, symbol in symbols:
        is_open = symbol.linkage == "shared" and symbol.what != "__shared__"
        if is_open and symbol.name not in known:
            users.setdefault(symbol.name, []).append(item.name)
    return tuple(LinkFault("undefined", name, tuple(units)) for name, units in users.items())


def find_undefined_in_ptx(text: bytes) -> tuple[LinkFault, ...]:
    """Return what PTX refers to and does not define."""
    names = (symbol.name for symbol in ptx_symbols(text) if not symbol.defined)
    return tuple(LinkFault("undefined", name, ()) for name in names if name not in _SYSTEM)


def read_faults(log: str, names: Mapping[str, str]) -> tuple[LinkFault, ...]:
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


def hints(faults: Sequence[LinkFault], inputs: Sequence[LinkInput]) -> tuple[str, ...]:
    """Return what may help, as sentences."""
    found = []
    # What the compiler makes of <<<...>>> in device code.
    if any(x.kind == "undefined" and x.symbol.startswith("__cudaCDP2") for x in faults):
        found.append(LAUNCHES_ON_DEVICE)
    merged = [item.name for item in inputs if item.kind == "ltoir"]
    users = [unit for fault in faults for unit in fault.units if fault.kind == "undefined"]
    if merged and users:
        it = "it" if len(merged) == 1 else "them"
        found.append(
            f"{_join(merged)}: of LTO-IR nvJitLink may keep no more than its own kernels use; "
            f"compile {_join(tuple(dict.fromkeys(users)))} to LTO-IR, too, or {it} to relocatable "
            "code"
        )
    return tuple(found)
