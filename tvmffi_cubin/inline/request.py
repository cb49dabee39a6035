"""`Request`: the arguments of `load_inline` in one form, and their part of the key."""

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
"""The name under which the image of the device sources is embedded."""

OBJECTS = (".o", ".obj")
"""How the names of outputs end that are yet to be linked."""

# Without one of these a CUDA source is host code. What launches may include its kernels.
_DEVICE_WORDS = ("__global__", "__device__", "__constant__", "<<<")
_DEVICE_HEADERS = ('.cuh"', ".cuh>", '.cu"', ".cu>")
# What a wrapper of CUDA includes, or links. Compiled where they are used, which most hits do not.
_CUDA_INCLUDE = r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"][^>\"\n]*cu(?:da|bin)"
_CUDA_LIBRARIES = ("-lcuda", "-lcudart")
# What makes a compiler or an assembler read a file, wherever it stands.
_READS = ("include", "embed", "incbin", "import ")
# What is in a key as it is. Images are the same with precompiled headers and without, but for a
# compiler's faults: who goes around those wants no entry that was built with them.
LABELS = (
    *("name", "output", "name_expressions", "extra_cflags", "extra_cuda_cflags", "extra_ldflags"),
    *("extra_include_paths", "compiler", "use_pch", "lto", "ptx", "bound_params"),
)
TEXTS = ("cpp_sources", "cuda_sources", "kernel_sources")
OF_NVRTC = ("kernel_sources", "name_expressions", "device_libraries", "lto", "bound_params")


class Source(NamedTuple):
    """One source."""

    text: str
    path: str | None = None  # absolute; None for text that came as an argument
    label: str = ""  # what messages call it without a path, such as "cuda_sources[1]"

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path or self.label

    @property
    def file(self) -> str:
        """What a build calls it, if it has no path."""
        suffix = "cpp" if self.label.startswith("cpp") else "cu"
        return f"{self.label.replace('[', '_').rstrip(']')}.{suffix}"

    @property
    def folder(self) -> str | None:
        """Where its quoted includes are searched first; None for text without a file."""
        return None if self.path is None else os.path.dirname(self.path)

    @property
    def may_be_device(self) -> bool:
        """Whether it may be for NVRTC, going by its own text alone."""
        return any(word in self.text for word in (*_DEVICE_WORDS, *_DEVICE_HEADERS))


class Binary(NamedTuple):
    """A file for the linker: an object, an archive or a shared library."""

    path: str
    digest: str

    @property
    def is_shared(self) -> bool:
        """Whether it stays a file of its own, which is looked for at run time."""
        return self.path.lower().endswith(".so")


class SourceFiles(NamedTuple):
    """Files by what becomes of them, in the order given; `images` are paths by name."""

    cuda: tuple[Source, ...] = ()
    c: tuple[Source, ...] = ()
    cxx: tuple[Source, ...] = ()
    binaries: tuple[Binary, ...] = ()
    images: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        """Whether there is any file."""
        return any(self)


class Request(NamedTuple):
    """What is to be built. Sources are in the order given; `functions` None means by default.

    `arch` is as the caller gave it, and no part of the key; nor are `nvcc_flags`, `verbose` and,
    but for the folder of image files, `target`, the path of a copy.
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
    # With compiler="auto": the flags for nvcc, should it be asked.
    nvcc_flags: tuple[str, ...] | None = None

    @property
    def is_by_nvcc(self) -> bool:
        """Whether nvcc compiles the CUDA sources, device and host part."""
        return self.compiler != "nvrtc"

    @property
    def for_nvcc(self) -> Request | None:
        """The same for nvcc, with ``compiler="auto"`` and nothing that is for NVRTC alone."""
        if self.nvcc_flags is None or any(getattr(self, option) for option in OF_NVRTC):
            return None
        from ..cuda.nvcc import caller_flags

        # Its key is another than that of compiler="nvcc": what somebody has built with that says
        # nothing about whether NVRTC compiles the sources.
        flags = caller_flags(self.nvcc_flags)
        return self._replace(compiler="auto", cuda_cflags=flags, nvcc_flags=None)

    @property
    def is_object(self) -> bool:
        """Whether an object is to be made, which is yet to be linked."""
        return self.output.endswith(OBJECTS)

    @property
    def texts(self) -> tuple[Source, ...]:
        """The sources that came as arguments."""
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
        """Whether host code may know images by their names, as far as its texts tell."""
        return any("EMBED_CUBIN" in source.text for source in self.host_sources)

    @property
    def needs_cuda(self) -> bool:
        """Whether anything of CUDA's wheels is needed: not by C++ that names nothing of it."""
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
        """Whether there may be a source for NVRTC; given images are launched by wrappers."""
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
        """The architectures; none where nothing needs one or none can be found out."""
        if self.arch is None and not self.needs_arch:
            return ()
        if self.arch is None and self.is_by_nvcc:
            from ..cuda.nvcc import names_archs

            if names_archs(self.cuda_cflags):
                return ()
        try:
            return resolve_archs(self.arch, () if self.is_by_nvcc else self.cuda_cflags)
        except ToolchainError:
            # Sources that are not parsed yet may need none: who compiles asks again.
            return ()

    @property
    def image_folder(self) -> str:
        """Where image files lie beside the shared object; empty where none does."""
        is_beside = any(not os.path.isabs(x.file) for x in self.image_files.values())
        return os.path.dirname(self.target) if is_beside else ""

    @property
    def assembles(self) -> bool:
        """Whether some image is PTX that is to be assembled."""
        if self.ptx != "assemble" or not self.images:
            return False
        from ..kernels import ptx

        return any(ptx.arch(x.image) for x in self.images.values())

    @property
    def may_read_files(self) -> bool:
        """Whether the build may read files of the user's beside the sources themselves."""
        if self.files or self.host_flags or self.cuda_cflags:
            return True
        return any(word in source.text for source in self.texts for word in _READS)

    def add_to(self, key: Key) -> None:
        """Add everything here to a key, by the names that callers know."""
        for label in LABELS:
            key.add(label, getattr(self, label.removeprefix("extra_")))
        for what in TEXTS:
            # With what __FILE__ says of them.
            key.add(what, [[source.text, source.label] for source in getattr(self, what)])
        # With their paths: messages, __FILE__ and debug information have them, and headers are
        # searched from there. Of what is linked in, the content alone matters.
        for kind in ("cuda", "c", "cxx"):
            key.add(f"{kind}_files", [list(source) for source in getattr(self.files, kind)])
        binaries = [[x.path if x.is_shared else "", x.digest] for x in self.files.binaries]
        key.add("binaries", binaries)
        functions = self.functions
        key.add("functions", None if functions is None else key_text(functions))
        if self.cuda_cflags and not self.is_by_nvcc:
            from ..cuda.options import preprocessor_flags

            # Relative paths in them are other paths in another current folder.
            key.add("cuda_preprocessor", preprocessor_flags(self.cuda_cflags).words)
        images = self.images.items()
        key.add(
            "embed_cubin",
            [[name, x.image, x.arch, x.lowered_names, x.signatures] for name, x in images],
        )
        key.add("device_libraries", [[x.image, x.arch] for x in self.device_libraries])
        # Of one shared object that is loaded, all such files lie in one folder.
        files = [[name, os.fspath(x.file)] for name, x in self.image_files.items()]
        key.add("image_files", [files, self.image_folder] if files else [])
