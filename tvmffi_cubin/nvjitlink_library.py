"""libnvJitLink through ctypes: a link is freed on every way out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .cuda_library import SUCCESS, CudaLibrary
from .fork_guard import not_forking
from .link_run import LinkOutcome, LinkRun

__all__ = ["INPUT_TYPES", "UNKNOWN_OPTION", "NvJitLinkLibrary"]

UNKNOWN_OPTION = 1
INPUT_TYPES = {"relocatable": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
"""nvJitLinkInputType, by our name of the kind."""

_Handle = ctypes.c_void_p
# Names without a version are exported by every release from 12.6 on, beside those with one.
_PROTOTYPES: dict[str, list[type]] = {
    "nvJitLinkVersion": [ctypes.c_void_p, ctypes.c_void_p],
    "nvJitLinkCreate": [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_char_p)],
    "nvJitLinkDestroy": [ctypes.c_void_p],
    "nvJitLinkAddData": [
        _Handle,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
    ],
    "nvJitLinkComplete": [_Handle],
    "nvJitLinkGetErrorLogSize": [_Handle, ctypes.c_void_p],
    "nvJitLinkGetErrorLog": [_Handle, ctypes.c_char_p],
    "nvJitLinkGetInfoLogSize": [_Handle, ctypes.c_void_p],
    "nvJitLinkGetInfoLog": [_Handle, ctypes.c_char_p],
    "nvJitLinkGetLinkedCubinSize": [_Handle, ctypes.c_void_p],
    "nvJitLinkGetLinkedCubin": [_Handle, ctypes.c_char_p],
    "nvJitLinkGetLinkedPtxSize": [_Handle, ctypes.c_void_p],
    "nvJitLinkGetLinkedPtx": [_Handle, ctypes.c_char_p],
}


class NvJitLinkLibrary(CudaLibrary):
    """A loaded libnvJitLink."""

    title = "nvJitLink"
    prefix = "nvJitLink"
    prototypes = _PROTOTYPES

    def run(self, run: LinkRun) -> LinkOutcome:
        """Link."""
        with not_forking(), self._linking(run.options) as (created, link):
            if created != SUCCESS:
                log = link.error_log() if link.handle.value else ""
                return LinkOutcome("options", created, 0, log, "", b"")
            for position, (kind, data) in enumerate(zip(run.kinds, run.inputs, strict=True)):
                result = link.add(kind, data, f"input{position}")
                if result != SUCCESS:
                    return LinkOutcome("input", result, position, link.error_log(), "", b"")
            result = link.complete()
            logs = link.error_log(), link.info_log()
            if result != SUCCESS:
                return LinkOutcome("link", result, 0, *logs, b"")
            return LinkOutcome("", result, 0, *logs, link.ptx() if run.as_ptx else link.image())

    @contextmanager
    def _linking(self, options: Sequence[str]) -> Iterator[tuple[int, _Linking]]:
        """Begin a link for the duration of a with statement; the result may be a refusal."""
        handle = ctypes.c_void_p()
        encoded = [os.fsencode(option) for option in options]
        array = (ctypes.c_char_p * len(encoded))(*encoded)
        created = self.library.nvJitLinkCreate(ctypes.byref(handle), len(encoded), array)
        try:
            yield int(created), _Linking(self, handle)
        finally:
            # A link that could not begin has a handle too: it holds the log.
            if handle.value:
                self.library.nvJitLinkDestroy(ctypes.byref(handle))


@dataclass(frozen=True)
class _Linking:
    """A link under way, alive inside `NvJitLinkLibrary.run` only."""

    owner: NvJitLinkLibrary
    handle: ctypes.c_void_p
    _kept: list[bytes] = field(default_factory=list)

    def add(self, kind: str, data: bytes, name: str) -> int:
        """Add an input and return nvJitLink's result.

        Parameters
        ----------
        kind : str
            One of `INPUT_TYPES`.
        data : bytes
            The input.
        name : str
            What messages call it.
        """
        encoded = name.encode()
        # Its messages read the name where it lay: it takes no copy.
        self._kept.extend((encoded, data))
        add = self.owner.library.nvJitLinkAddData
        return int(add(self.handle, INPUT_TYPES[kind], data, len(data), encoded))

    def complete(self) -> int:
        """Link and return nvJitLink's result."""
        return int(self.owner.library.nvJitLinkComplete(self.handle))

    def error_log(self) -> str:
        """Return the errors, empty where there are none."""
        return self._text("nvJitLinkGetErrorLog")

    def info_log(self) -> str:
        """Return warnings and remarks, empty where there are none."""
        return self._text("nvJitLinkGetInfoLog")

    def image(self) -> bytes:
        """Return the linked cubin; after a `complete` that worked."""
        return self._read("nvJitLinkGetLinkedCubin")

    def ptx(self) -> bytes:
        """Return the linked PTX; after a `complete` that worked and was asked for it."""
        return self._read("nvJitLinkGetLinkedPtx").rstrip(b"\0")

    def _text(self, function: str) -> str:
        return self._read(function).rstrip(b"\0").decode("utf-8", "replace").strip("\n")

    def _read(self, function: str) -> bytes:
        return self.owner.read(function, self.handle)
