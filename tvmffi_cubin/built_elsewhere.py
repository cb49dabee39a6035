"""`find`: what other tools have built of a request, for a machine that lacks some."""

from __future__ import annotations

from .cache import history
from .cache import store as caches
from .cache.entry import Entry
from .cache.history import Built
from .module_key import module_key
from .request import Request
from .toolset import TOOLS
from .without_tools import look_around

__all__ = ["find"]


def find(request: Request, archs: tuple[str, ...]) -> Entry | str:
    """Return an entry that was built from the same as a request asks for, or why there is none.

    Which compilers, assembler, linker and CUDA made it does not matter, nor whether the files that
    they read are here; one that is here and differs does.

    Raises
    ------
    ToolchainError
        tvm-ffi or this package's own headers are missing; or ``CXX`` or ``CC`` names a compiler
        that is.
    """
    here = look_around(needs_c=bool(request.files.c))
    cache = caches.default(here.roots)
    wanted = Built.of(module_key(request, archs, here), TOOLS)
    others = history.known(cache.folders, request.name)
    reasons = []
    for other in others:
        if other.purpose == wanted.purpose:
            found = cache.find(other.base_key, may_lack=True)
            if isinstance(found, Entry):
                return found
            reasons.append(found.reason)
    return reasons[0] if reasons else wanted.explain(others, without=TOOLS)
