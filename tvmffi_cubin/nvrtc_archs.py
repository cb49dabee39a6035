"""What an NVRTC compiles for: which architectures it knows, which ones a compilation goes to."""

from __future__ import annotations

from collections.abc import Callable, Collection

from . import identity
from .arch import is_known, number_of, resolve_arch, resolve_archs
from .cuda_wheels import Cuda
from .errors import ToolchainError
from .library_build import replacement
from .nvrtc_library import NvrtcLibrary

__all__ = ["check_supported", "known_archs", "targets"]


def known_archs(cuda: Cuda) -> tuple[int, ...]:
    """Return the architecture numbers that an NVRTC compiles for; loads it once an installation.

    Raises
    ------
    ToolchainError
        It cannot be loaded.
    """

    def ask() -> str:
        return " ".join(map(str, NvrtcLibrary.load(cuda.nvrtc).supported_archs()))

    # What is loaded does not tell what the file is now.
    text = ask() if replacement() else identity.remember(cuda.nvrtc, ask, what="architectures")
    return tuple(map(int, text.split()))


def targets(
    named: tuple[str, ...],
    target_type: str = "cubin",
    *,
    known: Callable[[], Collection[int]] | None = None,
) -> tuple[str, ...]:
    """Return the architectures that a compilation goes to.

    Parameters
    ----------
    named : tuple of str
        What the caller named, empty where nothing was: then see `resolve_archs`.
    target_type : str
        What is to be made, see `tvmffi_cubin.nvrtc.compile`.
    known : callable, optional
        As in `resolve_archs`.

    Raises
    ------
    ToolchainError
        Nothing is named and there is no device.
    TypeError, ValueError
        They are no architectures, or not ones of which this can be made.
    """
    archs = resolve_archs(named or None, known=known)
    if target_type == "cubin":
        return archs
    if len(archs) > 1:
        raise ValueError(
            f"target_type={target_type!r} is made for one architecture at a time, got "
            f"{', '.join(archs)}; call once for each"
        )
    if target_type == "ptx":
        return (_ptx_arch(archs[0], explicit=bool(named)),)
    return (resolve_arch(archs[0]),)


def _ptx_arch(arch: str, *, explicit: bool) -> str:
    base = f"compute_{number_of(arch)}"
    if explicit and not arch[-1].isdigit():
        raise ValueError(
            f"arch={arch!r}: PTX is compiled by newer devices, too, and what needs {arch} is not "
            f'for them; pass arch="{base}"'
        )
    return base


def check_supported(library: NvrtcLibrary, cuda: Cuda, arch: str, *, detected: bool) -> None:
    """Raise unless an NVRTC compiles for an architecture.

    Raises
    ------
    ToolchainError
        Another NVRTC may; the message says which.
    ValueError
        The caller named it, and none does.
    """
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
