"""The files that assembly inside host code embeds: no compiler lists them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

__all__ = ["incbin_files"]

_PATH = re.compile(r'"(/[^"\\\n]+)\\?"')


def incbin_files(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files that sources may embed by ``.incbin``, and those that are not there.

    Every absolute path between quotes is one, in a text that speaks of ``incbin`` at all: macros
    make the directive of it. Relative paths would start at a folder that nobody else knows.
    """
    files: list[str] = []
    absent: list[str] = []
    for text in texts:
        for path in _PATH.findall(text) if "incbin" in text.lower() else ():
            (files if os.path.isfile(path) else absent).append(path)
    return files, [path for path in absent if not os.path.exists(path)]
