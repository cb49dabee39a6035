"""Headers of device sources, precompiled by NVRTC and used again while the process lives.

NVRTC's precompiled headers are images of its memory: no other process can use them. It looks at
the options and the first directives of a source, and not at the headers themselves, whether they
have changed; that is done here.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from .. import include_scan
from ..cache.files import changed_ns, start_ns
from ..cache.key import Key
from ..cache.record import Files, Reads
from ..cuda import preprocessor
from ..cuda.program import COMPILATION, SUCCESS, Compiled, Nvrtc
from ..later import Later
from .nvrtc_pch_store import Seen, Store
from .nvrtc_prefix import find_prefix

__all__ = ["compiled"]

# Where a source includes one of these, reading headers takes most of its compile time.
_HEAVY = re.compile(r"(?:cub|cuda|thrust)/|cooperative_groups")
_LIGHT = re.compile(r"cuda/(?:std/)?(?:version|cstdint|cstddef|climits|cfloat|limits|ptx)\Z")

# Two thirds of the time that cuda/std takes are lists of types of up to this length, which CCCL
# spells out one by one: 16 for NVRTC, 10 for nvcc. It makes no difference to what they mean.
_UNROLL = "_CCCL_META_UNROLL_LIMIT"

# That none could be made, for want of memory or else: the source is compiled all the same.
_QUIET = ("-pch-verbose=false", "-diag-suppress=639,20283")
_MESSAGE = re.compile(r'^"[^\n]*": (creating|using) precompiled header file "[^\n]*"\n*', re.M)
# NVRTC maps a file of its own size for them, which a limit or a quota may not let it have.
_BLAMED = re.compile(r"precompiled|\bPCH\b|unable to obtain mapped memory", re.IGNORECASE)

_logger = logging.getLogger("tvmffi_cubin")


def compiled(
    run: Callable[[str, tuple[str, ...]], Compiled],
    library: Nvrtc,
    whole: str,
    command: tuple[str, ...],
    *,
    alias: str,
    packages: Sequence[str],
    folder: str | None,
) -> Compiled:
    """Compile a source, with precompiled headers where they are worth it.

    Parameters
    ----------
    run : callable
        Compiles a text with options.
    library : Nvrtc
        What compiles.
    whole : str
        The text; it may begin with a ``#line``.
    command : tuple of str
        The options without those of precompiled headers.
    alias : str
        What NVRTC is told that the text is called.
    packages : sequence of str
        The header folders of this package and of NVIDIA's.
    folder : str, optional
        Where the source looks for headers first.
    """
    name, text = "", whole
    if whole.startswith("#line 1 "):
        line, _, text = whole.partition("\n")
        name = line.removeprefix("#line 1 ")
    search = _Search(preprocessor.parse(command), tuple(packages), folder)
    prefix = find_prefix(text)
    if not search.is_heavy("" if prefix is None else text[: prefix.end]):
        return run(whole, command)
    if _UNROLL not in search.flags.macros:
        command = (*command, f"-D{_UNROLL}=10")
    asked = any(re.match(r"--?(?:pch|create-pch|use-pch)\b", option) for option in command)
    if prefix is None or asked or not library.has_pch:
        return run(whole, command)
    shared = [option for option in command if not option.startswith("-frandom-seed")]
    key = Key("headers of NVRTC").add("command", shared).add("directives", prefix.directives)
    key.add("flags", search.flags.words).add("alias", alias).add("folder", folder)
    store = Store.of(library)
    kept = store.take(key.hexdigest())
    if kept is None:
        return run(whole, command)
    # NVRTC precompiles nothing where a #line comes before the end of the prefix, which is the first
    # token that is no directive: hence the semicolon.
    first, rest = text[: prefix.end], text[prefix.end :]
    parted = f"{first}\n;\n#line {prefix.lines + 1} {name}\n{rest}"
    seen = None
    try:
        # Beside NVRTC: to look at a thousand headers takes long enough, and they rarely change.
        started_ns = start_ns(time.time_ns()) if kept.seen is None else 0
        look = Later(partial(search.observe, first, kept.seen, started_ns))
        done = run(parted, (*command, "-pch", f"-pch-dir={kept.path}", *_QUIET))
        store.note_heap(done.missing_pch_heap)
        seen = look.result()
    finally:
        # Whatever happened: others may wait for it.
        store.give_back(kept, seen)
    for message in _MESSAGE.finditer(done.log):
        verb = "made" if message[1] == "creating" else "used"
        _logger.debug("NVRTC %s a precompiled header for %s", verb, name.strip('"') or alias)
    log = _MESSAGE.sub("", done.log).strip("\n")
    is_of_source = done.result == COMPILATION and not _BLAMED.search(log)
    if kept.is_stale or not (done.result == SUCCESS or is_of_source):
        return run(whole, command)
    return done._replace(log=log)


@dataclass(frozen=True)
class _Search:
    """Where the headers of a source are."""

    flags: preprocessor.PreprocessorFlags
    packages: tuple[str, ...]
    folder: str | None

    def is_heavy(self, prefix: str) -> bool:
        """Whether the source, or a header of the user's, includes what takes long to read."""
        # Of this package's own headers some stand for such ones: <tuple> for <cuda/std/tuple>.
        scan = self._scan(prefix, self.packages[:1])
        names = include_scan.names((prefix,), scan.files)
        return any(_HEAVY.match(name) and not _LIGHT.match(name) for name in names)

    def observe(self, prefix: str, before: Seen | None, started_ns: int) -> Seen | None:
        """Return the headers as they are; None where one changed since, or is not known."""
        if before is not None:
            return before.check_packages()
        scan = self._scan(prefix, self.packages)
        if scan.unknown:
            return None
        roots = tuple(f"{folder}/" for folder in self.packages)
        packages = [path for path in scan.files if path.startswith(roots)]
        own = [path for path in (*scan.files, *scan.absent) if not path.startswith(roots)]
        files = Files({})
        made = Seen(*(Reads.observe(part, "", files, ()) for part in (own, packages)))
        changed = any(changed_ns(files.stamp(x)) >= started_ns for x in (*own, *packages))
        return None if changed else made

    def _scan(self, prefix: str, packages: Sequence[str]) -> include_scan.Scan:
        first = "".join(f'#include "{header}"\n' for header in self.flags.first_headers)
        return include_scan.scan(
            (first, prefix),
            [path for path in self.flags.folders if path not in self.packages],
            system_dirs=packages,
            directory=self.folder,
            defines=self.flags.macros,
        )
