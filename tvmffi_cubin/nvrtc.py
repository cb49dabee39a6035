"""CUDA source to a device image through NVRTC, without a toolkit and without a GPU."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import arch as archs
from . import compile_log
from .arch import is_known, number_of
from .cubin import KINDS, Cubin
from .cuda_wheels import Cuda, find_cuda
from .errors import CompileError, CubinError, ToolchainError
from .nvrtc_library import INVALID_OPTION, SUCCESS, NvrtcLibrary, Program
from .nvrtc_options import arch_option, caller_options, compile_options
from .toolchain import include_dir

__all__ = ["compile", "nvrtc_compile", "resolve_arch", "shim_dir", "version"]

# NVRTC searches quoted headers in the folder of the source's name, and the current folder must not
# decide what a source means. -no-source-include would stop headers from finding each other, too.
_NOWHERE = "/dev/null/kernel.cu"

_logger = logging.getLogger("tvmffi_cubin")


def compile(  # noqa: A001
    source: str,
    *,
    name: str = "kernel.cu",
    arch: str | None = None,
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    include_paths: Sequence[str | os.PathLike[str]] = (),
    epilogue: str = "",
    source_include: bool = False,
    target_type: str = "cubin",
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
    arch : str, optional
        Such as ``"sm_90a"``; see `resolve_arch`. The options may name it instead.
    options : sequence of str
        Options for NVRTC. Those of nvcc's that change nothing here (``-O3``,
        ``--expt-relaxed-constexpr``, ``-Xcompiler ...``) are left out.
    name_expressions : sequence of str
        Names of kernels, such as ``"scale<float, 4>"``: each is instantiated, and its symbol is
        in `Cubin.lowered_names`.
    include_paths : sequence of path
        Folders searched for headers, before CUDA's own.
    epilogue : str
        Text that is compiled after the source and is not part of it in messages.
    source_include : bool
        Whether headers are also searched in the folder of `name`, or in the current folder where
        it has none.
    target_type : str
        ``"cubin"``; ``"relocatable"`` for a cubin that is yet to be linked, ``"ltoir"`` for one
        that is also optimised when it is linked (both may refer to functions and variables of
        other units); ``"ptx"`` for text that the driver compiles.

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
    _check_text("epilogue", epilogue, empty=True)
    if isinstance(name_expressions, (str, bytes)):
        raise TypeError(
            f"name_expressions must be a sequence of strings, got {name_expressions!r}; pass a list"
        )
    for expression in name_expressions:
        _check_text("a name expression", expression)
    _check_target_type(target_type)
    given = caller_options(options)
    wanted = arch_option(given, arch)
    target = archs.resolve_arch(wanted)
    cuda = find_cuda()
    library = NvrtcLibrary.load(cuda.nvrtc)
    _check_supported(library, cuda, target, detected=wanted is None)
    command = compile_options(
        arch=target,
        options=given,
        shims=shim_dir(),
        include_paths=_folders(include_paths),
        cuda_includes=cuda.include_dirs,
        target_type=target_type,
    )
    source = source.removeprefix("\ufeff")  # the mark that some editors put first
    text = f"{source}\n{epilogue}" if epilogue else source
    alias = name
    if not source_include:
        text = f'#line 1 "{_escaped(name)}"\n{text}'
        alias = _NOWHERE
    with library.program(text.encode(), alias.encode()) as program:
        for expression in name_expressions:
            program.add_name_expression(expression.encode())
        result = program.compile([os.fsencode(option) for option in command])
        log = program.log().replace(_NOWHERE, name)
        if result != SUCCESS:
            raise _failure(library, cuda, result, log, name, source, target, command)
        image = _image(program, command, target_type)
        lowered = {item: program.lowered_name(item.encode()) for item in name_expressions}
    if log:
        own = [str(folder) for folder in cuda.include_dirs]
        level = logging.WARNING if compile_log.warns(log, headers=own) else logging.INFO
        _logger.log(level, "NVRTC on %s for %s:\n%s", name, target, log)
    return Cubin(image=image, arch=target, lowered_names=lowered, log=log, kind=target_type)


def nvrtc_compile(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: str | None = None,
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
    """Return the architecture that `compile` would compile for, without loading NVRTC.

    Parameters
    ----------
    arch : str, optional
        Such as ``"sm_90"``, ``"sm_90a"`` (with the features of this architecture alone) or
        ``"sm_100f"`` (with those of its family), taken as it is. None: what the options name, else
        the current device's (device 0's where the thread has no context), with the ``a`` suffix
        where the architecture has one.
    options : sequence of str
        Options for NVRTC, as `compile` takes them.

    Raises
    ------
    TypeError, ValueError
        It names no architecture, or `arch` and the options name different ones.
    ToolchainError
        Nothing names one and there is no device.
    """
    return archs.resolve_arch(arch_option(caller_options(options), arch))


def version() -> tuple[int, int]:
    """Return the version of the NVRTC in use, such as ``(12, 9)``; loads it.

    Raises
    ------
    ToolchainError
        It is missing.
    """
    return NvrtcLibrary.load(find_cuda().nvrtc).version()


def shim_dir() -> Path:
    """Return the folder of the headers that stand in for those that NVRTC lacks."""
    return include_dir() / "tvmffi_cubin" / "nvrtc"


def _check_text(what: str, text: object, *, empty: bool = False) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string, got {type(text).__name__}; pass CUDA C++ text")
    if not empty and not text.strip():
        raise ValueError(f"{what} is empty; pass CUDA C++ text")
    if "\0" in text:
        raise ValueError(
            f"{what} holds a NUL character at offset {text.index(chr(0))}, where NVRTC would stop "
            "reading; remove it"
        )


def _check_target_type(target_type: object) -> None:
    if target_type not in KINDS:
        known = ", ".join(map(repr, KINDS))
        raise ValueError(f"target_type={target_type!r}: there are {known}")


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _folders(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"include_paths must be a sequence of paths, got {paths!r}; pass a list")
    return [Path(path) for path in paths]


def _check_supported(library: NvrtcLibrary, cuda: Cuda, arch: str, *, detected: bool) -> None:
    supported = library.supported_archs()
    number = number_of(arch)
    if number in supported:
        return
    release = ".".join(map(str, library.version()))
    names = ", ".join(f"sm_{other}" for other in supported)
    if not detected and not is_known(number):
        raise ValueError(f"arch={arch!r}: NVRTC {release} knows no such one; it knows {names}")
    if number > max(supported):
        remedy = (
            f"install a newer one, run: pip install --upgrade 'tvmffi-cubin[cu{cuda.major}]'"
            + ("" if cuda.major == 13 else " (or [cu13])")
        )
    elif number < min(supported):
        remedy = "an older one may: pip install 'tvmffi-cubin[cu12]', then set TVMFFI_CUBIN_CUDA=12"
    else:
        remedy = "install another one, run: pip install --upgrade 'tvmffi-cubin[cu13]'"
    raise ToolchainError(
        f"NVRTC {release} cannot compile for {arch}{' of this device' if detected else ''}: "
        f"it knows {names}; {remedy}"
    )


def _image(program: Program, command: tuple[str, ...], target_type: str) -> bytes:
    image = program.output(target_type)
    if not image:
        raise ValueError(
            "NVRTC made no image: one of the options asks for another kind of output "
            f"({' '.join(command)}); leave out -dlto, -ptx and the like, and say target_type="
        )
    return image


def _failure(
    library: NvrtcLibrary,
    cuda: Cuda,
    result: int,
    log: str,
    name: str,
    source: str,
    arch: str,
    command: tuple[str, ...],
) -> CubinError | ValueError:
    if result == INVALID_OPTION:
        release = ".".join(map(str, library.version()))
        return ValueError(
            f"NVRTC {release} refuses an option: {log or library.error_text(result)}; "
            f"the options were: {' '.join(command)}"
        )
    text = compile_log.annotate(log, name=name, source=source) or library.error_text(result)
    advice = compile_log.hints(log, arch=arch, wheels=cuda.wheels)
    return CompileError(
        "\n".join((f"{name} does not compile for {arch}:", text, *(f"Hint: {x}" for x in advice))),
        log=log,
        source=source,
        options=command,
    )
