"""`Toolset`: everything that one build uses, found together, and what of it belongs in its key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from . import identity, toolchain
from .cuda_wheels import library_identity
from .environment import compiler_environment
from .key import Key, file_digest
from .toolchain import Cuda, HostCompiler, TvmFfiPaths

__all__ = ["GENERATORS", "Toolset", "find"]

# What shapes the text that is generated and compiled: the package's version may lag behind a change
# of these. Each is stat'ed on every cache hit, which takes 3 us.
GENERATORS = (
    "assumption_binding.py",
    "assumptions.py",
    "attribute_text.py",
    "bind.py",
    "bound.py",
    "bound_binding.py",
    "bound_params.py",
    "bound_text.py",
    "c_text.py",
    "carried.py",
    "codegen.py",
    "condition.py",
    "constant.py",
    "cxx_parser.py",
    "cxx_table.py",
    "cxx_type.py",
    "declared_kernel.py",
    "demangle.py",
    "dispatch_text.py",
    "dispatched.py",
    "exported.py",
    "exports.py",
    "every_kernel.py",
    "expr.py",
    "expression_text.py",
    "file_units.py",
    "forwarders.py",
    "function.py",
    "function_text.py",
    "host_unit.py",
    "image.py",
    "image_file_text.py",
    "job.py",
    "kernel_choice.py",
    "kernel_params.py",
    "kernel_signature.py",
    "launch.py",
    "launch_args.py",
    "launch_attributes.py",
    "launch_json.py",
    "launcher_object.py",
    "leading_includes.py",
    "map_binding.py",
    "map_extents.py",
    "module_slots.py",
    "ninja.py",
    "nvfatbin.py",
    "nvrtc_options.py",
    "pch_maker.py",
    "opaque.py",
    "plan.py",
    "probe.py",
    "scan.py",
    "scan_definitions.py",
    "scan_params.py",
    "scope.py",
    "scratch.py",
    "scratch_binding.py",
    "scratch_text.py",
    "signature.py",
    "source_facts.py",
    "source_text.py",
    "target_binding.py",
    "target_text.py",
    "tensor_map.py",
    "tensor_map_modes.py",
    "tensor_map_text.py",
    "trailing.py",
    "units.py",
    "templates/bound_export.cc.in",
    "templates/bound_table.cc.in",
    "templates/forwarders.cc.in",
    "templates/host.cc.in",
    "templates/image.s.in",
    "templates/image_file_export.cc.in",
    "templates/launcher.cc.in",
    "templates/launcher_dispatch.cc.in",
    "templates/launcher_export.cc.in",
    "templates/launcher_function.cc.in",
    "templates/manifest.s.in",
)
"""Files of this package, on whose content every key depends."""


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
    generator_identity : str
        Digest of what generates text here.
    include : Path
        This package's own headers.
    cuda : Cuda or None
        The CUDA wheels; None for a build that needs nothing of CUDA.
    libraries : tuple of str
        The further parts of them that this build uses: ``"nvfatbin"``, ``"nvjitlink"``.
    c_compiler : HostCompiler or None
        The host C compiler; None for a build without C.
    c_identity : str
        Its version and target.
    """

    compiler: HostCompiler
    compiler_identity: str
    tvm_ffi: TvmFfiPaths
    tvm_ffi_identity: str
    generator_identity: str
    include: Path
    cuda: Cuda | None
    libraries: tuple[str, ...] = ()
    c_compiler: HostCompiler | None = None
    c_identity: str = ""

    def using(self, part: str) -> Toolset:
        """Return these tools with a further part of the CUDA wheels."""
        return replace(self, libraries=tuple(sorted({*self.libraries, part})))

    @property
    def library_versions(self) -> dict[str, str]:
        """The builds of the further parts.

        Raises
        ------
        ToolchainError
            One is not installed.
        """
        if self.cuda is None:
            return {}
        cuda = self.cuda
        return {x: library_identity(x, cuda.major, cuda.require(x)) for x in self.libraries}

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
            "generator": self.generator_identity,
            "cuda": "" if self.cuda is None else self.cuda.identity,
        }
        if self.c_compiler is not None:
            versions["c_compiler"] = self.c_identity
        versions.update(compiler_environment())
        return versions

    @property
    def cuda_include_dirs(self) -> tuple[str, ...]:
        """CUDA's header folders, none for a build without CUDA."""
        return () if self.cuda is None else tuple(map(str, self.cuda.include_dirs))


def find(*, needs_cuda: bool, needs_c: bool = False) -> Toolset:
    """Find the tools; spawns a process only where a tool is new to this user.

    Parameters
    ----------
    needs_cuda, needs_c : bool
        Whether anything of CUDA's, and whether a C compiler is used.

    Raises
    ------
    ToolchainError
        One is missing; the message says how to install it.
    """
    compiler = toolchain.find_host_compiler()
    paths = toolchain.tvm_ffi_paths()
    compiler_identity, *digests = _identify(compiler, paths.library)
    c_compiler = toolchain.find_c_compiler() if needs_c else None
    return Toolset(
        compiler=compiler,
        compiler_identity=compiler_identity,
        tvm_ffi=paths,
        tvm_ffi_identity=digests[0],
        generator_identity=digests[1],
        include=toolchain.include_dir(),
        cuda=toolchain.find_cuda() if needs_cuda else None,
        c_compiler=c_compiler,
        c_identity=_identify_c(c_compiler) if c_compiler else "",
    )


def _identify_c(compiler: HostCompiler) -> str:
    what = "\0".join(("c", *compiler.command))
    version = identity.remember(
        compiler.files, lambda: toolchain.identify_host_compiler(compiler), what=what
    )
    return "\n".join((version, *compiler.arguments))


def _identify(compiler: HostCompiler, library: Path) -> tuple[str, str, str]:
    """Return the identities of compiler, tvm-ffi and generator; one memo holds all of them."""
    package = os.path.dirname(os.path.abspath(__file__))
    own = [f"{package}/{name}" for name in GENERATORS]

    def ask() -> str:
        generator = Key("generator").add("files", list(map(_digest, own))).hexdigest()
        version = toolchain.identify_host_compiler(compiler)
        return "\n".join((_digest(library), generator, version))

    # Of a compiler's command several programs may count, such as a launcher: all are stat'ed.
    command = "\0".join(compiler.command)
    text = identity.remember((*compiler.files, library, *own), ask, what=f"tools\0{command}")
    tvm_ffi, generator, version = text.split("\n", 2)
    # All arguments: what an option takes may be a word of its own, as in -D X=1.
    return "\n".join((version, *compiler.arguments)), tvm_ffi, generator


def _digest(path: str | Path) -> str:
    return file_digest(os.fspath(path))
