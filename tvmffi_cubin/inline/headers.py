"""`HeaderSearch`: which headers the sources of a request read, or would read if they appeared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..cuda import nvrtc
from ..cuda.options import preprocessor_flags, read
from ..host import include_scan
from ..host.environment import header_folder_flags
from ..host.include_scan import Scan, parse_depfile
from ..host.steps import PRECOMPILED
from ..sources.sort import Sources
from ..sources.source import Source
from .request import Request
from .tools import Toolset


class HeaderSearch(NamedTuple):
    """The folders and flags of a request, with which its sources find their headers."""

    request: Request
    tools: Toolset

    @property
    def cuda_flags(self) -> tuple[str, ...]:
        """What CUDA sources are compiled with by the host compiler.

        nvcc would have compiled them, with its own flags.
        """
        given = self.request.cuda_cflags
        standard = [f"-std={value}" for name, value, _ in read(given) if name == "-std"]
        return (*standard, *preprocessor_flags(given).words, *self.request.cflags)

    @property
    def device_folders(self) -> tuple[str, ...]:
        """Where NVRTC finds headers after the user's folders."""
        return (os.fspath(nvrtc.shim_dir()), *self.tools.cuda_include_dirs)

    def device(self, sources: Sequence[Source]) -> Scan:
        """Return the headers that device sources may include, and those that would come first."""
        folders = self.device_folders
        return _joined(self._scan(sources, self.request.cuda_cflags, folders, nvrtc.HEADERS))

    def host(self, sources: Sequence[Source], flags: Sequence[str]) -> Scan:
        """Return the same for sources of the host compiler, which tells more after the fact."""
        options = (*self.tools.options, *flags, *header_folder_flags())
        return _joined(self._scan(sources, options))

    def all(self, sources: Sources) -> Scan:
        """Return the same for all sources of a request but the mixed ones."""
        cflags = self.request.cflags
        groups = [(sources.cuda_host, self.cuda_flags), (sources.cpp, cflags)]
        host = [self.host([x.source for x in group], flags) for group, flags in groups if group]
        for file in sources.files:
            host.append(
                self.host([file.source], self.cuda_flags if file.language == "cuda" else cflags)
            )
        device = self.device(sources.device)
        # What host sources include by macros, their compiler lists.
        return _joined([device, *(scan._replace(unknown=()) for scan in host)])

    def _scan(
        self,
        sources: Sequence[Source],
        options: Sequence[str],
        system: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Scan]:
        flags = preprocessor_flags(_expanded(options))
        texts: dict[tuple[str | None, tuple[str, ...]], list[str]] = {}
        for source in sources:
            texts.setdefault((source.folder, source.further_folders), [flags.first_lines]).append(
                source.text
            )
        for (folder, further), group in texts.items():
            yield include_scan.scan(
                group,
                (*flags.folders, *self.request.include_paths, *further),
                system_dirs=system,
                directory=folder,
                defines=flags.macros,
                texts=headers,
            )

    def hiding(self, read: Iterable[str]) -> tuple[str, ...]:
        """Return what would hide one of the headers that host code read, should it appear."""
        flags = (*self.tools.options, *self.cuda_flags, *header_folder_flags())
        folders = preprocessor_flags(_expanded(flags)).folders
        others = dict.fromkeys(filter(os.path.isabs, (*folders, *self.request.include_paths)))
        return include_scan.hidden_by([*others], read)

    def read(self, folder: Path) -> list[str]:
        """Return the files that the host compiler says it read, from a folder with its depfiles."""
        found = []
        for path in folder.glob("*.d"):
            found += parse_depfile(path.read_text(errors="surrogateescape"))
        return [path for path in found if os.path.basename(path) != PRECOMPILED]


def _expanded(options: Sequence[str]) -> Sequence[str]:
    if not any(option.startswith("@") for option in options):
        return options
    from ..host.flags import expanded

    return [*expanded(options)]


def _joined(scans: Iterable[Scan]) -> Scan:
    scans = [*scans]
    return Scan(
        tuple(path for scan in scans for path in scan.files),
        tuple(path for scan in scans for path in scan.absent),
        tuple(name for scan in scans for name in scan.unknown),
    )
