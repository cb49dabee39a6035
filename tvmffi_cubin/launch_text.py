"""Launches as C++ has them: what stands for ``callee<<<config>>>(args)`` in host code."""

from __future__ import annotations

import re

from .cuda_item import Launch
from .text_edits import Edit, copied

__all__ = ["launch_edits"]

_BREAK = re.compile(r"\\?\r?\n")
_OPENS = "::tvmffi_cubin::KernelLaunch("


def launch_edits(text: str, launch: Launch) -> list[Edit]:
    """Return the edits that turn a launch into a call of the kernel's stub.

    The configuration and the arguments stay where they are, so that messages about them need no
    mapping; the callee is what moves.
    """
    callee, config, args, _ = launch
    breaks = _BREAK.findall(text, callee.start, config.start)
    return [
        Edit(callee.start, config.start, f"({_OPENS}" + "".join(breaks)),
        Edit(config.end, config.end, "), "),
        copied(text, *callee, at=config.end),
        Edit(config.end, config.end + len(">>>"), ""),
        Edit(args.end + 1, args.end + 1, ")"),
    ]
