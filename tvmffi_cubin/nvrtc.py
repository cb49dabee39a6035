"""CUDA source to a device image through NVRTC, without a toolkit and without a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from . import nvrtc_archs, pch
from .arch import Archs
from .cuda_wheels import find_cuda
from .kernels.cubin import KINDS, Cubin
from .nvrtc_library import NvrtcLibrary
from .nvrtc_options import caller_options, named_archs
from .nvrtc_unit import Unit, shim_dir

__all__ = [
    "compile",
    "nvrtc_compile",
    "resolve_arch",
    "resolve_archs",
    "shim_dir",
    "version",
]


def compile(  # noqa: A001
    source: str,
    *,
    name: str = "kernel.cu",
    arch: Archs = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    include_paths: Sequence[str | os.PathLike[str]] = (),
    prologue: str = "",
    epilogue: str = "",
    source_include: bool = False,
    target_type: str = "cubin",
    use_pch: bool | None = None,
) -> Cubin:
    """Compile CUDA C++ source to an image.

    CUDA's headers (``cuda_fp16.h``, ``cooperative_groups.h``, ``cuda/std/...``, ``cub/...``),
    fixed-width integers and the intrinsics of programmatic dependent launch are at hand. Functions
    without an execution space are device functions. Any number of threads may compile at once.

    Parameters
    ----------
    source : str
        The source.
    name : str
        The name of the source in diagnostics.
    arch : str or sequence of str, optional
        Such as ``"sm_90a"``, or ``"compute_90"`` for PTX; see `resolve_archs`. The options may name
        it instead. Several give one fatbin.
    options : sequence of str
        Options for NVRTC. Those of nvcc's that change nothing here (``-O3``,
        ``--expt-relaxed-constexpr``, ``-Xcompiler ...``) are left out.
    name_expressions : sequence of str
        Names of kernels, such as ``"scale<float, 4>"``: each is instantiated, and its symbol is
        in `Cubin.lowered_names`.
    include_paths : sequence of path
        Folders searched for headers, before CUDA's own.
    prologue, epilogue : str
        Text that is compiled before and after the source and is not part of it in messages.
    source_include : bool
        Whether headers are also searched in the folder of `name`, or in the current folder where
        it has none.
    target_type : str
        ``"cubin"``; ``"relocatable"`` for a cubin that is yet to be linked, ``"ltoir"`` for one
        that is also optimised when it is linked (both may refer to functions and variables of
        other units); ``"ptx"`` for text that the driver compiles. Only cubins are made for
        several architectures at once.
    use_pch : bool, optional
        False: make and use no precompiled headers. Default: as ``TVMFFI_CUBIN_PCH`` says.

    Returns
    -------
    Cubin
        The image; its ``log`` holds the warnings, which go to the logger ``tvmffi_cubin``, too.

    Raises
    ------
    CompileError
        The source does not compile.
    ToolchainError
        NVRTC is missing or does not know the architecture, or there is no GPU and no `arch`.
    TypeError, ValueError
        An argument has the wrong type or value; an option that NVRTC does not know.
    """
    _check_text("source", source)
    _check_text("name", name)
    _check_text("prologue", prologue, empty=True)
    _check_text("epilogue", epilogue, empty=True)
    expressions = _expressions(name_expressions)
    _check_target_type(target_type)
    given = caller_options(options)
    named = named_archs(given, arch)
    cuda = find_cuda()
    library = NvrtcLibrary.load(cuda.nvrtc)
    archs = nvrtc_archs.targets(named, target_type, known=library.supported_archs)
    for target in archs:
        nvrtc_archs.check_supported(library, cuda, target, detected=not named)
    unit = Unit(
        source=source.removeprefix("\ufeff"),  # the mark that some editors put first
        name=name,
        prologue=prologue,
        epilogue=epilogue,
        options=given,
        name_expressions=expressions,
        include_paths=tuple(_folders(include_paths)),
        source_include=source_include,
        use_pch=pch.is_wanted(use_pch),
    )
    if len(archs) == 1:
        return unit.compile(library, cuda, archs[0], target_type)
    from .nvfatbin import join
    from .parallel import in_parallel

    cuda.require("nvfatbin")
    return join(in_parallel(partial(unit.compile, library, cuda), archs), cuda=cuda)


def nvrtc_compile(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: Archs = None,
    extra_opts: Sequence[str | bytes] | None = None,
) -> bytes:
    """Compile CUDA C++ source to the bytes of an image, as tvm-ffi's function of this name does.

    Parameters
    ----------
    source, name, arch
        As in `compile`.
    extra_opts : sequence of str or bytes, optional
        Options for NVRTC, as `options` of `compile`.

    Returns
    -------
    bytes
        The image.

    Raises
    ------
    CompileError, ToolchainError, TypeError, ValueError
        As in `compile`.
    """
    options: Sequence[str | bytes] = () if extra_opts is None else extra_opts
    if not isinstance(options, (str, bytes)):
        options = [os.fsdecode(item) if isinstance(item, bytes) else item for item in options]
    return compile(
        source,
        name=name,
        arch=arch,
        options=options,  # type: ignore[arg-type]
        source_include=True,
    ).image


def resolve_arch(arch: str | None = None, options: Sequence[str] = ()) -> str:
    """Return the one architecture that `compile` would compile for, as `resolve_archs` has it.

    Parameters
    ----------
    arch, options
        As in `resolve_archs`.

    Raises
    ------
    TypeError, ValueError, ToolchainError
        As in `resolve_archs`; or there are several.
    """
    archs = resolve_archs(arch, options)
    if len(archs) > 1:
        raise ValueError(f"there are several architectures, {', '.join(archs)}: use resolve_archs")
    return archs[0]


def resolve_archs(arch: Archs = None, options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the architectures that `compile` would compile for, without loading NVRTC.

    Parameters
    ----------
    arch : str or sequence of str, optional
        Such as ``"sm_90"``, ``"sm_90a"`` (with the features of this architecture alone),
        ``"sm_100f"`` (with those of its family) or ``"compute_90"`` (PTX, which the driver of that
        or of a newer device compiles further). None: what the options name, else what
        ``TVMFFI_CUBIN_ARCH`` does, else the current device's (device 0's where the thread has no
        context), with the ``a`` suffix where the architecture has one. A device that NVRTC does
        not know yet has that of the closest one that it does.
    options : sequence of str
        Options for NVRTC, as `compile` takes them; nvcc's ``-gencode`` counts, too.

    Returns
    -------
    tuple of str
        Each once, cubins before PTX, from the oldest to the newest.

    Raises
    ------
    TypeError, ValueError
        One is no architecture, or `arch` and the options name different ones.
    ToolchainError
        Nothing names one and there is no device.
    """
    named = named_archs(caller_options(options), arch)
    return nvrtc_archs.targets(named, known=lambda: nvrtc_archs.known_archs(find_cuda()))


def version() -> tuple[int, int]:
    """Return the version of the NVRTC in use, such as ``(12, 9)``; loads it.

    Raises
    ------
    ToolchainError
        It is missing.
    """
    return NvrtcLibrary.load(find_cuda().nvrtc).version()


def _check_text(what: str, text: object, *, empty: bool = False) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string, got {type(text).__name__}; {_wanted(what)}")
    if not empty and not text.strip():
        raise ValueError(f"{what} is empty; {_wanted(what)}")
    if "\0" in text:
        raise ValueError(
            f"{what} holds a NUL character at offset {text.index(chr(0))}, where NVRTC would stop "
            "reading; remove it"
        )
    try:
        # A file may have a name that is no UTF-8.
        os.fsencode(text) if what == "name" else text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{what} holds {text[error.start]!r} at offset {error.start}, which is no Unicode "
            "text: a file was read in another encoding than its own"
        ) from None


def _wanted(what: str) -> str:
    if what == "name":
        return 'pass what messages are to call the source, such as "kernel.cu"'
    if what == "a name expression":
        return 'pass a kernel\'s name, such as "scale<float, 4>"'
    return "pass CUDA C++ text"


def _expressions(given: object) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(
            f"name_expressions must be a sequence of strings, got {given!r}; pass a list"
        )
    expressions = tuple(given)
    for expression in expressions:
        _check_text("a name expression", expression)
    return expressions


def _check_target_type(target_type: object) -> None:
    if target_type not in KINDS:
        known = ", ".join(map(repr, KINDS))
        raise ValueError(f"target_type={target_type!r}: there are {known}")


def _folders(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Iterable):
        raise TypeError(f"include_paths must be a sequence of paths, got {paths!r}; pass a list")
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"include_paths must hold paths, got {type(path).__name__} {path!r}")
        if "\0" in os.fspath(path):
            raise ValueError(f"include_paths holds {path!r}, which has a NUL character")
        yield Path(path)
