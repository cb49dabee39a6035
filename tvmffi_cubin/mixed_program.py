"""`Program`: the mixed sources of one module, and where their headers are looked for."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MixedSource", "Program"]


class MixedSource(NamedTuple):
    """One source with kernels and host functions.

    Attributes
    ----------
    name : str
        What it is called in messages, such as ``"vec.cuda_0.cu"`` or a path.
    text : str
        The source.
    folder : str
        Where ``#include "x"`` in it looks first; empty: nowhere.
    """

    name: str
    text: str
    folder: str = ""


class Program(NamedTuple):
    """Mixed sources that are one translation unit a side, in order.

    Attributes
    ----------
    sources : tuple of MixedSource
        Each sees the macros and the names of those before it.
    include_dirs : tuple of str
        The user's include folders, in order, absolute. Headers in them are cut, too.
    device_dirs : tuple of str
        Folders that NVRTC searches after those: the shims', CUDA's. Headers in them are not cut.
    linked_dirs : tuple of str
        Where a quoted include is searched after the user's folders: beside what links lead to.
    host_dirs : tuple of str
        Folders whose headers are host code alone, such as tvm-ffi's, wherever else they are named.
    defines : tuple of (str, str)
        Macros of the command line, names and texts.
    launches_on_device : bool
        Whether kernels may launch kernels: CUDA's device runtime is linked.
    bound : tuple of str
        Names of the last parameters of all kernels, which the module binds and no launch passes.
    """

    sources: tuple[MixedSource, ...]
    include_dirs: tuple[str, ...] = ()
    device_dirs: tuple[str, ...] = ()
    host_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    linked_dirs: tuple[str, ...] = ()
    launches_on_device: bool = False
    bound: tuple[str, ...] = ()
