"""What every example asks first: for which GPU to compile, and whether it can launch."""

from __future__ import annotations

import importlib.util

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import driver


def arch() -> str | tuple[str, ...]:
    """Return what is compiled for by default, or an architecture where there is no GPU."""
    try:
        archs = tc.nvrtc.resolve_archs()
    except tc.ToolchainError:
        return "sm_90a"
    return archs[0] if len(archs) == 1 else archs


def no_launch(*libraries: str) -> str | None:
    """Return why an example cannot launch here; None where it can.

    It launches on arrays of one of the `libraries`, of torch by default.
    """
    if driver.device_count() == 0:
        return "there is no GPU here"
    wanted = libraries or ("torch",)
    if not any(importlib.util.find_spec(name) for name in wanted):
        return f"the example launches on arrays of {' or '.join(wanted)}, which is not installed"
    return None
