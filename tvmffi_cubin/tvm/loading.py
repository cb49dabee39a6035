"""`load` and `build`: from a CUDA module of TVM's to a module of functions."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from .cuda_module import CudaModule, read_module

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["build", "load"]

_OWN = ("functions", "embed_cubin", "cuda_sources")


def load(
    source: CudaModule | str | bytes | os.PathLike[str], *, name: str | None = None, **options: Any
) -> Module:
    """Load the functions of a CUDA module of TVM's, with no TVM.

    Each function takes what TVM's takes: the kernel's arguments, then the values of its launch.

    Parameters
    ----------
    source : CudaModule, path or bytes
        The module, or what `read_module` reads: ``"k.cubin"``, beside which ``k.tvm_meta.json``
        lies.
    name : str, optional
        The module's name. Default: the file's, without its suffix.
    **options
        As in `tvmffi_cubin.load_inline`.

    Raises
    ------
    OSError, TypeError, ValueError
        As in `read_module`, `FunctionTable.launches` and `tvmffi_cubin.load_inline`.
    """
    from ..inline import load_inline

    module = _module(source)
    return load_inline(name or module.name, **_arguments("load", module, options))


def build(
    source: CudaModule | str | bytes | os.PathLike[str], *, name: str | None = None, **options: Any
) -> str:
    """Build what `load` would load, without loading it.

    Parameters
    ----------
    source, name
        As in `load`.
    **options
        As in `tvmffi_cubin.build_inline`, ``output`` among them.

    Returns
    -------
    str
        Path of the shared object.

    Raises
    ------
    OSError, TypeError, ValueError
        As in `load`.
    """
    from ..inline import build_inline

    module = _module(source)
    return build_inline(name or module.name, **_arguments("build", module, options))


def _module(source: Any) -> CudaModule:
    return source if isinstance(source, CudaModule) else read_module(source)


def _arguments(function: str, module: CudaModule, options: dict[str, Any]) -> dict[str, Any]:
    for given in _OWN:
        if given in options:
            raise TypeError(f"tvm.{function}() takes no {given}: the module has its own")
    own: dict[str, Any] = {"functions": module.table.launches()}
    if module.format == "cuda":
        own["cuda_sources"] = module.code.decode()
    else:
        own["embed_cubin"] = {_identifier(module.name): module.code}
    return {**own, **options}


def _identifier(name: str) -> str:
    """Return the name of the image: that of the module, as C can have it."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain.isidentifier() else f"_{plain}"
