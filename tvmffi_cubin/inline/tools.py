"""`Toolset`: all tools of one build, found together, and the key of a request built with them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__, config
from ..cache.entry import Key
from ..cache.files import changed_ns, digest_of, file_digest, remember, stamp
from ..config import compiler_environment
from ..cuda import libraries
from ..cuda.libraries import Cuda
from ..errors import ToolchainError
from ..host.tools import (
    HostCompiler,
    HostTools,
    TvmFfiPaths,
    compiler_identity,
    find_host,
    identity_of,
    include_dir,
    native_cpu,
    on_path,
    tvm_ffi_paths,
)

if TYPE_CHECKING:
    from ..cache.entry import Product
    from ..cache.store import Cache
    from ..cuda.nvcc import Nvcc
    from ..host.inputs import Inputs
    from .request import Request

TOOLS = frozenset(("assembler", "cuda", "host_compiler", "linker", "nvcc", "nvfatbin"))
"""The fields of a key that identify the tools of a build, not what is built."""


class Build(NamedTuple):
    """A request that missed the cache, with the reason, and when the lookup started."""

    request: Request
    archs: tuple[str, ...]
    tools: Toolset
    cache: Cache
    key: Key
    reason: str
    start: float


class Toolset(NamedTuple):
    """The tools of a build; None for those that it does not need."""

    compiler: HostCompiler
    host: HostTools  # identities of the compiler, its assembler and its linker
    tvm_ffi: TvmFfiPaths
    builds: Mapping[str, str]  # identities of what else is used, by label in keys
    include: Path
    cuda: Cuda | None = None
    nvfatbin: str = ""  # the build of nvFatbin if used; torch does not install it
    nvcc: Nvcc | None = None
    missing: ToolchainError | None = None  # why nothing can be built; the cache may still help

    @property
    def lack(self) -> str:
        """What is missing; if anything, entries of other tools are tried before a build."""
        whole = "" if self.host.assembler and self.host.linker else "as or ld is missing"
        return str(self.missing or self.compiler.missing or whole)

    def product(self, so: str, inputs: Inputs | None = None, **more: Any) -> Product:
        """Return the product of a build with these tools, and the files read besides their own."""
        from ..cache.entry import Product

        read, absent, unknown = inputs or ((), (), ())
        unfit = ""
        if _look() != _imported:
            unfit = "tvmffi_cubin itself changed while in use: restart the process"
        elif unknown:
            unfit = (
                f"cannot tell which header an #include of {unknown[0]}(...) names: "
                "write its name, or a one-argument macro that expands to it without ##"
            )
        own = (f"{_ROOT}/", f"{self.include}/")  # part of the key
        files = tuple(path for path in read if not path.startswith(own))
        return Product(so, dependencies=files, absent=absent, unfit=unfit, **more)

    @property
    def roots(self) -> Mapping[str, str]:
        """Folders by token, for those whose location on this machine must not affect the cache."""
        roots = {"$TVM_FFI": self.tvm_ffi.include, "$TVMFFI_CUBIN": str(self.include)}
        if self.cuda is not None:
            roots.update(self.cuda.roots)
        if self.nvcc is not None and self.nvcc.root:
            roots["$NVCC"] = self.nvcc.root
        return roots

    @property
    def identities(self) -> dict[str, str]:
        """The identity of each tool, by its label in keys."""
        identities = {
            "host_compiler": self.host.compiler,
            "assembler": self.host.assembler,
            "linker": self.host.linker,
            "CXX": "\n".join(self.compiler.options),
            **self.builds,
        }
        if self.nvcc is not None:
            identities["nvcc"] = "\n".join((self.nvcc.identity, self.nvcc.host))
        return identities

    @property
    def versions(self) -> dict[str, str]:
        """Everything about the tools that affects their output."""
        cpu = native_cpu(self.compiler.options)
        return {**self.identities, "cpu": cpu, **compiler_environment()}

    @property
    def cuda_include_dirs(self) -> Sequence[str]:
        """CUDA's include folders; empty for a build without CUDA."""
        if self.nvcc is not None:
            return self.nvcc.includes
        return () if self.cuda is None else tuple(map(str, self.cuda.include_dirs))


# Variables that determine which tools are found.
_VARIABLES = (
    *("CXX", "CUDA_HOME", "CUDA_PATH"),
    *("TVMFFI_CUBIN_CUDA", "TVMFFI_CUBIN_DRIVER", "TVMFFI_CUBIN_NVCC"),
)
# Tools by everything that determines them, and when they were found; valid for _RECENT seconds.
_found: dict[tuple[Any, ...], tuple[Toolset, float]] = {}
_RECENT = 1.0


def find_tools(
    *, needs_cuda: bool, needs_fatbin: bool = False, nvcc_flags: tuple[str, ...] | None = None
) -> Toolset:
    """Find the tools; spawn a process only if a tool is new to this user.

    `nvcc_flags` are nvcc's flags, if it is used. Raises ToolchainError if tvm-ffi or this package's
    headers are missing, or if ``CXX`` names no compiler.
    """
    wanted = needs_cuda, needs_fatbin, nvcc_flags
    named = (*wanted, os.environ.get("PATH"), *sys.path, *map(config.get, _VARIABLES))
    now = time.monotonic()
    found, moment = _found.get(named, (None, -_RECENT))
    if found is None or now - moment >= _RECENT:
        found = _find(*wanted)
        _found[named] = found, now
    return found


def _find(needs_cuda: bool, needs_fatbin: bool, nvcc_flags: tuple[str, ...] | None) -> Toolset:
    paths = tvm_ffi_paths()
    cuda, nvcc, missing = None, None, None
    parts: list[str] = []  # CUDA's libraries that produce output
    try:
        cuda = libraries.find_cuda() if needs_cuda else None
        if cuda is not None:
            parts = [x for x in ("nvrtc", "nvjitlink") if x in cuda.parts]
            if needs_fatbin:
                cuda.require("nvfatbin")
                parts.append("nvfatbin")
        nvcc = None if nvcc_flags is None else _find_nvcc(nvcc_flags)
    except ToolchainError as error:
        missing = error

    files = [paths.library, *(cuda.parts[x] for x in parts if cuda)]

    def describe() -> tuple[list[str], list[str]]:
        texts = [identity_of(paths.library), _package_digest()]
        if cuda is not None:
            # The first use comes before any build: NVRTC starts meanwhile.
            from ..cuda import program

            program.prepare()
            texts += (f"{x} {cuda.major}, build {identity_of(cuda.parts[x])}" for x in parts)
        # With the newest own file: nothing is remembered that may change and keep its stamp.
        return texts, [*files, max(_files(), key=lambda path: changed_ns(stamp(path)))]

    compiler, host, (tvm_ffi, package, *texts) = find_host("\n".join((*files, _state)), describe)
    of_cuda = dict(zip(parts, texts, strict=True))
    nvfatbin = of_cuda.pop("nvfatbin", "")
    return Toolset(
        compiler=compiler,
        host=host,
        tvm_ffi=paths,
        builds={"tvm_ffi": tvm_ffi, "own_files": package, "cuda": "\n".join(of_cuda.values())},
        include=include_dir(),
        cuda=cuda,
        nvfatbin=nvfatbin,
        nvcc=nvcc,
        missing=missing,
    )


def _find_nvcc(flags: Sequence[str]) -> Nvcc:
    """Return nvcc, with the identity of the host compiler that flags name, if any."""
    from ..cuda.nvcc import find_nvcc
    from ..cuda.options import values

    found, named = find_nvcc(), values(flags).get("-ccbin")
    if named is None:
        return found
    # A folder stands for the gcc in it. nvcc itself reports a missing one.
    path = on_path(f"{named}/gcc" if os.path.isdir(named) else named)
    if path is None:
        return found._replace(host=named)
    host = HostCompiler((str(path),))
    said = remember(f"compiler {path}", lambda: (compiler_identity(host), [path]))
    return found._replace(host=said)


def module_key(request: Request, archs: tuple[str, ...], tools: Toolset) -> Key:
    """Return the key of a module: everything but the content of the files that a build finds."""
    key = Key("module").add("package", __version__).add("machine", os.uname().machine)
    request.add_to(key.add("archs", archs))
    for label, text in tools.identities.items():
        key.add(label, text)
    key.add("nvfatbin", tools.nvfatbin)
    environment = compiler_environment()
    key.add("environment", environment)
    key.add("cudart", config.get("TVMFFI_CUBIN_CUDART") or "")
    key.add("cpu", native_cpu((*tools.compiler.options, *request.host_flags), environment))
    return key


# The package's own files, as this process found them

_SUFFIXES = (".py", ".in", ".h", ".cc")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _files() -> list[str]:
    """Return the paths of all files that generate code or are compiled."""
    found: set[str] = set()
    for root in (_ROOT, include_dir()):
        for folder, _, names in os.walk(root):
            found.update(f"{folder}/{name}" for name in names if name.endswith(_SUFFIXES))
    return sorted(found)


def _look() -> list[str]:
    """Return stamps that change with any of them: for an installed wheel, that of its RECORD."""
    record = f"{_ROOT}-{__version__}.dist-info/RECORD"
    return list(map(stamp, [record] if os.path.exists(record) else _files()))


# Taken at import: the code in memory is what generates.
_imported = _look()
_state = digest_of(_imported)


@cache
def _package_digest() -> str:
    """Return the package files' digest, unique if one changed since import; raises OSError."""
    files = _files()
    names = [path.removeprefix(os.path.dirname(_ROOT)) for path in files]
    key = Key("package").add("names", names).add("files", list(map(file_digest, files)))
    return key.add("changed", _look() != _imported and os.urandom(8)).hexdigest()
