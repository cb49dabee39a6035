"""`Kernels`: those of all images, as launches name them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..device.signature import KernelSignature, check, contradicts
from ..kernels.cubin import Kernel
from ..kernels.demangle import function_name, squeeze
from ..kernels.types import Param, parse_params
from ..launches.launch import Launch
from ..launches.values import told
from ..sources import DEVICE_IMAGE
from .launch import as_map

if TYPE_CHECKING:
    from ..device.image import Image

_MOST_LISTED = 20


class Kernels:
    """The kernels of all images by every way of naming them.

    `has_sources` says whether one of the images is the device sources' own, `files` are the names
    of images that lie in files, and `bound` the last parameters of every kernel, which the module
    binds.
    """

    def __init__(
        self,
        images: Sequence[Image],
        *,
        has_sources: bool = False,
        files: Collection[str] = (),
        bound: Sequence[Param] = (),
    ) -> None:
        self.images, self.files, self.bound = images, files, bound
        self.own: list[KernelSignature] = []  # of the sources
        self.given: list[KernelSignature] = []
        # By symbol and whole name, by its end: the first that has a name says what is meant.
        self._named: list[dict[str, list[KernelSignature]]] = [defaultdict(list) for _ in range(2)]
        for image in images:
            archs, expressions = image.archs(), defaultdict(list)
            for expression, symbol in image.cubin.lowered_names.items():
                expressions[symbol].append(squeeze(expression))
            is_own = has_sources and image.name == DEVICE_IMAGE
            for signature in image.signatures:
                symbol = signature.kernel.name
                kernel = signature._replace(image=image.name, archs=archs.get(symbol, ()))
                if bound and not signature.from_library:
                    kernel = _with_bound(kernel, bound)
                (self.own if is_own else self.given).append(kernel)
                whole, ends = _names(kernel, expressions[symbol])
                for named, names in zip(self._named, (whole, ends - whole), strict=True):
                    for name in names:
                        named[name].append(kernel)

    @property
    def every(self) -> list[KernelSignature]:
        """All kernels."""
        return [*self.own, *self.given]

    def find(self, function: str, launch: Launch) -> KernelSignature:
        """Return the kernel that a launch of a function stands for."""
        wanted = (launch.kernel or function).strip()
        declared = None if launch.params is None else parse_params(launch.params)
        alone = next(iter(self.files)) if len(self.files) == 1 and not self.images else ""
        if (name := launch.image or alone) in self.files:
            return _in_file(name, wanted, launch, declared or ())
        images = {x.name: x for x in self.images if launch.image in (None, x.name)}
        if not images and launch.image is not None:
            known = ", ".join(repr(image.name) for image in self.images) or "none"
            raise ValueError(f"there is no image {launch.image!r}; there are {known}")
        unread = "".join(f"; image {x.name!r}: {x.problem}" for x in images.values() if x.problem)
        name, found = squeeze(wanted).removeprefix("::"), list[KernelSignature]()
        for named in self._named:
            found = found or [x for x in named.get(name, ()) if x.image in images]
        # Where images cannot be read, they may have a kernel of that very name.
        if not found and launch.kernel and not unread:
            found = _by_part([x for x in self.given if x.image in images], name)
        if not found:
            names = sorted({x.name.display for x in self.every if x.image in images})
            raise ValueError(
                f"there is no kernel {wanted!r} in the image; it has: {_cut(names, ', ')}; mark it "
                "__global__; for a template, name an instance: "
                f"Launch(kernel={wanted + '<float>'!r}){unread}"
            )
        if len(found) > 1 and declared is not None:
            fits = [_fits(x, declared) for x in found]
            found = [x for x, how in zip(found, fits, strict=True) if how == max(fits)]
        if len(found) > 1:
            raise ValueError(
                f"kernel name {wanted!r} stands for {len(found)} kernels:\n  {listed(found)}\nname "
                "the one that is meant, by its symbol in brackets, by image= or by the params= "
                f"that it takes{unread}"
            )
        return found[0]


def _names(kernel: KernelSignature, expressions: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return a kernel's symbol and whole names, and these without namespaces and arguments."""
    whole, base = squeeze(kernel.name.display), kernel.name.qualified
    ends = {base, kernel.name.short, kernel.name.short + whole[len(base) :]}
    return {kernel.kernel.name, whole, *expressions}, ends


def listed(found: Sequence[KernelSignature]) -> str:
    """Return kernels as a list that ends early where it is long."""
    return _cut([f"{x} in {x.image!r}" for x in found], "\n  ")


def _cut(texts: Sequence[str], separator: str) -> str:
    rest = [f"... and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return separator.join([*texts[:_MOST_LISTED], *rest]) or "none"


def _with_bound(signature: KernelSignature, bound: Sequence[Param]) -> KernelSignature:
    """Return a kernel whose last parameters have the types that `bound_params` declares."""
    every, names = [x.name for x in signature.params], tuple(x.name for x in bound)
    own = len(every) - len(bound)
    last = signature.params[max(own, 0) :]
    # Of one type, those in another order would be mixed up.
    in_order = not signature.names_known or all(
        name == real.name or name not in every for name, real in zip(names, last, strict=False)
    )
    if own < 0 or not in_order:
        raise ValueError(
            f"bound_params are the last parameters of every kernel, in order: got "
            f"{', '.join(names)}, kernel {signature.name.display} ends with "
            f"{', '.join(every[max(own, 0) :]) or 'none'}"
        )
    params = [*signature.params[:own]]
    for real, declared in zip(last, bound, strict=True):
        name = real.name if signature.names_known else declared.name
        type_ = declared.type if declared.type.text else real.type
        params.append(Param(name, type_, declared.ndim))
    with told(f"kernel {signature.name.display!r}"):
        return signature._replace(params=check(params, signature, "bound_params"), bound=names)


def _in_file(image: str, wanted: str, launch: Launch, declared: Sequence[Param]) -> KernelSignature:
    """Return a kernel of an image in a file, as its launch declares it."""
    params = tuple(as_map(launch, param) for param in declared)
    for param in params:
        if param.type.size is None:
            raise ValueError(
                f"params declares '{param.type.text} {param.name}', a type of unknown size, for a "
                f"kernel in the file of image {image!r}"
            )
    sizes = tuple(param.type.size or 0 for param in params)
    kernel = Kernel(wanted, sizes, 0, 0, 0, 1024)
    return KernelSignature(kernel, function_name(wanted), params, image=image)


def _by_part(kernels: Sequence[KernelSignature], part: str) -> list[KernelSignature]:
    """Return the kernels that a part of their name or, where no name has it, symbol stands for.

    Compilers number further kernels behind the name, ``main_kernel_1``: the first is meant.
    """
    named = [(squeeze(x.name.display), x) for x in kernels]
    if not any(part in name for name, _ in named):
        named = [(x.kernel.name, x) for x in kernels]
    found = [(name, x) for name, x in named if part in name]
    plain = [x for name, x in found if not re.search(re.escape(part) + r"\w*?_[1-9]", name)]
    return plain if len(plain) == 1 else [x for _, x in found]


def _fits(signature: KernelSignature, declared: Sequence[Param]) -> tuple[bool, bool]:
    """Whether declared parameters, which may be more, have a kernel's sizes; its kinds of types."""
    own = signature.kernel.param_sizes
    sizes = [x.type.size in (None, size) for x, size in zip(declared, own, strict=False)]
    both = zip(declared, signature.params, strict=False)
    kinds = not any(contradicts(x.type, y.type) for x, y in both)
    return len(sizes) == len(own) and all(sizes), kinds
