"""What may help where the host compiler refuses what is nvcc's, or exports of what there is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .cuda.libraries import find_cuda
from .cuda.log import wheel_hint
from .split import Split

__all__ = ["host_hints", "lacks_header", "wide_hints"]

# Lines of a unit of ours that are no part of the source are its exports.
_NO_FUNCTION = re.compile(
    r"^mixed_host\.cc:[\d:]+ error: (?:['\u2018](?:::)?(\w+)['\u2019] was not declared"
    r"|use of undeclared identifier '(\w+)')",
    re.MULTILINE,
)
_OF_SOURCE = re.compile(r"^(?!mixed_host\.cc:)[^\n:]+:[\d:]+ (?:fatal )?error:", re.MULTILINE)
_UNKNOWN = re.compile(
    r"error: [^\n]*(?:was not declared|has not been declared|does not name|is not a member"
    r"|undeclared identifier|unknown type name|no member named)[^\n]*"
)
_NO_HEADER = re.compile(r"error: '?([^\s':]+)(?:: No such file|' file not found)")
_DEVICE_WIDE = re.compile(r"(?:thrust|cub)/")
_OF_THEIRS = re.compile(r"\b(?:thrust|cub)\b")
_SPARED = re.compile(r"\busing\s+namespace\s+(?:thrust|cub)\b")
# Errors in headers of theirs.
_IN_THEIRS = re.compile(r"^[^\n:]*/(?:thrust|cub)/[^\n:]*:[\d:]+ (?:fatal )?error:", re.MULTILINE)


def host_hints(cut: Split, output: str) -> Iterator[str]:
    """Iterate over what to do about a log of the host compiler's.

    Parameters
    ----------
    cut : Split
        What was compiled.
    output : str
        The log, with the user's lines.
    """
    if match := _NO_HEADER.search(output):
        yield wheel_hint(match[1], find_cuda()) or (
            f"{match[1]} was found in no include folder; name its folder in extra_include_paths"
        )
    missing = dict.fromkeys(name for found in _NO_FUNCTION.findall(output) for name in found)
    for name in filter(None, missing):
        # A function whose own line has an error is not declared, either.
        if not (_OF_SOURCE.search(output) and _has_function(cut, name)):
            yield f"functions names {name!r}, and the source has no function {name}"
    includes = (item.path for file in cut.files for item in file.include_items())
    headers = ", ".join(dict.fromkeys(f"<{path}>" for path in includes if _DEVICE_WIDE.match(path)))
    unknown = [match[0] for match in _UNKNOWN.finditer(output)]
    is_theirs = any(map(_OF_THEIRS.search, unknown)) or any(
        _SPARED.search(file.code) for file in cut.files
    )
    if headers and not missing and unknown and is_theirs:
        yield f'if host code calls what is in {headers}, only nvcc compiles that: compiler="nvcc"'


def wide_hints(output: str) -> Iterator[str]:
    """Iterate over what to do where a wrapper calls algorithms for the whole device.

    Parameters
    ----------
    output : str
        The host compiler's log.
    """
    unknown = (match[0] for match in _UNKNOWN.finditer(output))
    if _IN_THEIRS.search(output) or any(map(_OF_THEIRS.search, unknown)):
        yield (
            "only nvcc compiles the algorithms of Thrust, and of CUB for the whole device: "
            'compiler="nvcc"'
        )


def lacks_header(output: str) -> bool:
    """Whether a log of the host compiler's is about a header that there is not."""
    return _NO_HEADER.search(output) is not None


def _has_function(cut: Split, name: str) -> bool:
    items = [item for file in cut.files for item in file.cuda.items]
    while items:
        item = items.pop()
        if item.kind == "function" and name in item.names:
            return True
        items += item.children
    return False
