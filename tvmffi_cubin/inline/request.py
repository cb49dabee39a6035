"""`Request`: the normalized arguments of `load_inline`, and their part of the key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cache.entry import Key
from ..cuda.arch import resolve_archs
from ..errors import ToolchainError
from ..launches.form import Export, key_text

if TYPE_CHECKING:
    from ..kernels.cubin import Cubin
    from .images import ImageFile

DEVICE_IMAGE = "kernels"
"""The name of the embedded image of the device sources."""

OBJECTS = (".o", ".obj")
"""Suffixes of outputs that are yet to be linked."""

# A CUDA source without any of these is host code. One that launches may include its kernels.
_DEVICE_WORDS = ("__global__", "__device__", "__constant__", "<<<")
_DEVICE_HEADERS = ('.cuh"', ".cuh>", '.cu"', ".cu>")
# What a CUDA wrapper includes or links. The pattern is compiled on use: most hits do not need it.
_CUDA_INCLUDE = r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"][^>\"\n]*cu(?:da|bin)"
_CUDA_LIBRARIES = ("-lcuda", "-lcudart")
# What makes a compiler or an assembler read a file, anywhere in a text.
_READS = ("include", "embed", "incbin", "import ")
# Fields that enter a key as they are. Precompiled headers change an image only through compiler
# bugs: whoever works around one wants no entry that was built with them.
LABELS = (
    *("name", "output", "name_expressions", "extra_cflags", "extra_cuda_cflags", "extra_ldflags"),
    *("extra_include_paths", "compiler", "use_pch", "lto", "ptx", "bound_params"),
)
TEXTS = ("cpp_sources", "cuda_sources", "kernel_sources")
OF_NVRTC = ("kernel_sources", "name_expressions", "device_libraries", "lto", "bound_params")


class Source(NamedTuple):
    """One source."""

    text: str
    path: str | None = None  # absolute; None for text passed as an argument
    label: str = ""  # its name in messages without a path, such as "cuda_sources[1]"

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.path or self.label

    @property
    def file(self) -> str:
        """Its file name in a build, if it has no path."""
        suffix = "cpp" if self.label.startswith("cpp") else "cu"
        return f"{self.label.replace('[', '_').rstrip(']')}.{suffix}"

    @property
    def folder(self) -> str | None:
        """The folder searched first for its quoted includes; None for text without a file."""
        return None if self.path is None else os.path.dirname(self.path)

    @property
    def may_be_device(self) -> bool:
        """Whether it may be for NVRTC, judging by its own text alone."""
        return any(word in self.text for word in (*_DEVICE_WORDS, *_DEVICE_HEADERS))


class Binary(NamedTuple):
    """A file for the linker: an object, an archive or a shared library."""

    path: str
    digest: str

    @property
    def is_shared(self) -> bool:
        """Whether it stays a separate file, which is searched for at run time."""
        return self.path.lower().endswith(".so")


class SourceFiles(NamedTuple):
    """Files by how they are used, in the order given; `images` maps names to paths."""

    cuda: tuple[Source, ...] = ()
    c: tuple[Source, ...] = ()
    cxx: tuple[Source, ...] = ()
    binaries: tuple[Binary, ...] = ()
    images: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        """Whether there is any file."""
        return any(self)


class Request(NamedTuple):
    """What to build. Sources are in the order given; None for `functions` means the default.

    `arch` is as the caller gave it and not part of the key. Neither are `nvcc_flags`, `verbose`
    and, except for the folder of image files, `target`, the path of a copy.
    """

    name: str
    cpp_sources: tuple[Source, ...]
    cuda_sources: tuple[Source, ...]
    kernel_sources: tuple[Source, ...]
    functions: tuple[Export, ...] | None
    name_expressions: tuple[str, ...]
    cflags: tuple[str, ...]
    cuda_cflags: tuple[str, ...]
    ldflags: tuple[str, ...]
    include_paths: tuple[str, ...]
    images: Mapping[str, Cubin]
    output: str
    use_pch: bool
    files: SourceFiles
    device_libraries: tuple[Cubin, ...]
    lto: bool
    ptx: str
    bound_params: tuple[str, ...]
    image_files: Mapping[str, ImageFile]
    compiler: str
    verbose: bool
    arch: Any
    target: str = ""
    # With compiler="auto": the flags for nvcc, if it is used.
    nvcc_flags: tuple[str, ...] | None = None

    @property
    def is_by_nvcc(self) -> bool:
        """Whether nvcc compiles the CUDA sources, both device and host code."""
        return self.compiler != "nvrtc"

    @property
    def for_nvcc(self) -> Request | None:
        """The same for nvcc, if ``compiler="auto"`` and no option is for NVRTC alone."""
        if self.nvcc_flags is None or any(getattr(self, option) for option in OF_NVRTC):
            return None
        from ..cuda.nvcc import caller_flags

        # Its key differs from that of compiler="nvcc": an entry built with that says nothing about
        # whether NVRTC compiles the sources.
        flags = caller_flags(self.nvcc_flags)
        return self._replace(compiler="auto", cuda_cflags=flags, nvcc_flags=None)

    @property
    def is_object(self) -> bool:
        """Whether the output is an object file, yet to be linked."""
        return self.output.endswith(OBJECTS)

    @property
    def texts(self) -> tuple[Source, ...]:
        """The sources passed as text."""
        return tuple(source for what in TEXTS for source in getattr(self, what))

    @property
    def host_flags(self) -> tuple[str, ...]:
        """The caller's flags for the host compiler and the linker."""
        return (*self.cflags, *self.ldflags)

    @property
    def host_sources(self) -> tuple[Source, ...]:
        """The sources that the host compiler may see."""
        files = self.files
        return (*self.cpp_sources, *self.cuda_sources, *files.c, *files.cxx, *files.cuda)

    @property
    def names_images(self) -> bool:
        """Whether host code may refer to images by name, judging by its texts."""
        return any("EMBED_CUBIN" in source.text for source in self.host_sources)

    @property
    def needs_cuda(self) -> bool:
        """Whether CUDA's wheels are needed; C++ that refers to nothing of CUDA needs none."""
        files = self.files
        if self.is_by_nvcc:
            return self.assembles
        given = (self.cuda_sources, self.kernel_sources, files.cuda, self.images, self.image_files)
        if any(given) or self.bound_params or any(x in _CUDA_LIBRARIES for x in self.ldflags):
            return True
        sources = (*self.cpp_sources, *files.c, *files.cxx)
        return any(re.search(_CUDA_INCLUDE, source.text) for source in sources)

    @property
    def is_compiled(self) -> bool:
        """Whether there may be a source for NVRTC; wrappers launch the images that are given."""
        if self.is_by_nvcc:
            return False
        if self.kernel_sources or self.files.cuda:
            return True
        # The kernels may be in the headers.
        sources = self.cuda_sources
        return bool(sources and not self.images) or any(x.may_be_device for x in sources)

    @property
    def needs_arch(self) -> bool:
        """Whether something may need an architecture; a wrapper alone needs none."""
        return self.is_compiled or self.assembles or self.is_by_nvcc

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures; empty if nothing needs one or none can be determined."""
        if self.arch is None and not self.needs_arch:
            return ()
        if self.arch is None and self.is_by_nvcc:
            from ..cuda.nvcc import names_archs

            if names_archs(self.cuda_cflags):
                return ()
        try:
            return resolve_archs(self.arch, () if self.is_by_nvcc else self.cuda_cflags)
        except ToolchainError:
            # Sources that are not parsed yet may need none: the compilation asks again.
            return ()

    @property
    def image_folder(self) -> str:
        """The folder of image files beside the shared object; empty if there are none."""
        is_beside = any(not os.path.isabs(x.file) for x in self.image_files.values())
        return os.path.dirname(self.target) if is_beside else ""

    @property
    def assembles(self) -> bool:
        """Whether any image is PTX to assemble."""
        if self.ptx != "assemble" or not self.images:
            return False
        from ..kernels import ptx

        return any(ptx.arch(x.image) for x in self.images.values())

    @property
    def may_read_files(self) -> bool:
        """Whether the build may read user files other than the sources themselves."""
        if self.files or self.host_flags or self.cuda_cflags:
            return True
        return any(word in source.text for source in self.texts for word in _READS)

    def add_to(self, key: Key) -> None:
        """Add all fields to a key, under the names that callers know."""
        for label in LABELS:
            key.add(label, getattr(self, label.removeprefix("extra_")))
        for what in TEXTS:
            # With the labels, which __FILE__ expands to.
            key.add(what, [[source.text, source.label] for source in getattr(self, what)])
        # With their paths, which messages, __FILE__ and debug information contain, and from which
        # headers are searched. For files that are linked in, only the content matters.
        for kind in ("cuda", "c", "cxx"):
            key.add(f"{kind}_files", [list(source) for source in getattr(self.files, kind)])
        binaries = [[x.path if x.is_shared else "", x.digest] for x in self.files.binaries]
        key.add("binaries", binaries)
        functions = self.functions
        key.add("functions", None if functions is None else key_text(functions))
        if self.cuda_cflags and not self.is_by_nvcc:
            from ..cuda.options import preprocessor_flags

            # Relative paths in them depend on the current folder.
            key.add("cuda_preprocessor", preprocessor_flags(self.cuda_cflags).words)
        images = self.images.items()
        key.add(
            "embed_cubin",
            [[name, x.image, x.arch, x.lowered_names, x.signatures] for name, x in images],
        )
        key.add("device_libraries", [[x.image, x.arch] for x in self.device_libraries])
        # A loaded shared object has all such files in one folder.
        files = [[name, os.fspath(x.file)] for name, x in self.image_files.items()]
        key.add("image_files", [files, self.image_folder] if files else [])
