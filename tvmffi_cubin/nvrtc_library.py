"""libnvrtc through ctypes: a program is freed on every way out."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .cuda_library import CudaLibrary
from .fork_guard import not_forking
from .kept_signals import KeptSignals

__all__ = ["NvrtcLibrary", "Program"]

INVALID_OPTION = 5
COMPILATION = 6
PCH_HEAP_EXHAUSTED = 14

_Handle = ctypes.c_void_p
_Strings = ctypes.POINTER(ctypes.c_char_p)
_PROTOTYPES: dict[str, list[type]] = {
    "nvrtcVersion": [ctypes.c_void_p, ctypes.c_void_p],
    "nvrtcGetNumSupportedArchs": [ctypes.c_void_p],
    "nvrtcGetSupportedArchs": [ctypes.c_void_p],
    "nvrtcCreateProgram": [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
        _Strings,
        _Strings,
    ],
    "nvrtcDestroyProgram": [ctypes.c_void_p],
    "nvrtcAddNameExpression": [_Handle, ctypes.c_char_p],
    "nvrtcCompileProgram": [_Handle, ctypes.c_int, _Strings],
    "nvrtcGetLoweredName": [_Handle, ctypes.c_char_p, ctypes.c_void_p],
    "nvrtcGetProgramLogSize": [_Handle, ctypes.c_void_p],
    "nvrtcGetProgramLog": [_Handle, ctypes.c_char_p],
    "nvrtcGetCUBINSize": [_Handle, ctypes.c_void_p],
    "nvrtcGetCUBIN": [_Handle, ctypes.c_char_p],
    "nvrtcGetPTXSize": [_Handle, ctypes.c_void_p],
    "nvrtcGetPTX": [_Handle, ctypes.c_char_p],
    "nvrtcGetLTOIRSize": [_Handle, ctypes.c_void_p],
    "nvrtcGetLTOIR": [_Handle, ctypes.c_char_p],
}
_GETTERS = {
    "cubin": "nvrtcGetCUBIN",
    "relocatable": "nvrtcGetCUBIN",
    "ltoir": "nvrtcGetLTOIR",
    "ptx": "nvrtcGetPTX",
}


# Those that have compiled something in this process, or begun to.
_used: set[Path] = set()


class NvrtcLibrary(CudaLibrary):
    """A loaded libnvrtc."""

    title = "NVRTC"
    prefix = "nvrtc"
    prototypes = _PROTOTYPES

    def open_parts(self) -> None:
        """Load what NVRTC opens by name: some wheels' (13.0) does not look beside itself."""
        release = ".".join(map(str, self.version()))
        builtins = self.path.with_name(f"libnvrtc-builtins.so.{release}")
        if builtins.is_file():
            ctypes.CDLL(str(builtins))

    def supported_archs(self) -> tuple[int, ...]:
        """Return the architecture numbers that it compiles for, in order."""
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", numbers)
        return tuple(numbers)

    @property
    def has_pch(self) -> bool:
        """Whether it can precompile headers, as NVRTC can from 12.8 on."""
        return hasattr(self.library, "nvrtcGetPCHCreateStatus")

    @property
    def has_random_seed(self) -> bool:
        """Whether it knows ``-frandom-seed``, as NVRTC does from 12.9 on."""
        return self.version() >= (12, 9)

    @cached_property
    def signals(self) -> KeptSignals | None:
        """What keeps signals the caller's from NVRTC before 13.2."""
        if self.version() >= (13, 2):
            return None
        return KeptSignals(self.library.nvrtcCompileProgram)

    def warm_up(self) -> None:
        """Do what the first compilation of a process does beside compiling, unless there was one.

        Where there is a driver that takes long: 0.2 s (NVRTC 13.0, H200, 2026-11-22).
        """
        if self.path not in _used:
            with self.program(b"", b"empty.cu") as program:
                program.compile(())

    def grow_pch_heap(self, size: int) -> None:
        """Make the memory of precompiled headers larger; they are all made anew afterwards.

        Parameters
        ----------
        size : int
            In bytes. Nothing may be compiled with precompiled headers meanwhile.
        """
        self.call("nvrtcSetPCHHeapSize", ctypes.c_size_t(size))

    @contextmanager
    def program(self, source: bytes, name: bytes) -> Iterator[Program]:
        """Create a program for the duration of a with statement."""
        handle = ctypes.c_void_p()
        with not_forking():
            self.call("nvrtcCreateProgram", ctypes.byref(handle), source, name, 0, None, None)
        try:
            yield Program(self, handle)
        finally:
            with not_forking():
                self.library.nvrtcDestroyProgram(ctypes.byref(handle))


@dataclass(frozen=True)
class Program:
    """A program of NVRTC, alive inside `NvrtcLibrary.program` only."""

    owner: NvrtcLibrary
    handle: ctypes.c_void_p

    def compile(self, options: Sequence[bytes]) -> int:
        """Compile and return NVRTC's result."""
        _used.add(self.owner.path)
        array = (ctypes.c_char_p * len(options))(*options)
        function, signals = self.owner.library.nvrtcCompileProgram, self.owner.signals

        def work() -> int:
            return int(function(self.handle, len(options), array))

        with not_forking():
            return work() if signals is None else signals.during(work, nothing_done=INVALID_OPTION)

    def add_name_expression(self, expression: bytes) -> None:
        """Ask for the instance and the lowered name of an expression; before `compile`."""
        self.owner.call("nvrtcAddNameExpression", self.handle, expression)

    def lowered_name(self, expression: bytes) -> str:
        """Return the symbol of a name expression."""
        text = ctypes.c_char_p()
        self.owner.call("nvrtcGetLoweredName", self.handle, expression, ctypes.byref(text))
        return (text.value or b"").decode()

    def missing_pch_heap(self) -> int:
        """Return the bytes that a precompiled header takes that did not fit; 0 where none did."""
        if self.owner.library.nvrtcGetPCHCreateStatus(self.handle) != PCH_HEAP_EXHAUSTED:
            return 0
        size = ctypes.c_size_t()
        self.owner.call("nvrtcGetPCHHeapSizeRequired", self.handle, ctypes.byref(size))
        return size.value

    def log(self) -> str:
        """Return the log, empty where there is none."""
        return self._read("nvrtcGetProgramLog").rstrip(b"\0").decode("utf-8", "replace").strip("\n")

    def output(self, kind: str) -> bytes:
        """Return what was made, empty where the options asked for another kind of output."""
        return self._read(_GETTERS[kind])

    def _read(self, function: str) -> bytes:
        return self.owner.read(function, self.handle)
