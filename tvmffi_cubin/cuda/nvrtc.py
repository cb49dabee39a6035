"""CUDA source to a device image through NVRTC, without a toolkit and without a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from .. import pch
from ..errors import ToolchainError
from ..kernels.cubin import KINDS, Cubin
from . import arch as archs
from . import libraries, program
from .arch import Archs, is_known, number_of
from .libraries import Cuda, find_cuda
from .options import caller_options, named_archs
from .program import Nvrtc
from .unit import Unit, shim_dir

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
    without an execution space are device functions. Any number of threads may compile at once, and
    Ctrl-C ends a compilation.

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
    expressions = tuple(_expressions(name_expressions))
    if target_type not in KINDS:
        raise ValueError(f"target_type={target_type!r}: there are {', '.join(map(repr, KINDS))}")
    given = caller_options(options)
    named = named_archs(given, arch)
    cuda = find_cuda()
    nvrtc = program.load(cuda.nvrtc)
    targets = _targets(named, target_type, known=nvrtc.supported_archs)
    for target in targets:
        _check_supported(nvrtc, cuda, target, detected=not named)
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
    if len(targets) == 1:
        return unit.compile(nvrtc, cuda, targets[0], target_type)
    from .nvfatbin import join
    from .parallel import in_parallel

    cuda.require("nvfatbin")
    return join(in_parallel(partial(unit.compile, nvrtc, cuda), targets), cuda=cuda)


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
    found = resolve_archs(arch, options)
    if len(found) > 1:
        raise ValueError(f"there are several architectures, {', '.join(found)}: use resolve_archs")
    return found[0]


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
    return _targets(named, known=lambda: known_archs(find_cuda()))


def version() -> tuple[int, int]:
    """Return the version of the NVRTC in use, such as ``(12, 9)``; loads it.

    Raises
    ------
    ToolchainError
        It is missing.
    """
    return program.load(find_cuda().nvrtc).version()


def known_archs(cuda: Cuda) -> tuple[int, ...]:
    """Return the architecture numbers that an NVRTC compiles for; loads it once an installation."""
    from .. import identity

    def ask() -> str:
        return " ".join(map(str, program.load(cuda.nvrtc).supported_archs()))

    # What is loaded does not tell what the file is now.
    is_other = libraries.replacement()
    text = ask() if is_other else identity.remember(cuda.nvrtc, ask, what="architectures")
    return tuple(map(int, text.split()))


def _targets(
    named: tuple[str, ...],
    target_type: str = "cubin",
    *,
    known: Callable[[], Collection[int]],
) -> tuple[str, ...]:
    """Return the architectures that a compilation goes to; `named` is empty where none is."""
    found = archs.resolve_archs(named or None, known=known)
    if target_type == "cubin":
        return found
    if len(found) > 1:
        raise ValueError(
            f"target_type={target_type!r} is made for one architecture at a time, got "
            f"{', '.join(found)}; call once for each"
        )
    if target_type != "ptx":
        return (archs.resolve_arch(found[0]),)
    base = f"compute_{number_of(found[0])}"
    if named and not found[0][-1].isdigit():
        raise ValueError(
            f"arch={found[0]!r}: PTX is compiled by newer devices, too, and what needs {found[0]} "
            f'is not for them; pass arch="{base}"'
        )
    return (base,)


def _check_supported(nvrtc: Nvrtc, cuda: Cuda, arch: str, *, detected: bool) -> None:
    """Raise unless an NVRTC compiles for an architecture, and say which one may."""
    supported = nvrtc.supported_archs()
    number = number_of(arch)
    if number in supported:
        return
    release = ".".join(map(str, nvrtc.version()))
    names = ", ".join(f"sm_{other}" for other in supported)
    if not detected and not is_known(number):
        raise ValueError(f"arch={arch!r}: NVRTC {release} does not know it; it knows {names}")
    remedy = f"another one may: pip install --upgrade 'tvmffi-cubin[cu{cuda.major}]'"
    if number > max(supported) and cuda.major < 13:
        remedy += " (or [cu13])"
    elif number < min(supported):
        remedy = "an older one may: pip install 'tvmffi-cubin[cu12]', then set TVMFFI_CUBIN_CUDA=12"
    raise ToolchainError(
        f"NVRTC {release} cannot compile for {arch}{' of this device' if detected else ''}: "
        f"it knows {names}; {remedy}"
    )


def _check_text(what: str, text: object, *, empty: bool = False) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string, got {type(text).__name__}")
    if not empty and not text.strip():
        raise ValueError(f"{what} is empty")
    if "\0" in text:
        raise ValueError(
            f"{what} holds a NUL character at offset {text.index(chr(0))}, where NVRTC would stop "
            "reading; remove it"
        )


def _sequence(what: str, given: object) -> tuple[object, ...]:
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a sequence, got {given!r}; pass a list")
    return tuple(given)


def _expressions(given: object) -> Iterator[str]:
    for expression in _sequence("name_expressions", given):
        _check_text("a name expression", expression)
        yield str(expression)


def _folders(paths: object) -> Iterator[Path]:
    for path in _sequence("include_paths", paths):
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"include_paths must hold paths, got {type(path).__name__} {path!r}")
        yield Path(path)
