"""`find`: what other tools have built of a request, for a machine that lacks some."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from .. import config
from ..cache import history, memo
from ..cache import store as caches
from ..cache.entry import Entry
from ..cache.files import file_digest
from ..cache.history import Built
from ..cache.key import Key
from ..cuda import libraries
from ..errors import ToolchainError
from ..host import toolchain
from ..host.environment import compiler_environment
from .module_key import module_key
from .package import package_identity
from .request import Request
from .tools import TOOLS

__all__ = ["find"]


def find(request: Request, archs: tuple[str, ...]) -> Entry | str:
    """Return an entry that was built from the same as a request asks for, or why there is none.

    Which compilers, assembler, linker and CUDA made it does not matter, nor whether the files that
    they read are here; one that is here and differs does. Spawns no process.

    Raises
    ------
    ToolchainError
        tvm-ffi or this package's own headers are missing; or ``CXX`` or ``CC`` names a compiler
        that is.
    """
    cache = caches.default(_roots())
    wanted = Built.of(module_key(request, archs, _here(needs_c=bool(request.files.c))), TOOLS)
    others = history.known(cache.folders, request.name)
    reasons = []
    for other in others:
        if other.purpose == wanted.purpose:
            found = cache.find(other.base_key, may_lack=True)
            if isinstance(found, Entry):
                return found
            reasons.append(found.reason)
    return reasons[0] if reasons else wanted.explain(others, without=TOOLS)


class _Here(NamedTuple):
    """What stands for a `Toolset` in a key: what of it is no tool."""

    identities: dict[str, str]
    options: tuple[str, ...]

    def add_to(self, key: Key) -> None:
        for label, text in self.identities.items():
            key.add(label, text)
        key.add("environment", compiler_environment())


def _here(*, needs_c: bool) -> _Here:
    library = str(toolchain.tvm_ffi_paths().library)
    identities = {
        "tvm_ffi": memo.remember(library, lambda: file_digest(library), what="digest"),
        "own_files": package_identity(),
    }
    # One that is named and missing is a mistake, and no machine without compilers.
    cxx = toolchain.find_host_compiler().options if config.get("CXX") else ()
    identities["CXX"] = "\n".join(cxx)
    c: tuple[str, ...] = ()
    if needs_c:
        c = toolchain.find_c_compiler().options if config.get("CC") else ()
        identities["CC"] = "\n".join(c)
    return _Here(identities, (*cxx, *c))


def _roots() -> dict[str, str]:
    """Return the roots of a `Toolset`, as far as the folders are here."""
    tvm_ffi, include = toolchain.tvm_ffi_paths().include, toolchain.include_dir()
    roots = {"$TVM_FFI": str(tvm_ffi), "$TVMFFI_CUBIN": str(include)}
    with contextlib.suppress(ToolchainError, ValueError):
        roots.update(libraries.find_cuda().roots)
    return roots
