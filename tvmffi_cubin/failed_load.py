"""`load_again`, `load_failure`: what to do, and to say, where a shared object does not load."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .cudart import bring
from .demangle import demangle
from .errors import BuildError
from .executable import is_noexec
from .forwarders import remedies

if TYPE_CHECKING:
    import tvm_ffi

__all__ = ["load_again", "load_failure"]

# How many undefined symbols an error's text explains.
_NAMED = 8

_UNDEFINED = re.compile(r"undefined symbol: ([^\s,]+)")


def load_again(load: Callable[[], tvm_ffi.Module], message: str, so: str) -> tvm_ffi.Module:
    """Load what failed to load for want of a library that can be brought.

    Parameters
    ----------
    load : callable
        Tries it once more.
    message : str
        What the dynamic loader said.
    so : str
        The shared object.

    Raises
    ------
    BuildError
        It does not load.
    OSError
        It is not there.
    """
    os.stat(so)  # a file that is not there says so best itself
    if not bring(message):
        raise load_failure(message, so) from None
    try:
        return load()
    except RuntimeError as error:
        raise load_failure(str(error), so) from None


def load_failure(message: str, so: str | os.PathLike[str]) -> BuildError:
    """Return the error for a shared object that does not load, for want of a symbol or otherwise.

    Parameters
    ----------
    message : str
        What the dynamic loader said.
    so : path-like
        The shared object.
    """
    names = list(dict.fromkeys(_UNDEFINED.findall(message)))
    path = os.fspath(so)
    if names:
        lines = remedies(list(map(demangle, names[:_NAMED])))
        why = "undefined symbols:\n" + "\n".join(f"  {line}" for line in lines)
    else:
        remedy = "It is damaged, or not a shared object, or lacks a library: build it again"
        if is_noexec(path):
            remedy = "Its file system is mounted noexec: put it on another"
        why = f"{message}\n{remedy}"
    return BuildError(
        f"{path} does not load: {why}",
        command=f"dlopen {path}",
        output=message,
        directory=os.path.dirname(path),
    )
