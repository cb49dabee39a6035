"""What is known of a preprocessor condition before any compiler has seen it."""

from __future__ import annotations

import re

__all__ = ["known"]

# What every compiler defines that sees either text, and what none of them does.
_DEFINED = {"__cplusplus": True, "__CUDACC__": True}
_UNDEFINED = (
    "_MSC_VER", "_WIN32", "_WIN64", "__APPLE__", "__HIPCC__", "__HIP__", "__HIP_DEVICE_COMPILE__",
    "__HIP_PLATFORM_AMD__",
)  # fmt: skip
_VALUES = _DEFINED | dict.fromkeys(_UNDEFINED, False)
_COMMENT = re.compile(r"//.*|/\*[\s\S]*?\*/|\\\r?\n")
_TEST = re.compile(
    r"(!?)\s*(?:defined\s*(?:\(\s*(\w+)\s*\)|(\w+))|(\d+)[uUlL]*|(true|false)|(\w+))"
)


def known(name: str, rest: str) -> bool | None:
    """Return whether a condition is true; None where that is the compilers' affair.

    Parameters
    ----------
    name, rest : str
        The directive's name (if, ifdef, ifndef, elif ...) and what follows it.
    """
    rest = _COMMENT.sub(" ", rest).strip()
    if name in ("ifdef", "elifdef", "ifndef", "elifndef"):
        value = _VALUES.get(rest)
        return value if value is None or not name.endswith("ndef") else not value
    alternatives = [_all_of(part) for part in rest.split("||")]
    if True in alternatives:
        return True
    return None if None in alternatives else False


def _all_of(text: str) -> bool | None:
    values = [_single(part.strip()) for part in text.split("&&")]
    if False in values:
        return False
    return None if None in values else True


def _single(text: str) -> bool | None:
    match = _TEST.fullmatch(text)
    if match is None:
        return None
    negated, in_brackets, bare, number, word, macro = match.groups()
    if number is not None:
        value: bool | None = (
            int(number) != 0 if not number.startswith("0") or number == "0" else None
        )
    elif word is not None:
        value = word == "true"
    else:
        value = _VALUES.get(in_brackets or bare or macro)
    return value if value is None or not negated else not value
