"""Itanium C++ symbol names as readable text, through the C++ runtime's own demangler."""

from __future__ import annotations

import ctypes
from functools import lru_cache

from .errors import ToolchainError

__all__ = ["demangle"]


@lru_cache(maxsize=1)
def _runtime() -> tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer]:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError as error:
        raise ToolchainError(
            f"the C++ runtime libstdc++.so.6 cannot be opened ({error}); "
            "install it, for example with `apt install libstdc++6`"
        ) from error
    function = library.__cxa_demangle
    # Not c_char_p: ctypes would turn it to bytes and the buffer could no longer be freed.
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]
    return function, free


def demangle(name: str) -> str:
    """Return the readable form of a symbol, the name itself where it is not a mangled one."""
    # Type names are mangled too: without this test, `f` would come back as `float`.
    if not name.startswith("_Z"):
        return name
    function, free = _runtime()
    try:
        encoded = name.encode("ascii")
    except UnicodeEncodeError:
        return name
    status = ctypes.c_int()
    buffer = function(encoded, None, None, ctypes.byref(status))
    if not buffer:
        return name
    try:
        return ctypes.string_at(buffer).decode("utf-8", "replace")
    finally:
        free(buffer)
