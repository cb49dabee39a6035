"""The architecture that Triton compiles for, from what the caller said or from the device."""

from __future__ import annotations

from typing import Any

from .. import arch as archs
from .installed import Installed

__all__ = ["gpu_target"]


def gpu_target(triton: Installed, arch: str | None) -> Any:
    """Return Triton's name of an architecture.

    Raises
    ------
    TypeError, ValueError
        It is none, or PTX's.
    ToolchainError
        None was given and there is no device.
    """
    name = archs.resolve_arch(arch)
    return triton.target("cuda", archs.number_of(name), 32)
