"""`WithoutTools`: what a key needs of the tools where some are missing, and nothing is built."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from . import config, identity
from .cache.files import file_digest
from .cache.key import Key
from .cuda import libraries
from .errors import ToolchainError
from .host import toolchain
from .host.environment import compiler_environment
from .own_files import package_identity

__all__ = ["WithoutTools", "look_around"]


@dataclass(frozen=True)
class WithoutTools:
    """What there is in place of a `Toolset`.

    Attributes
    ----------
    identities : mapping of str to str
        What is no tool and still part of the key.
    roots : mapping of str to str
        As those of a `Toolset`, as far as the folders are here.
    options : tuple of str
        What ``CXX`` and ``CC`` say after the compilers.
    """

    identities: Mapping[str, str]
    roots: Mapping[str, str]
    options: tuple[str, ...]

    def add_to(self, key: Key) -> None:
        """Add to a key what a `Toolset` does, but for the tools."""
        for label, text in self.identities.items():
            key.add(label, text)
        key.add("environment", compiler_environment())


def look_around(*, needs_c: bool) -> WithoutTools:
    """Return what is here; spawns no process.

    Raises
    ------
    ToolchainError
        tvm-ffi or this package's own headers are missing; or ``CXX`` or ``CC`` names a compiler
        that is.
    """
    paths, include = toolchain.tvm_ffi_paths(), toolchain.include_dir()
    library = str(paths.library)
    roots = {"$TVM_FFI": str(paths.include), "$TVMFFI_CUBIN": str(include)}
    with contextlib.suppress(ToolchainError, ValueError):
        roots.update(libraries.find_cuda().roots)
    identities = {
        "tvm_ffi": identity.remember(library, lambda: file_digest(library), what="digest"),
        "own_files": package_identity(),
    }
    # One that is named and missing is a mistake, and no machine without compilers.
    cxx = toolchain.find_host_compiler().options if config.get("CXX") else ()
    identities["CXX"] = "\n".join(cxx)
    c: tuple[str, ...] = ()
    if needs_c:
        c = toolchain.find_c_compiler().options if config.get("CC") else ()
        identities["CC"] = "\n".join(c)
    return WithoutTools(identities, roots, (*cxx, *c))
