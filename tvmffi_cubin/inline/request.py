"""`Request`: the arguments of `load_inline`, checked and in one form; nothing is compiled here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import pch
from ..cache.key import Key
from ..launches.export import Export, read_functions
from ..launches.form import to_json
from ..sources.source import Source
from .arguments import file_name, folders, strings, texts
from .files import SourceFiles
from .request_flags import checked_compiler, cuda_flags, host_flags

if TYPE_CHECKING:
    from ..kernels.cubin import Cubin
    from ..launches.values import Bound
    from .images import ImageFile

OBJECTS = (".o", ".obj")
"""How the names of outputs end that are yet to be linked."""

# What a wrapper of CUDA includes, or links. Compiled where they are used, which most hits do not.
_CUDA_INCLUDE = r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"][^>\"\n]*cu(?:da|bin)"
_PTX = ("assemble", "keep")
_CUDA_LIBRARIES = ("-lcuda", "-lcudart")


class Request(NamedTuple):
    """What is to be built. Sources are in the order given; `functions` None means by default."""

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
    use_pch: bool = True
    files: SourceFiles = SourceFiles()
    device_libraries: tuple[Cubin, ...] = ()
    lto: bool = False
    ptx: str = "assemble"
    bound_params: tuple[str | Bound, ...] = ()
    image_files: Mapping[str, ImageFile] = MappingProxyType({})
    image_folder: str = ""
    compiler: str = "nvrtc"
    verbose: bool = False

    @property
    def is_by_nvcc(self) -> bool:
        """Whether nvcc compiles the CUDA sources, device and host part."""
        return self.compiler == "nvcc"

    @property
    def needs_cuda(self) -> bool:
        """Whether anything of CUDA's wheels is needed: not by C++ that names nothing of it."""
        files = self.files
        if self.is_by_nvcc:
            return self.assembles
        if self.cuda_sources or self.kernel_sources or self.images or files.cuda:
            return True
        if self.bound_params or self.image_files:
            return True
        sources = (*self.cpp_sources, *files.c, *files.cxx)
        return any(flag in _CUDA_LIBRARIES for flag in self.ldflags) or any(
            re.search(_CUDA_INCLUDE, source.text) for source in sources
        )

    @property
    def may_have_kernels(self) -> bool:
        """Whether something may need an architecture; a wrapper alone needs none."""
        return self.assembles or self.may_be_compiled or self.is_by_nvcc

    @property
    def may_be_compiled(self) -> bool:
        """Whether there may be a source for NVRTC."""
        if self.is_by_nvcc:
            return False
        # The kernels of a file may all be in the headers beside it.
        if self.kernel_sources or self.files.cuda:
            return True
        if any(source.may_be_device for source in self.cuda_sources):
            return True
        # Given images are launched by wrappers.
        if self.images or not self.cuda_sources:
            return False
        from ..header_words import may_have_kernels

        return may_have_kernels(self.cuda_sources, self.include_paths, self.cuda_cflags)

    @property
    def has_sources(self) -> bool:
        """Whether there is code to compile or to link."""
        return bool(self.cpp_sources or self.cuda_sources or self.kernel_sources or self.files)

    @property
    def is_object(self) -> bool:
        """Whether an object is to be made, which is yet to be linked."""
        return self.output.endswith(OBJECTS)

    @property
    def assembles(self) -> bool:
        """Whether some image is PTX that is to be assembled."""
        if self.ptx != "assemble" or not self.images:
            return False
        from ..kernels.image import looks_like_ptx

        return any(looks_like_ptx(x.image) for x in self.images.values())

    @property
    def may_link(self) -> bool:
        """Whether there may be several units of device code."""
        if self.device_libraries:
            return True
        if self.is_by_nvcc:
            return False
        unsure = [source for source in self.cuda_sources if source.may_be_device]
        return len((*self.kernel_sources, *self.files.cuda, *unsure)) > 1

    @property
    def host_flags(self) -> tuple[str, ...]:
        """The caller's flags for the host compiler and the linker."""
        return (*self.cflags, *self.ldflags)

    @property
    def host_sources(self) -> tuple[Source, ...]:
        """The sources that the host compiler may see."""
        files = self.files
        return (*self.cpp_sources, *self.cuda_sources, *files.c, *files.cxx, *files.cuda)

    def add_to(self, key: Key) -> None:
        """Add everything here to a key, by the names that callers know."""
        key.add("name", self.name)
        key.add("output", self.output)
        for what in ("cpp_sources", "cuda_sources", "kernel_sources"):
            sources = getattr(self, what)
            # With what __FILE__ says of them.
            labelled = [[source.text, source.label] for source in sources]
            key.add(what, labelled, shown=[source.text for source in sources])
        key.add(
            "functions", None if self.functions is None else [x.fields() for x in self.functions]
        )
        key.add("name_expressions", self.name_expressions)
        key.add("extra_cflags", self.cflags)
        key.add("compiler", self.compiler)
        key.add("extra_cuda_cflags", self.cuda_cflags)
        if self.cuda_cflags and not self.is_by_nvcc:
            from ..cuda import preprocessor

            # Relative paths in them are other paths in another current folder.
            key.add("cuda_preprocessor", preprocessor.parse(self.cuda_cflags).words)
        key.add("extra_ldflags", self.ldflags)
        key.add("extra_include_paths", self.include_paths)
        images = self.images.items()
        key.add(
            "embed_cubin",
            [[name, x.image, x.arch, x.lowered_names, x.signatures] for name, x in images],
        )
        if self.images:
            from importlib.util import find_spec

            from ..kernels.image import FATBIN

            if any(x.image.startswith(FATBIN) for x in self.images.values()):
                # What is told of the kernels of compressed members depends on it.
                key.add("zstd", any(map(find_spec, ("_zstd", "zstandard"))))
        # Images are the same either way, but for a compiler's faults: who by-passes those wants no
        # entry that was built with them. (A wrapper's functions are the same, its bytes are not.)
        key.add("use_pch", self.use_pch)
        self.files.add_to(key)
        key.add("device_libraries", [[x.image, x.arch] for x in self.device_libraries])
        key.add("lto", self.lto)
        key.add("ptx", self.ptx)
        key.add("bound_params", to_json(self.bound_params))
        # Of one shared object that is loaded, all such files lie in one folder.
        files = [[name, os.fspath(x.file)] for name, x in self.image_files.items()]
        key.add("image_files", [files, self.image_folder] if files else [])


def make_request(
    name: str,
    *,
    cpp_sources: Any = None,
    cuda_sources: Any = None,
    kernel_sources: Any = None,
    functions: Any = None,
    name_expressions: Any = None,
    extra_cflags: Any = None,
    extra_cuda_cflags: Any = None,
    extra_ldflags: Any = None,
    extra_include_paths: Any = None,
    embed_cubin: Any = None,
    device_libraries: Any = None,
    lto: Any = None,
    ptx: Any = None,
    bound_params: Any = None,
    use_pch: Any = None,
    output: Any = None,
    compiler: Any = None,
    verbose: Any = None,
    files: SourceFiles | None = None,
) -> Request:
    """Check the arguments and bring them into one form.

    Raises
    ------
    TypeError, ValueError
        One is wrong; the message names it.
    """
    compiler = checked_compiler(compiler)
    cuda_cflags, lto = cuda_flags(extra_cuda_cflags, lto, compiler)
    name, files = file_name("name", name), files or SourceFiles()
    exports, images, image_files = _images(embed_cubin, read_functions(functions), files, name)
    request = Request(
        name=name,
        cpp_sources=texts("cpp_sources", cpp_sources),
        cuda_sources=texts("cuda_sources", cuda_sources),
        kernel_sources=texts("kernel_sources", kernel_sources),
        functions=exports,
        name_expressions=strings("name_expressions", name_expressions),
        cflags=host_flags("extra_cflags", extra_cflags),
        cuda_cflags=cuda_cflags,
        ldflags=host_flags("extra_ldflags", extra_ldflags),
        include_paths=folders("extra_include_paths", extra_include_paths),
        images=images,
        image_files=image_files,
        device_libraries=_libraries(device_libraries),
        lto=lto,
        ptx=_PTX[0] if ptx is None else _ptx(ptx),
        bound_params=_bound_params(bound_params),
        output=f"{name}.so" if output is None else file_name("output", output),
        files=files,
        use_pch=pch.is_wanted(use_pch),
        compiler=compiler,
        verbose=bool(verbose),
    )
    return _whole(request)


# Most requests have none of what these read, and a process's first hit is mostly imports.
def _whole(request: Request) -> Request:
    is_usual = request.output == f"{request.name}.so" and not request.is_by_nvcc
    has_code = request.has_sources or request.images
    if request.image_files or not is_usual or not has_code:
        from .request_contents import check_contents

        check_contents(request)
    return request


def _images(
    embed_cubin: Any, exports: tuple[Export, ...] | None, files: SourceFiles, name: str
) -> tuple[tuple[Export, ...] | None, dict[str, Cubin], dict[str, ImageFile]]:
    """Return exports whose launches name their images, images, and those that lie in files."""
    launches = [launch for export in exports or () for launch in export.launches]
    carried = any(not isinstance(launch.image, str | None) for launch in launches)
    if embed_cubin is None and not files.images and not carried:
        return exports, {}, {}
    from .embedding import embed_carried, named_images
    from .images import split

    embed_cubin, image_files = split(embed_cubin, name)
    named = named_images(embed_cubin, files, name)
    return *embed_carried(exports, named), image_files


def _libraries(value: Any) -> tuple[Cubin, ...]:
    if value is None:
        return ()
    from .embedding import device_libraries

    return device_libraries(value)


def _bound_params(value: Any) -> tuple[str | Bound, ...]:
    if value is None:
        return ()
    from ..launches.values import bound_params

    return bound_params(value)


def _ptx(value: Any) -> str:
    if value not in _PTX:
        raise ValueError(f"ptx is {' or '.join(map(repr, _PTX))}, got {value!r}")
    return str(value)


# What makes a compiler or an assembler read a file, wherever it stands.
_READS = re.compile(r"include|embed|incbin|\bimport\b")
# A word may be continued on the next line.
_CONTINUED = re.compile(r"\\\s*\n")


def may_read_files(request: Request) -> bool:
    """Whether the build may read files of the user's beside the sources themselves."""
    if request.files or request.cflags or request.cuda_cflags or request.ldflags:
        return True
    sources = (*request.cpp_sources, *request.cuda_sources, *request.kernel_sources)
    return any(_READS.search(_CONTINUED.sub("", source.text)) for source in sources)
