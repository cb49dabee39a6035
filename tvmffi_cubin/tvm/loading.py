"""`load` and `build`: from a CUDA module of TVM's to a module of functions."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .cuda_module import CudaModule, read_module
from .made_launch import made_launches

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["build", "load"]

Source = CudaModule | str | bytes | os.PathLike[str]


def load(
    source: Source,
    *,
    name: str | None = None,
    arch: str | Sequence[str] | None = None,
    ptx: str | None = None,
    bound_params: Sequence[Any] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    keep_module_alive: bool = True,
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
    arch, ptx, bound_params, build_directory, keep_module_alive
        As in `tvmffi_cubin.load_inline`.

    Raises
    ------
    OSError, TypeError, ValueError
        As in `read_module`, `FunctionTable.launches` and `tvmffi_cubin.load_inline`.
    """
    from ..inline import load_inline

    module = source if isinstance(source, CudaModule) else read_module(source)
    return load_inline(
        name or module.name,
        arch=arch,
        ptx=ptx,
        bound_params=bound_params,
        build_directory=build_directory,
        keep_module_alive=keep_module_alive,
        **_contents(module),
    )


def build(
    source: Source,
    *,
    name: str | None = None,
    output: str | os.PathLike[str] | None = None,
    arch: str | Sequence[str] | None = None,
    ptx: str | None = None,
    bound_params: Sequence[Any] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
) -> str:
    """Build what `load` would load, without loading it.

    Parameters
    ----------
    source, name
        As in `load`.
    output, arch, ptx, bound_params, build_directory
        As in `tvmffi_cubin.build_inline`.

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

    module = source if isinstance(source, CudaModule) else read_module(source)
    return build_inline(
        name or module.name,
        output=output,
        arch=arch,
        ptx=ptx,
        bound_params=bound_params,
        build_directory=build_directory,
        **_contents(module),
    )


def _contents(module: CudaModule) -> dict[str, Any]:
    """Return the functions and the code as `load_inline` takes them."""
    if module.format == "cuda":
        try:
            source = module.code.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{module.name}: its code, source text, is no UTF-8: {error}"
            ) from None
        # A source's parameters are found by their names, a table's are told by their places.
        taken = set(re.findall(r"\w+", source, flags=re.ASCII))
        return {"functions": made_launches(module.table.values(), taken), "cuda_sources": source}
    # The name of the image is the module's, as C can have it.
    plain = re.sub(r"\W", "_", module.name, flags=re.ASCII)
    name = plain if plain.isidentifier() else f"_{plain}"
    return {"functions": module.table.launches(), "embed_cubin": {name: module.code}}
