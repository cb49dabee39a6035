"""`select`: the kernel that a name or, where the caller allows it, a part of a name stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..kernels.types import CxxType, Param
from ..probe import squeeze
from .signature import KernelSignature, signature_text, suggestion

_NUMBER = re.compile(r"_[0-9]+\Z")
_VARIANT = re.compile(r"_[0-9]")
_MOST_LISTED = 20


class Catalog:
    """Kernels by every way of naming them, so that each of many names is found at once.

    `lowered_names` is the image's, from name expression to symbol.
    """

    def __init__(
        self, signatures: Iterable[KernelSignature], lowered_names: Mapping[str, str]
    ) -> None:
        self.signatures = list(signatures)
        self._lowered = dict(lowered_names)
        self._symbols: dict[str, list[KernelSignature]] = {}
        self._displays: dict[str, list[KernelSignature]] = {}
        self._qualified: dict[str, list[KernelSignature]] = {}
        for x in self.signatures:
            self._symbols.setdefault(x.symbol, []).append(x)
            self._displays.setdefault(squeeze(x.display), []).append(x)
            self._qualified.setdefault(x.qualified, []).append(x)
        self._squeezed: dict[str, list[str]] = {}
        for name, symbol in self._lowered.items():
            self._squeezed.setdefault(squeeze(name), []).append(symbol)

    def find(self, wanted: str, *, parts: bool) -> list[KernelSignature]:
        """Return the matches of the first way of naming that has any, the most exact way first."""
        return next(filter(None, self._ways(wanted, parts)), [])

    def _ways(self, wanted: str, parts: bool) -> Iterator[list[KernelSignature]]:
        yield self._symbols.get(wanted.strip(), [])
        yield self._symbols.get(self._lowered.get(wanted, ""), [])
        squeezed = squeeze(wanted)
        symbols = dict.fromkeys(self._squeezed.get(squeezed, ()))
        yield [x for symbol in symbols for x in self._symbols.get(symbol, ())]
        name = squeezed.removeprefix("::")
        yield self._displays.get(name, [])
        yield self._qualified.get(name, [])
        # `fill<float>` for `ns::fill<float>`, `fill` for either.
        yield [
            x for text, found in self._displays.items() if text.endswith(f"::{name}") for x in found
        ]
        yield [x for x in self.signatures if x.name == name or x.qualified.endswith(f"::{name}")]
        if parts:
            yield _by_part(self.signatures, name)


def select(
    signatures: Catalog | Iterable[KernelSignature],
    wanted: str,
    *,
    declared: tuple[Param, ...] | None = None,
    lowered_names: Mapping[str, str] | None = None,
    parts: bool = False,
) -> KernelSignature:
    """Return the kernel that a name stands for."""
    catalog = signatures
    if not isinstance(catalog, Catalog):
        catalog = Catalog(catalog, lowered_names or {})
    found = catalog.find(wanted, parts=parts)
    if not found:
        raise ValueError(_no_match(catalog.signatures, wanted, parts))
    if len(found) > 1 and declared is not None:
        found = [x for x in found if _same_types(x.params, declared)] or found
        found = [x for x in found if _same_sizes(x, declared)] or found
    if len(found) > 1:
        shown = found[:_MOST_LISTED]
        names = [_name_of(x, catalog) for x in shown]
        raise ValueError(_ambiguous(found, wanted, names))
    return found[0].require() if declared is None else found[0]


def _by_part(signatures: list[KernelSignature], part: str) -> list[KernelSignature]:
    """Return the kernels that a part of their name stands for, first those that people see it in.

    A symbol's own letters count where no name has the part.
    """
    if not part:
        return []
    for texts in ([squeeze(x.display) for x in signatures], [x.symbol for x in signatures]):
        found = [(x, text) for x, text in zip(signatures, texts, strict=True) if part in text]
        left = _without_numbered([x for x, _ in found])
        kept = {id(x) for x in left}
        bases = [x for x, text in found if id(x) in kept and not _is_variant(text, part)]
        if left:
            return bases or left
    return []


def _is_variant(text: str, part: str) -> bool:
    """Whether a number follows the part: so compilers name the further kernels of a pattern."""
    return _VARIANT.match(text, text.index(part) + len(part)) is not None


def _without_numbered(found: list[KernelSignature]) -> list[KernelSignature]:
    """Leave out `k_1`, `k_2` where there is `k`: so compilers name the further kernels of one."""
    bases = {(x.qualified, _arguments(x)) for x in found}
    return [x for x in found if bases.isdisjoint(_unnumbered(x))]


def _unnumbered(signature: KernelSignature) -> Iterator[tuple[str, str]]:
    """Yield the names that are left without a number at the end, without two, ..."""
    name = signature.qualified
    while match := _NUMBER.search(name):
        name = name[: match.start()]
        yield name, _arguments(signature)


def _arguments(signature: KernelSignature) -> str:
    return squeeze(signature.display[len(signature.qualified) :])


def _name_of(signature: KernelSignature, catalog: Catalog) -> str | None:
    """Return the shortest name that stands for this kernel alone; None where there is none."""
    names = [signature.name, signature.qualified, signature.display, signature.symbol]
    for name in names:
        if catalog.find(name, parts=True) == [signature]:
            return name
    return None


def _ambiguous(found: list[KernelSignature], wanted: str, names: Iterable[str | None]) -> str:
    lines = [f"kernel name {wanted!r} stands for {len(found)} kernels:"]
    for signature, name in zip(found, names, strict=False):
        remedy = "" if name is None else f': kernel="{name}"'
        lines.append(f"  {signature_text(signature)}{remedy}")
    if len(found) > _MOST_LISTED:
        lines.append(f"  ... and {len(found) - _MOST_LISTED} more")
    lines.append(
        "name the one that is meant as is said behind it, or declare its parameters, such as "
        + suggestion(found[0].kernel, found[0].params)
    )
    return "\n".join(lines)


def _no_match(signatures: list[KernelSignature], wanted: str, parts: bool) -> str:
    if not signatures:
        return (
            f"there is no kernel {wanted!r}: the image has no kernels (a template needs a name "
            "such as 'fill<float>', so that it is instantiated)"
        )
    import difflib

    names = sorted({signature.display for signature in signatures})
    candidates = {name: name for name in names}
    candidates |= {signature.name: signature.display for signature in signatures}
    close = difflib.get_close_matches(wanted, candidates, 1)
    part = [] if parts else _by_part(signatures, squeeze(wanted))
    hint = ""
    if close:
        hint = f"; did you mean {candidates[close[0]]!r}?"
    elif len(part) == 1:
        hint = f'; did you mean {part[0].display!r}? Launch(kernel="{wanted}") finds it'
    if len(names) > _MOST_LISTED:
        names[_MOST_LISTED:] = [f"... and {len(names) - _MOST_LISTED} more"]
    return f"there is no kernel {wanted!r} in the image{hint}; it has: {', '.join(names)}"


def _same_types(params: tuple[Param, ...], declared: tuple[Param, ...]) -> bool:
    return [_identity(x.type) for x in params] == [
        _identity(x.type) for x in declared[: len(params)]
    ]


def _same_sizes(signature: KernelSignature, declared: tuple[Param, ...]) -> bool:
    """Whether the image's sizes are those of declared parameters, as far as those are known."""
    slots = signature.kernel.params
    declared = declared[: len(slots)]
    return len(slots) == len(declared) and all(
        param.type.size in (None, slot.size) for param, slot in zip(declared, slots, strict=True)
    )


def _identity(declared: CxxType) -> tuple[object, ...]:
    """Return what tells overloads apart, however a type is spelled (`long` or `int64_t`)."""
    pointee = declared.pointee
    if pointee is None:
        text = declared.text if declared.kind == "struct" else ""
        return (declared.kind, text, declared.scalar, declared.size if not text else None)
    const = pointee.text.startswith("const ")
    return (const, pointee.dtypes or pointee.text.removeprefix("const "), pointee.align)
