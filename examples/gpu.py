"""What every example asks first: for which GPU to compile, and whether it can launch."""

from __future__ import annotations

import importlib.util

import tvmffi_cubin as tc


def arch() -> str:
    """Return the GPU's architecture, or one to compile for where there is no GPU."""
    return _gpu() or "sm_90a"


def no_launch(*libraries: str) -> str | None:
    """Return why an example cannot launch here; None where it can.

    It launches on arrays of one of the `libraries`, of torch by default.
    """
    if _gpu() is None:
        return "there is no GPU here"
    wanted = libraries or ("torch",)
    if not any(importlib.util.find_spec(name) for name in wanted):
        return f"the example launches on arrays of {' or '.join(wanted)}, which is not installed"
    return None


def _gpu() -> str | None:
    try:
        return tc.nvrtc.resolve_arch()
    except tc.ToolchainError:
        return None
