"""Helpers of every example: which architecture to compile for, and whether it can launch."""

from __future__ import annotations

import importlib.util

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import driver


def arch() -> str | tuple[str, ...]:
    """Return the default architectures to compile for, or a fixed one without a GPU."""
    try:
        archs = tc.nvrtc.resolve_archs()
    except tc.ToolchainError:
        return "sm_90a"
    return archs[0] if len(archs) == 1 else archs


def no_launch(*libraries: str) -> str | None:
    """Return why an example cannot launch here, or None if it can.

    It launches on arrays from one of the `libraries`, by default torch.
    """
    if driver.device_count() == 0:
        return "there is no GPU here"
    wanted = libraries or ("torch",)
    if not any(importlib.util.find_spec(name) for name in wanted):
        return f"the example launches on arrays of {' or '.join(wanted)}, which is not installed"
    return None
