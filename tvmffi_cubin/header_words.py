"""`may_have_kernels`: a look at the user's headers that every look-up of sources can afford."""

from __future__ import annotations

from collections.abc import Sequence

from . import include_scan
from .cuda import preprocessor
from .sources.source import Source

__all__ = ["may_have_kernels"]


def may_have_kernels(
    sources: Sequence[Source], include_paths: Sequence[str], flags: Sequence[str]
) -> bool:
    """Return whether a header that sources include has the word for kernels; a file is read once.

    Parameters
    ----------
    sources : sequence of Source
        Sources without files of their own.
    include_paths, flags : sequence of str
        The user's header folders, and what the sources are compiled with.
    """
    if not (include_paths or flags) or not any(x.may_include_kernels for x in sources):
        return False
    parsed = preprocessor.parse(flags)
    first = (f'#include "{header}"\n' for header in parsed.first_headers)
    return include_scan.scan(
        (*first, *(source.text for source in sources)),
        (*parsed.folders, *include_paths),
        defines=parsed.macros,
    ).has_kernels
