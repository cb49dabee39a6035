"""What every example asks first: for which GPU to compile, and whether it can launch."""

from __future__ import annotations

import importlib.util

import tvmffi_cubin as tc


def arch() -> str:
    """Return the GPU's architecture, or one to compile for where there is no GPU."""
    return _gpu() or "sm_90a"


def no_launch() -> str | None:
    """Return why an example cannot launch here; None where it can."""
    if _gpu() is None:
        return "there is no GPU here"
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed, and its tensors are what the example launches on"
    return None


def _gpu() -> str | None:
    try:
        return tc.nvrtc.resolve_arch()
    except tc.ToolchainError:
        return None
