"""All mixed sources, by name."""

from . import language, launching, memory  # noqa: F401 - they add theirs
from .case import CASES as CASES
