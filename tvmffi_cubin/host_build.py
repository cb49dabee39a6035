"""`run`: a plan with host code → a shared object, with precompiled headers where they help."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from . import host_pch, pch_maker
from .cache.files import remove
from .cache.store import Cache
from .errors import BuildError
from .host import build
from .host.ninja import depfile_name
from .host.plan import BuildPlan, Cxx
from .host_pch import Precompiled

if TYPE_CHECKING:
    from .inline.tools import Toolset

__all__ = ["run"]

# A compiler's words where the precompiled headers are to blame, or may be: a damaged file can make
# it fail in any way.
_BLAMED = re.compile(
    r"precompiled|\bPCH\b|\bAST file\b|internal compiler error|Segmentation fault|bug report"
    f"|{re.escape(pch_maker.HEADER)}"
)

_logger = logging.getLogger("tvmffi_cubin")


def run(
    plan: BuildPlan,
    directory: Path,
    files: Mapping[str, bytes | str],
    *,
    cache: Cache,
    tools: Toolset,
    use_pch: bool,
) -> list[str]:
    """Build a plan as `build.run` does, faster; return the headers that no depfile there lists.

    Parameters
    ----------
    plan, directory, files
        As in `build.run`.
    cache : Cache
        Where precompiled headers are kept.
    tools : Toolset
        The tools of the build.
    use_pch : bool
        Whether to use precompiled headers, and to have them made.

    Raises
    ------
    BuildError, ToolchainError, ValueError, OSError
        As `build.run`; what fails for want of good precompiled headers is built without them.
    """
    found: dict[Cxx, Precompiled] = {}
    for unit in plan.units if use_pch else ():
        if isinstance(unit, Cxx) and (headers := _find(cache, tools, unit)):
            found[unit] = headers
    if not found:
        build.run(plan, directory, files)
        return []
    units = [
        found[unit].apply(unit) if isinstance(unit, Cxx) and unit in found else unit
        for unit in plan.units
    ]
    more = dict.fromkeys(path for headers in found.values() for path in headers.objects)
    link = plan.link._replace(objects=(*plan.link.objects, *more))
    try:
        build.run(plan._replace(units=tuple(units), link=link), directory, files)
    except BuildError as error:
        if not _BLAMED.search(error.output):
            raise
        build.run(plan, directory, files)
        _logger.warning("precompiled headers failed and were removed: %s", error)
        for headers in found.values():
            remove(headers.folder)
        return []
    return _report(found, directory)


def _find(cache: Cache, tools: Toolset, unit: Cxx) -> Precompiled | None:
    try:
        return host_pch.find(cache, tools, unit)
    except (OSError, RuntimeError) as error:  # the latter where no thread can be started
        _logger.debug("%s: no precompiled headers: %s", unit.source, error)
        return None


def _report(found: Mapping[Cxx, Precompiled], directory: Path) -> list[str]:
    for unit in found:
        is_used = pch_maker.is_used(directory / depfile_name(unit))
        _logger.debug("%s: precompiled headers %s", unit.source, "used" if is_used else "ignored")
    return [path for headers in found.values() for path in headers.dependencies]
