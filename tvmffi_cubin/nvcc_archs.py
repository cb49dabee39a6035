"""`resolve`, `told`: the architectures that nvcc compiles for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .arch import resolve_archs
from .errors import ToolchainError
from .nvcc_flags import CODE, arch_values, names_archs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .nvcc import Nvcc

__all__ = ["resolve", "told"]

_SEPARATORS = re.compile(r"[\s\[\],]+")


def resolve(flags: Sequence[str], arch: Any, nvcc: Nvcc | None) -> tuple[str, ...]:
    """Return the architectures; none where flags name them, or none can be found out.

    Raises
    ------
    TypeError, ValueError
        `arch` is no architecture, or given beside flags that name some.
    """
    if names_archs(flags):
        if arch is not None:
            raise ValueError(
                f"the architecture is given twice: arch={arch!r}, and in nvcc's flags "
                "(extra_cuda_cflags, NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS); give it once"
            )
        return ()
    if arch is not None:
        return resolve_archs(arch)
    known = None if nvcc is None or not nvcc.archs else lambda: nvcc.archs
    try:
        return resolve_archs(known=known, newer="a newer nvcc may know it")
    except ToolchainError:
        # Whoever compiles asks again, and passes the error on.
        return ()


def told(flags: Sequence[str], archs: Sequence[str]) -> tuple[str, ...]:
    """Return what is said of the architectures of a module: `archs`, or what flags name instead.

    That is what code is made for: ``-gencode``'s ``code``, ``-code``, or else ``-arch``.
    """
    if archs:
        return tuple(archs)
    given = arch_values(flags)
    pairs = [value.partition("code=")[2] for option, value in given if "code=" in value]
    codes = [value for option, value in given if option in CODE]
    plain = [value for option, value in given if option not in CODE and "=" not in value]
    found = [word for text in (*pairs, *(codes or plain)) for word in _SEPARATORS.split(text)]
    return tuple(dict.fromkeys(word.replace("lto_", "sm_") for word in found if word))
