"""The caller's flags in a `Request`: checked, and in the form in which each compiler takes them."""

from __future__ import annotations

from typing import Any

from .arguments import flags

__all__ = ["COMPILERS", "checked_compiler", "cuda_flags", "host_flags"]

COMPILERS = ("nvrtc", "nvcc")
"""What may compile CUDA sources, the usual one first."""


def checked_compiler(value: Any) -> str:
    """Return the compiler of CUDA sources; raises TypeError and ValueError where it is none."""
    if value is None:
        return COMPILERS[0]
    choices = " or ".join(map(repr, COMPILERS))
    if not isinstance(value, str):
        raise TypeError(f"compiler is a str, {choices}, got {type(value).__name__}")
    if value not in COMPILERS:
        raise ValueError(f"compiler is {choices}, got {value!r}")
    return str(value)


def cuda_flags(value: Any, lto: Any, compiler: str) -> tuple[tuple[str, ...], bool]:
    """Return the flags of device code, and whether NVRTC's is optimised when it is linked.

    Raises
    ------
    TypeError, ValueError
        One is no flag, or `lto` no bool.
    """
    given = flags("extra_cuda_cflags", value)
    if compiler == "nvcc":
        from ..cuda.nvcc import caller_flags

        given = caller_flags(given)
    elif given:
        from ..cuda.options import without_separation

        given, asked = without_separation(given)
        lto = asked if lto is None else lto
    if not isinstance(lto, bool | None):
        raise TypeError(f"lto is True or False, got {lto!r}")
    return given, bool(lto)


def host_flags(what: str, value: Any) -> tuple[str, ...]:
    """Return flags for the host compiler or the linker; raises TypeError, ValueError."""
    given = flags(what, value)
    if given:
        from ..host.flag_paths import absolute

        given = absolute(given)
    return given
