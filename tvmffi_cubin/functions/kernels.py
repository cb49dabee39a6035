"""`Kernels`: those of all images, as launches name them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ..device.signature import KernelSignature, signature_text
from ..kernels.cubin import Kernel
from ..kernels.demangle import function_name
from ..kernels.types import Param, parse_params
from ..launches.launch import Launch
from .exported import Exported, contradicts
from .launch import as_map
from .plan import KernelRef

if TYPE_CHECKING:
    from ..device.image import Image

_MOST_LISTED = 20
_MOST_THREADS = 1024


class Kernels:
    """The kernels of all images by every way of naming them.

    `sources` are the texts that the device's own image was compiled from, `files` the names of
    images that lie in files, and `trailing` the last parameters of every kernel.
    """

    def __init__(
        self,
        images: Sequence[Image],
        *,
        sources: Sequence[str] = (),
        files: Collection[str] = (),
        trailing: Sequence[Exported] = (),
    ) -> None:
        self.images, self.sources, self.files = images, sources, files
        self.trailing = tuple(trailing)
        self.every: list[KernelRef] = []
        # With how exact each name is: 0 is a symbol.
        self._named: dict[str, list[tuple[int, KernelRef]]] = defaultdict(list)
        for image in images:
            archs, expressions = image.archs(), defaultdict(list)
            for expression, symbol in image.cubin.lowered_names.items():
                expressions[symbol].append(_squeezed(expression))
            for known in image.signatures:
                bound = () if known.from_library else self.trailing
                signature = _with_types(known, bound) if bound else known
                ref = KernelRef(image.name, signature, archs.get(known.kernel.name, ()), bound)
                self.every.append(ref)
                for rank, name in _names(signature, expressions[known.kernel.name]):
                    self._named[name].append((rank, ref))

    def choose(self, function: str, launch: Launch) -> KernelRef:
        """Return the kernel that a launch of a function stands for."""
        wanted = (launch.kernel or function).strip()
        declared = None if launch.params is None else parse_params(launch.params)
        alone = next(iter(self.files)) if len(self.files) == 1 and not self.images else ""
        if (name := launch.image or alone) in self.files:
            return _in_file(name, wanted, launch, declared or ())
        images = [x for x in self.images if launch.image in (None, x.name)]
        if launch.image is not None and not images:
            known = ", ".join(repr(image.name) for image in self.images) or "none"
            raise ValueError(f"there is no image {launch.image!r}; there are {known}")
        unread = "".join(f"; image {x.name!r}: {x.problem}" for x in images if x.problem)
        name, among = _squeezed(wanted).removeprefix("::"), {image.name for image in images}
        named = [(rank, x) for rank, x in self._named.get(name, ()) if x.image in among]
        best = min((rank for rank, _ in named), default=0)
        found = [x for rank, x in named if rank == best]
        # Where images cannot be read, they may have a kernel of that very name. A template that
        # has no instance is not another kernel, in whose name its own is.
        if not found and launch.kernel and not unread and not self._in_sources(wanted):
            found = _by_part([x for x in self.every if x.image in among], name)
        if not found:
            raise ValueError(_no_match(wanted, images) + unread)
        if len(found) > 1 and declared is not None:
            fits = [_fits(x.signature, declared) for x in found]
            found = [x for x, how in zip(found, fits, strict=True) if how == max(fits)]
        if len(found) > 1:
            raise ValueError(
                f"kernel name {wanted!r} stands for {len(found)} kernels:\n  {listed(found)}\nname "
                "the one that is meant, by its symbol in brackets, by image= or by the params= "
                f"that it takes{unread}"
            )
        if declared is None:
            found[0].signature.require()
        return found[0]

    def _in_sources(self, name: str) -> bool:
        from ..sources.facts import read

        kernels = (kernel for text in self.sources for kernel in read(text).kernels)
        return any(name in (kernel.name, kernel.qualified) for kernel in kernels)


def listed(found: Sequence[KernelRef]) -> str:
    """Return kernels as a list that ends early where it is long."""
    return _cut([f"{signature_text(x.signature)} in {x.image!r}" for x in found], "\n  ")


def _cut(texts: Sequence[str], separator: str) -> str:
    rest = [f"... and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return separator.join([*texts[:_MOST_LISTED], *rest])


def _squeezed(text: str) -> str:
    """Return text without spaces, for comparing names however they were written."""
    return "".join(text.split())


def _names(signature: KernelSignature, expressions: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the names of a kernel: symbol, whole name, without arguments, without namespaces."""
    symbol, known = signature.kernel.name, signature.name
    yield 0, symbol
    if known.display == symbol and not expressions:
        return
    name = end = _squeezed(known.qualified)
    arguments = _squeezed(known.display[len(known.qualified) :])
    ends = {known.short}
    while end := end.partition("::")[2]:
        ends |= {end, end + arguments}
    for rank, names in enumerate(({name + arguments, *expressions}, (name,), ends), 1):
        yield from ((rank, x) for x in names)


def _no_match(wanted: str, images: Sequence[Image]) -> str:
    import difflib

    names = {x.name.display: x.name.short for image in images for x in image.signatures}
    close = difflib.get_close_matches(wanted, [*names, *names.values()], 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return (
        f"there is no kernel {wanted!r} in the image{hint}; it has: "
        f"{_cut(sorted(names), ', ') or 'none'}; of a template name an instance, such as "
        f"{wanted + '<float>'!r}"
    )


def _with_types(signature: KernelSignature, trailing: Sequence[Exported]) -> KernelSignature:
    """Return a kernel whose last parameters have the types that `bound_params` declares."""
    own = len(signature.kernel.param_sizes) - len(trailing)
    last = signature.params[max(own, 0) :]
    # Of one type, those in another order would be mixed up.
    in_order = not signature.names_known or all(
        given.name == real.name or given.name not in [x.name for x in signature.params]
        for given, real in zip(trailing, last, strict=False)
    )
    if own < 0 or not in_order:
        raise ValueError(
            f"bound_params are the last parameters of every kernel, in order: got "
            f"{', '.join(x.name for x in trailing)}, kernel {signature.name.display} ends with "
            f"{', '.join(x.name for x in last) or 'none'}"
        )
    params = [*signature.params]
    for index, (real, given) in enumerate(zip(last, trailing, strict=False), own):
        type_ = given.type if given.type.text else real.type
        differs = not signature.opaque and contradicts(type_, real.type)
        if differs or type_.size not in (None, real.type.size):
            raise ValueError(
                f"bound_params declares {given.declaration!r}, kernel {signature.name.display} has "
                f"'{real.type.text} {real.name}' of {real.type.size} bytes"
            )
        name = real.name if signature.names_known else given.name
        params[index] = Param(name, type_._replace(size=real.type.size))
    return signature._replace(params=tuple(params))


def _in_file(image: str, wanted: str, launch: Launch, declared: Sequence[Param]) -> KernelRef:
    """Return a kernel of an image in a file, as its launch declares it."""
    params = tuple(as_map(launch, param) for param in declared)
    for param in params:
        if param.type.size is None:
            raise ValueError(
                f"params declares '{param.type.text} {param.name}', a type of unknown size, and "
                f"image {image!r} is a file of its own, which is seen only when it is loaded"
            )
    sizes = tuple(param.type.size or 0 for param in params)
    kernel = Kernel(wanted, sizes, 0, 0, 0, _MOST_THREADS)
    signature = KernelSignature(kernel, function_name(wanted), params, opaque=True)
    return KernelRef(image, signature)


def _by_part(kernels: Sequence[KernelRef], part: str) -> list[KernelRef]:
    """Return the kernels that a part of their name or, where no name has it, symbol stands for.

    Compilers number further kernels behind the name, ``main_kernel_1``: the first is meant.
    """
    for names in (
        [_squeezed(x.signature.name.display) for x in kernels],
        [x.signature.kernel.name for x in kernels],
    ):
        found = [(name, x) for name, x in zip(names, kernels, strict=True) if part in name]
        numbered = re.escape(part) + r"\w*?_[1-9]"
        plain = [x for name, x in found if not re.search(numbered, name)]
        if found:
            return plain if len(plain) == 1 else [x for _, x in found]
    return []


def _fits(signature: KernelSignature, declared: Sequence[Param]) -> tuple[bool, bool]:
    """Whether declared parameters, which may be more, have a kernel's sizes; its kinds of types."""
    own = signature.kernel.param_sizes
    sizes = [x.type.size in (None, size) for x, size in zip(declared, own, strict=False)]
    both = zip(declared, signature.params, strict=False)
    kinds = not any(contradicts(x.type, y.type) for x, y in both)
    return len(sizes) == len(own) and all(sizes), kinds
