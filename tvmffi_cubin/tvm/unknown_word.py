"""`unknown_word`: what a message says of a word that is none of those that are known."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["unknown_word"]

_AXIS = re.compile(r"(?<=[._])[xyz]\Z")
# Spellings of words that are known without them.
_OTHERS = ("tirx.", "cluster_dim_")


def unknown_word(word: str, known: Iterable[str]) -> str:
    """Return the word, the one that may be meant, and all that are known."""
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(word[:80], known, 1)
    hint = f"; is {close[0]!r} meant?" if close else ""
    listed = dict.fromkeys(_AXIS.sub("x|y|z", x) for x in known if not x.startswith(_OTHERS))
    return f"{word[:80]!r}, which is not known{hint}\nknown are {', '.join(listed)}"
