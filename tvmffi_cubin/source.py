"""`Source`: one source text, and the file that it was read from, if any."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["Source"]


class Source(NamedTuple):
    """One source.

    Attributes
    ----------
    text : str
        What is compiled.
    path : str or None
        The file that it was read from, absolute; None for text that came as an argument.
    """

    text: str
    path: str | None = None

    @property
    def folder(self) -> str | None:
        """Where its quoted includes are searched first; None for text without a file."""
        return None if self.path is None else os.path.dirname(self.path)
