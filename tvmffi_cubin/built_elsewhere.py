"""`find`: what other tools have built of a request, for a machine that lacks some."""

from __future__ import annotations

from . import cache as caches
from . import fields_record
from .entry import Entry
from .fields_record import FieldsRecord
from .module_key import module_key
from .request import Request
from .toolset import TOOLS
from .without_tools import look_around

__all__ = ["find"]

# What the last look-ups found, so that the next need not look for it: the key, by purpose and
# folders.
_known: dict[tuple[str, ...], str] = {}
_MOST_KNOWN = 1024


def find(request: Request, archs: tuple[str, ...]) -> Entry | str:
    """Return an entry that was built from the same as a request asks for, or why there is none.

    Which compilers, assembler, linker and CUDA made it does not matter, nor whether the files that
    they read are here; one that is here and differs does.

    Raises
    ------
    ToolchainError
        tvm-ffi or this package's own headers are missing; or ``CXX`` or ``CC`` names a compiler
        that is.
    """
    here = look_around(needs_c=bool(request.files.c))
    cache = caches.default(here.roots)
    key = module_key(request, archs, here)
    place = key.hexdigest(without=TOOLS), *cache.folders
    known = _known.get(place)
    if known is not None and isinstance(found := cache.find(known, may_lack=True), Entry):
        return found
    reasons = []
    for record in fields_record.of_same_purpose(cache.folders, place[0]):
        found = cache.find(record.base_key, may_lack=True)
        if isinstance(found, Entry):
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[place] = record.base_key
            return found
        reasons.append(found.reason)
    if reasons:
        return reasons[0]
    others = fields_record.of_same_name(cache.folders, request.name)
    return FieldsRecord.of(key, request.name).explain(others, without=TOOLS)
