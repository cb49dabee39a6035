"""`Kernels`: those of all images, as launches name them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..image import Image
from ..kernels.demangle import demangle
from ..kernels.types import Param
from ..launches.launch import Launch
from ..probe import squeeze
from ..scan import scan
from ..source import DEVICE_IMAGE
from .function import KernelRef, contradicts
from .signature import KernelSignature, signature_text, suggestion

_Found = tuple[Image, KernelSignature]

_MOST_LISTED = 20


class Kernels:
    """The kernels of all images by every way of naming them; `sources` are the device's texts."""

    def __init__(self, images: Sequence[Image], sources: Sequence[str] = ()) -> None:
        self.images = images
        self.sources = sources
        self.every: list[_Found] = [(image, s) for image in images for s in image.signatures]
        # Symbols, name expressions, names with all that belongs to them, and ends of those.
        self._ways: list[dict[str, list[_Found]]] = [{} for _ in range(5)]
        symbols, expressions, displays, qualified, ends = self._ways
        for found in self.every:
            signature = found[1]
            arguments = squeeze(signature.display[len(signature.qualified) :])
            name = squeeze(signature.qualified)
            symbols.setdefault(signature.symbol, []).append(found)
            displays.setdefault(name + arguments, []).append(found)
            qualified.setdefault(name, []).append(found)
            tails = {signature.name}
            while name := name.partition("::")[2]:
                tails |= {name, name + arguments}
            for tail in tails:
                ends.setdefault(tail, []).append(found)
        for image in images:
            for name, symbol in image.cubin.lowered_names.items():
                of_image = [x for x in symbols.get(symbol, ()) if x[0] is image]
                expressions.setdefault(squeeze(name), []).extend(of_image)

    def find(self, wanted: str, image: str | None = None, *, parts: bool = False) -> list[_Found]:
        """Return the matches of the first way of naming that has any, the most exact way first."""
        name = squeeze(wanted).removeprefix("::")
        for way in self._ways:
            if found := [x for x in way.get(name, ()) if image in (None, x[0].name)]:
                return found
        every = [x for x in self.every if image in (None, x[0].name)]
        # A template that has no instance is not another kernel, in whose name its own is.
        if not parts or (image in (None, DEVICE_IMAGE) and self._in_sources(wanted.strip())):
            return []
        return _by_part(every, name)

    def _in_sources(self, name: str) -> bool:
        kernels = (kernel for text in self.sources for kernel in scan(text).kernels)
        return any(name in (kernel.name, kernel.qualified) for kernel in kernels)

    def choose(self, function: str, launch: Launch, declared: Sequence[Param] | None) -> KernelRef:
        """Return the kernel that a launch of a function stands for."""
        wanted, images = launch.kernel or function, self.images
        if launch.image is not None:
            images = [image for image in images if image.name == launch.image]
            if not images:
                known = ", ".join(repr(image.name) for image in self.images) or "none"
                raise ValueError(f"there is no image {launch.image!r}; there are {known}")
        # What cannot be read may have a kernel of that very name.
        unread = [f"image {image.name!r}: {image.problem}" for image in images if image.problem]
        found = self.find(wanted, launch.image, parts=launch.kernel is not None and not unread)
        if not found:
            raise ValueError("; ".join([self._no_match(wanted, images), *unread]))
        if len(found) > 1 and declared is not None:
            found = [x for x in found if _has_sizes(x[1], declared)] or found
            found = [x for x in found if _has_types(x[1], declared)] or found
        image, signature = found[0]
        if len({x.symbol for _, x in found}) > 1:
            raise ValueError("; ".join([_ambiguous(wanted, found), *unread]))
        if len(found) > 1:
            names = ", ".join(repr(image.name) for image, _ in found)
            raise ValueError(
                f"kernel {demangle(signature.symbol)} is in {len(found)} images, {names}: say "
                f"which is meant, as in Launch(image={image.name!r})"
            )
        if declared is None:
            signature.require()
        return KernelRef(image.name, signature, image.archs_with(signature.symbol))

    def _no_match(self, wanted: str, images: Sequence[Image]) -> str:
        signatures = [signature for image in images for signature in image.signatures]
        if not signatures:
            return (
                f"there is no kernel {wanted!r}: the image has no kernels (a template needs a name "
                "such as 'fill<float>', so that it is instantiated)"
            )
        import difflib

        candidates = {x.name: x.display for x in signatures} | {
            x.display: x.display for x in signatures
        }
        close = difflib.get_close_matches(wanted, candidates, 1)
        hint = f"; did you mean {candidates[close[0]]!r}?" if close else ""
        if self._in_sources(wanted):
            hint = f"; name an instance of the template, such as {wanted + '<float>'!r}"
        names = sorted({signature.display for signature in signatures})
        return f"there is no kernel {wanted!r} in the image{hint}; it has: {listed(names, ', ')}"


def listed(texts: Sequence[str], separator: str = "\n  ") -> str:
    """Return texts as a list that ends early where it is long."""
    rest = [f"... and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return separator.join([*texts[:_MOST_LISTED], *rest])


def _by_part(kernels: Sequence[_Found], part: str) -> list[_Found]:
    """Return the kernels that a part of their name or, where no name has it, symbol stands for."""
    for texts in ([squeeze(x.display) for _, x in kernels], [x.symbol for _, x in kernels]):
        found = [(x, text) for x, text in zip(kernels, texts, strict=True) if part in text]
        # Compilers put a number behind the name of further kernels, at its end or before types.
        numbered = re.compile(f"{re.escape(part)}_[0-9]")
        names = {text for _, text in found}
        bases = [
            x
            for x, text in found
            if not numbered.search(text)
            and ((base := re.sub("(_[0-9]+)+$", "", text)) == text or base not in names)
        ]
        if found:
            return bases or [x for x, _ in found]
    return []


def _has_sizes(signature: KernelSignature, declared: Sequence[Param]) -> bool:
    """Whether declared parameters have a kernel's sizes; more than it has are for expressions."""
    slots = signature.kernel.params
    pairs = zip(declared, slots, strict=False)
    return len(slots) <= len(declared) and all(p.type.size in (None, x.size) for p, x in pairs)


def _has_types(signature: KernelSignature, declared: Sequence[Param]) -> bool:
    """Whether a kernel's types are of the declared kinds, and point to the same."""
    pairs = zip(declared, signature.params, strict=False)
    return not any(contradicts(param.type, own.type) for param, own in pairs)


def _ambiguous(wanted: str, found: Sequence[_Found]) -> str:
    first = found[0][1]
    return (
        f"kernel name {wanted!r} stands for {len(found)} kernels:\n  "
        f"{listed([signature_text(x) for _, x in found])}\n"
        "name the one that is meant, if only by its symbol in brackets, or declare its parameters, "
        f"such as {suggestion(first.kernel, first.params)}"
    )
