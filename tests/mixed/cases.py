"""All mixed sources, by name."""

from __future__ import annotations

from . import algorithms, language, launching, memory, templates
from .case import Case

__all__ = ["CASES"]

CASES: dict[str, Case] = {
    name: case
    for module in (launching, templates, language, memory, algorithms)
    for name, case in module.GROUP.cases.items()
}
