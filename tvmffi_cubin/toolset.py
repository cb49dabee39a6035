"""`Toolset`: everything that one build uses, found together, and what of it belongs in its key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import identity, toolchain
from .environment import compiler_environment
from .toolchain import Cuda, HostCompiler, TvmFfiPaths

__all__ = ["Toolset", "find"]


@dataclass(frozen=True)
class Toolset:
    """The tools of a build.

    Attributes
    ----------
    compiler : HostCompiler
        The host C++ compiler.
    compiler_identity : str
        Its version and target.
    tvm_ffi : TvmFfiPaths
        tvm-ffi's headers and library.
    tvm_ffi_identity : str
        Digest of tvm-ffi's library.
    include : Path
        This package's own headers.
    cuda : Cuda or None
        The CUDA wheels; None for a build that needs nothing of CUDA.
    """

    compiler: HostCompiler
    compiler_identity: str
    tvm_ffi: TvmFfiPaths
    tvm_ffi_identity: str
    include: Path
    cuda: Cuda | None

    @property
    def roots(self) -> Mapping[str, str]:
        """Tokens for the folders whose place on this machine must not matter to the cache."""
        roots = {"$TVM_FFI": str(self.tvm_ffi.include), "$TVMFFI_CUBIN": str(self.include)}
        if self.cuda is not None:
            roots["$CUDA"] = str(self.cuda.include)
            if self.cuda.cccl is not None:
                roots["$CCCL"] = str(self.cuda.cccl)
        return roots

    @property
    def versions(self) -> dict[str, str]:
        """What of the tools changes what they make."""
        versions = {
            "host_compiler": self.compiler_identity,
            "tvm_ffi": self.tvm_ffi_identity,
            "cuda": "" if self.cuda is None else self.cuda.identity,
        }
        versions.update(compiler_environment())
        return versions

    @property
    def cuda_include_dirs(self) -> tuple[str, ...]:
        """CUDA's header folders, none for a build without CUDA."""
        return () if self.cuda is None else tuple(map(str, self.cuda.include_dirs))


def find(*, needs_cuda: bool) -> Toolset:
    """Find the tools; spawns a process only where a tool is new to this user.

    Raises
    ------
    ToolchainError
        One is missing; the message says how to install it.
    """
    compiler = toolchain.find_host_compiler()
    paths = toolchain.tvm_ffi_paths()
    compiler_identity, tvm_ffi_identity = _identify(compiler, paths.library)
    return Toolset(
        compiler=compiler,
        compiler_identity=compiler_identity,
        tvm_ffi=paths,
        tvm_ffi_identity=tvm_ffi_identity,
        include=toolchain.include_dir(),
        cuda=toolchain.find_cuda() if needs_cuda else None,
    )


def _identify(compiler: HostCompiler, library: Path) -> tuple[str, str]:
    """Return the compiler's identity and tvm-ffi's; asked for together, for one memo is read."""

    def ask() -> str:
        return f"{_digest(library)}\n{toolchain.identify_host_compiler(compiler)}"

    # Of a compiler's command several programs may count, such as a launcher: all are stat'ed.
    command = "\0".join(compiler.command)
    text = identity.remember((*compiler.files, library), ask, what=f"tools\0{command}")
    digest, _, version = text.partition("\n")
    # All arguments: what an option takes may be a word of its own, as in -D X=1.
    return "\n".join((version, *compiler.arguments)), digest


def _digest(path: Path) -> str:
    from .key import file_digest

    return file_digest(os.fspath(path))
