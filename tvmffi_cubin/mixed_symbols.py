"""Which kernels of the device image the stubs of host code stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from . import host_instances
from .cache.entry import Entry
from .device.image import Image
from .host_instances import Instance, named_outside
from .kernels.demangle import function_name
from .split import Split

__all__ = ["asked_names", "declared_names", "kernel_symbols"]


def asked_names(host: Entry, cut: Split) -> dict[Instance, str]:
    """Return the kernels that the object of host code uses, and how NVRTC is asked for each.

    Raises
    ------
    ToolchainError, ValueError
        See `host_instances.named`.
    """
    overloaded = Counter(kernel.name for kernel in cut.kernels)
    bound = {kernel.name: kernel.bound for kernel in cut.kernels}
    names = {}
    for instance in host_instances.named(host.facts["stubs"]):
        names[instance] = instance.expression
        if overloaded[instance.qualified] > 1:
            names[instance] = _with_bound(instance, bound[instance.qualified]).cast
    return names


def declared_names(cut: Split) -> frozenset[str]:
    """Return what mixed sources and their headers declare, without namespaces."""
    return frozenset(name for _, item, _ in cut.decided.nodes for name in item.names)


def _with_bound(instance: Instance, types: tuple[str, ...]) -> Instance:
    """Return an instance with the parameters that it has in device code alone."""
    if instance.params is None:
        return instance
    return instance._replace(params=(*instance.params, *types))


def kernel_symbols(
    device: Image, asked: Mapping[Instance, str], bound: Collection[str] = ()
) -> dict[str, str]:
    """Return the symbols of the kernels that stubs stand for, as far as the image has them.

    Parameters
    ----------
    device : Image
        The image.
    asked : mapping of Instance to str
        What `asked_names` returned.
    bound : collection of str
        The kernels' last parameters, which stubs have not.
    """
    named = {}
    for kernel in device.cubin.kernels:
        name = function_name(kernel.name)
        params = None if name.params is None else tuple(map(named_outside, name.params))
        own = params and params[: len(params) - len(bound)]
        named[name.display, own] = kernel.name
    lowered = device.cubin.lowered_names
    found = {
        instance.stub: lowered.get(name) or named.get((instance.expression, instance.params))
        for instance, name in asked.items()
    }
    return {stub: symbol for stub, symbol in found.items() if symbol}
