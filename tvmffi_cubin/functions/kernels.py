"""`Kernels`: finds the kernels that launches name, with the parameters that launches declare."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from ..device.image import Image, KernelSignature, agrees, check
from ..kernels.cubin import Kernel
from ..kernels.demangle import squeeze
from ..kernels.types import Param, parse_params, parse_type
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import told

_MOST_LISTED = 20


class Kernels:
    """The kernels of all images, some of which are kept in `files`, by every name they go by."""

    def __init__(self, images: Sequence[Image], files: Collection[str], bound: list[Param]) -> None:
        # `bound` are the trailing parameters of every kernel, which the module binds.
        self._images, self._files = [x.name for x in images], files
        problems = (f"; image {x.name!r}: {x.problem}" for x in images if x.problem)
        self._problems = "".join(problems)  # why there may be more kernels, for messages
        self.every: list[KernelSignature] = []
        # By symbol and full name; by name without namespaces or template arguments.
        self._whole: dict[str, list[KernelSignature]] = {}
        self._ends: dict[str, list[KernelSignature]] = {}
        for image in images:
            archs, expressions = image.archs(), defaultdict[str, list[str]](list)
            for expression, symbol in image.cubin.lowered_names.items():
                expressions[symbol].append(squeeze(expression))
            for signature in image.signatures:
                symbol, name = signature.kernel.name, signature.name
                kernel = signature._replace(image=image.name, archs=archs.get(symbol, ()))
                if bound:
                    kernel = _with_bound(kernel, bound)
                whole = squeeze(name.display)
                self.every.append(kernel)
                for key in {symbol, whole, *expressions[symbol]}:
                    self._whole.setdefault(key, []).append(kernel)
                for key in {name.qualified, name.short, name.short + whole[len(name.qualified) :]}:
                    self._ends.setdefault(key, []).append(kernel)

    def exported(self) -> list[KernelSignature]:
        """Return all kernels of the device sources or, if there are none, of all images."""
        found = [x for x in self.every if x.is_own] or self.every
        if not found:
            raise ValueError(
                "the image has no kernel; to instantiate a template, pass "
                f'functions={{"name": Launch(kernel="fill<float>", ...)}}{self._problems}'
            )
        for name, count in Counter(x.name.short for x in found).items():
            if count > 1 or not name.isidentifier():
                these = listed((x for x in found if x.name.short == name), "\n  ")
                raise ValueError(
                    f"cannot export all these kernels as {name!r}; name each, as in functions="
                    f'{{"one": Launch(kernel="...", image="...")}}:\n  {these}'
                )
        # In source order, not the image's; kernels from headers and macros come last.
        return sorted(found, key=lambda x: (x.place is None, x.place or 0))

    def find(self, function: str, launch: Launch) -> KernelSignature:
        """Return the kernel that a launch of a function refers to."""
        wanted = (launch.kernel or function).strip()
        declared = _declared(launch)
        alone = next(iter(self._files)) if len(self._files) == 1 and not self._images else ""
        if (image := launch.image or alone) in self._files:  # not read: the launch declares it
            sizes = tuple(param.type.size or 0 for param in declared)
            return KernelSignature(Kernel(wanted, sizes, 0, 0, 0, 1024), declared, image=image)
        if launch.image not in (None, *self._images):
            raise ValueError(f"unknown image {image!r}; available: {listed(self._images)}")
        name = squeeze(wanted).removeprefix("::")

        def named(kernels: Iterable[KernelSignature]) -> list[KernelSignature]:
            return [x for x in kernels if launch.image in (None, x.image)]

        found = named(self._whole.get(name, ())) or named(self._ends.get(name, ()))
        if not found and launch.kernel:
            found = _by_part([x for x in named(self.every) if not x.is_own], name)
        if not found:
            known = sorted({x.name.display for x in named(self.every)})
            raise ValueError(
                f"no __global__ function {wanted!r}; available: {listed(known)}; "
                f"for a template, name an instance: {wanted + '<float>'!r}{self._problems}"
            )
        if len(found) > 1 and launch.params is not None:
            found = [kernel for kernel in found if _fits(kernel, declared)] or found
        if len(found) > 1:
            these = listed(found, "\n  ")
            raise ValueError(
                f"kernel name {wanted!r} matches {len(found)} kernels:\n  {these}\nselect one by "
                "its symbol in brackets, its image= or its params="
            )
        return found[0]


def listed(names: Iterable[object], separator: str = ", ") -> str:
    """Join names into a list, which is cut short if it is long."""
    texts = [*map(str, names)]
    if len(texts) > _MOST_LISTED:
        texts[_MOST_LISTED:] = [f"... and {len(texts) - _MOST_LISTED} more"]
    return separator.join(texts) or "none"


def _with_bound(signature: KernelSignature, bound: Sequence[Param]) -> KernelSignature:
    """Return a kernel whose trailing parameters are bound, as `bound_params` declares them."""
    own, every = len(signature.params) - len(bound), [x.name for x in signature.params]
    last = signature.params[max(own, 0) :]
    pairs = [*zip(bound, last, strict=False)]
    # Parameters of one type in another order would be swapped.
    if own < 0 or any(x.name in every and x.name != real.name for x, real in pairs):
        names = listed(x.name for x in bound)
        raise ValueError(f"{signature} does not end with bound_params: {names}")
    typed = [x if x.type.text else x._replace(type=real.type) for x, real in pairs]
    with told(f"kernel {signature.name.display!r}"):
        checked = check(typed, signature._replace(params=last), "bound_params")
    return signature._replace(params=signature.params[:own], bound=checked)


def _by_part(kernels: Sequence[KernelSignature], part: str) -> list[KernelSignature]:
    """Return the kernels that a part of their name refers to."""
    found = [x for x in kernels if part in squeeze(x.name.display)]
    # Compilers append a number to further kernels, ``main_kernel_1``: prefer the first.
    numbered = re.compile(re.escape(part) + r"\w*?_[1-9]")
    plain = [x for x in found if not numbered.search(squeeze(x.name.display))]
    return plain if len(plain) == 1 else found


def _fits(signature: KernelSignature, declared: Sequence[Param]) -> bool:
    """Return whether declared parameters match a kernel's; there may be more of them."""
    pairs = zip(declared, signature.params, strict=False)
    is_all = len(declared) >= len(signature.params)
    return is_all and all(agrees(x.type, y.type) for x, y in pairs)


def _declared(launch: Launch) -> tuple[Param, ...]:
    """Return a launch's declared parameters; a tensor may be declared in place of its map."""
    args, map_type = launch.args or {}, parse_type("CUtensorMap")
    return tuple(
        x._replace(type=map_type) if isinstance(args.get(x.name), TensorMap) else x
        for x in parse_params(launch.params or "")
    )


def params_of(kernel: KernelSignature, launch: Launch) -> tuple[Param, ...]:
    """Return a kernel's parameters with the names and types that a launch declares."""
    if launch.params is None:
        # A number would be passed with the bits of another type.
        if kernel.place is not None and any(param.type.kind == "raw" for param in kernel.params):
            raise ValueError(f"NVRTC did not report the types of {kernel}: declare them in params=")
        return kernel.params
    declared = _declared(launch)
    by_name = {param.name: param for param in declared}
    needed = {param.name for param in kernel.params} - (launch.args or {}).keys()
    if needed <= by_name.keys():
        params = [by_name.get(param.name, param) for param in kernel.params]
    else:
        # A declaration may include the bound parameters, but need not.
        bound = [param.name for param in kernel.bound]
        params = [param for param in declared if param.name not in bound][: len(kernel.params)]
    return check(params, kernel, "params")
