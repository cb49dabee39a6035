"""`Nvrtc`: NVRTC through cuda-python, in calls that Ctrl-C leaves.

A call has a large stack, and is refused in a child that was forked amid another.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import CubinError, ToolchainError
from . import libraries

SUCCESS = 0
INVALID_OPTION = 5
COMPILATION = 6
_PCH_HEAP_EXHAUSTED = 14

_T = TypeVar("_T")
Stop = ctypes.Array[ctypes.c_char]
"""An empty C string, until nobody wants the result of a call."""

# Bytes of address space. Deeply nested source overflows a thread's usual 8 MB, which ends the
# process; on the first thread of a process alone NVRTC sees to it itself.
_STACK = 256 << 20
# Seconds for which the end of a process waits for what was left.
_PATIENCE = 1.0
# Bytes: more than any libc's struct sigaction, whose first member is the handler.
_ACTION = 256

_guard = threading.RLock()
_running: set[Call[Any]] = set()
_is_broken = False
_prepared: dict[Path, Call[tuple[int, int]]] = {}
_loaded: dict[Path, Nvrtc] = {}


# Calls


class Call(threading.Thread, Generic[_T]):
    """Some work under way in a thread with a large stack."""

    def __init__(self, work: Callable[[Stop], _T]) -> None:
        if _is_broken:
            raise CubinError(
                "this process was forked while another of its threads compiled: what CUDA's "
                "compilers had locked is never unlocked here; fork before, or start the process "
                "with the multiprocessing method 'spawn'"
            )
        super().__init__(daemon=True)
        self._work = work
        self._made: list[_T] = []
        self._error: BaseException | None = None
        self.stop = ctypes.create_string_buffer(2)
        _running.add(self)
        with _guard:
            before = threading.stack_size(_STACK)
            try:
                self.start()
            except RuntimeError:
                _running.discard(self)
                raise
            finally:
                threading.stack_size(before)

    def run(self) -> None:
        """Do the work."""
        try:
            self._made.append(self._work(self.stop))
        except BaseException as error:
            self._error = error
        finally:
            _running.discard(self)

    def result(self) -> _T:
        """Wait for the result, or for the error; where Ctrl-C ends the wait, the work is told."""
        try:
            self.join()
        except BaseException:
            self.stop[0] = b"\1"
            raise
        if self._error is not None:
            raise self._error
        return self._made[0]


def _leave() -> None:
    """Stop what is under way when the process ends: the libraries are about to be torn down."""
    end = time.monotonic() + _PATIENCE
    for call in list(_running):
        call.stop[0] = b"\1"
    while _running and time.monotonic() < end:
        time.sleep(0.001)


def _after_fork() -> None:
    global _is_broken, _guard
    _is_broken = _is_broken or bool(_running)
    _running.clear()
    _prepared.clear()
    _guard = threading.RLock()  # a thread that the child does not have may hold the old one


atexit.register(_leave)
os.register_at_fork(after_in_child=_after_fork)


# Loading


def prepare(path: Path) -> None:
    """Begin to map NVRTC and to compile an empty program with it, unless that was begun before.

    Its first compilation takes longer than all later ones, where there is a driver by 0.2 s (NVRTC
    13.0, H200). It is done by ctypes, beside the import of cuda-python and of all else.
    """
    with _guard:
        if path not in _prepared:
            _prepared[path] = Call(lambda _: _opened(path))


def load(path: Path) -> Nvrtc:
    """Return the NVRTC of a path."""
    found = _loaded.get(path)
    if found is not None:
        return found
    prepare(path)
    from cuda.bindings import nvrtc as api

    try:
        version = _prepared[path].result()
    except Exception:
        _prepared.pop(path, None)
        raise
    made = Nvrtc(path, api)
    used = made.version()
    if used != version:
        theirs, ours = (".".join(map(str, x)) for x in (used, version))
        raise ToolchainError(
            f"NVRTC {theirs} was loaded by another library before, and cuda-python uses that in "
            f"place of NVRTC {ours} of {path}: compile before that is imported, or set "
            f"TVMFFI_CUBIN_CUDA={used[0]} where that is installed"
        )
    return _loaded.setdefault(path, made)


def _opened(path: Path) -> tuple[int, int]:
    nvrtc = libraries.load(path, "NVRTC")
    major, minor, handle = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    version = major.value, minor.value
    # Some wheels' (13.0) does not look beside itself for what it opens by name.
    builtins = path.with_name(f"libnvrtc-builtins.so.{major.value}.{minor.value}")
    if builtins.is_file():
        ctypes.CDLL(str(builtins))
    nvrtc.nvrtcCreateProgram(ctypes.byref(handle), b"", b"empty.cu", 0, None, None)
    with _kept_signals() if version < (13, 2) else contextlib.nullcontext():
        nvrtc.nvrtcCompileProgram(handle, 0, None)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(handle))
    return version


@contextlib.contextmanager
def _kept_signals() -> Iterator[None]:
    """Keep what SIGINT and SIGTERM do from the first compilation of NVRTC before 13.2.

    It sets handlers that call ``exit``, and at its end the old ones, but so that no system call
    would ever again return because of Ctrl-C. A SIGINT that is ignored it leaves alone; so one that
    comes amid this compilation of nothing is lost.
    """
    libc = ctypes.CDLL(None)
    before = {x: ctypes.create_string_buffer(_ACTION) for x in (signal.SIGINT, signal.SIGTERM)}
    for number, action in before.items():
        libc.sigaction(number, None, action)
    ignored = ctypes.create_string_buffer(int(signal.SIG_IGN).to_bytes(8, "little"), _ACTION)
    libc.sigaction(signal.SIGINT, ignored, None)
    try:
        yield
    finally:
        for number, action in before.items():
            libc.sigaction(number, action, None)


# Compiling


class Compiled(NamedTuple):
    """What came out of one compilation; no image where it failed.

    `missing_pch_heap` are the bytes that a precompiled header takes that did not fit.
    """

    result: int
    log: str
    image: bytes
    lowered_names: dict[str, str]
    missing_pch_heap: int


class Nvrtc:
    """A loaded NVRTC; see `load`."""

    def __init__(self, path: Path, api: Any) -> None:
        self.path = path
        self.api = api

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function that is not expected to fail, and return what it gives."""
        result, *found = getattr(self.api, function)(*arguments)
        if result != SUCCESS:
            raise CubinError(f"{function} of {self.path} failed: {self.error_text(result)}")
        return found[0] if len(found) == 1 else tuple(found)

    def error_text(self, result: int) -> str:
        """Return NVRTC's own text for a result."""
        text: bytes = self.api.nvrtcGetErrorString(self.api.nvrtcResult(result))[1]
        return text.decode()

    def version(self) -> tuple[int, int]:
        """Return the version, major and minor."""
        major, minor = self.call("nvrtcVersion")
        return major, minor

    def supported_archs(self) -> tuple[int, ...]:
        """Return the architecture numbers that it compiles for, in order."""
        return tuple(self.call("nvrtcGetSupportedArchs"))

    @property
    def has_pch(self) -> bool:
        """Whether it can precompile headers."""
        return self.version() >= (12, 8)

    def grow_pch_heap(self, size: int) -> None:
        """Make the memory of precompiled headers larger, in bytes; all are made anew afterwards.

        Nothing may be compiled with precompiled headers meanwhile.
        """
        self.call("nvrtcSetPCHHeapSize", size)

    def compile(
        self,
        source: bytes,
        name: bytes,
        options: Sequence[bytes],
        *,
        kind: str,
        name_expressions: Sequence[str],
        stop: Stop,
    ) -> Compiled:
        """Compile a source to a cubin, LTO-IR or PTX; see `kernels.cubin.KINDS`."""
        handle = self.call("nvrtcCreateProgram", source, name, 0, None, None)
        try:
            if self.version() >= (12, 8):
                # Between its phases NVRTC asks a function of the caller's whether to go on. The
                # length of `stop` says it, and strlen needs no lock of Python's to tell.
                strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
                self.call("nvrtcSetFlowCallback", handle, strlen, ctypes.addressof(stop))
            for expression in name_expressions:
                self.call("nvrtcAddNameExpression", handle, expression.encode())
            (result,) = self.api.nvrtcCompileProgram(handle, len(options), list(options))
            log = self._read("nvrtcGetProgramLog", handle).rstrip(b"\0")
            text = log.decode("utf-8", "replace").strip("\n")
            missing = self._missing_pch_heap(handle) if b"-pch" in options else 0
            image, lowered = b"", {}
            if result == SUCCESS:
                getter = {"ltoir": "nvrtcGetLTOIR", "ptx": "nvrtcGetPTX"}.get(kind, "nvrtcGetCUBIN")
                image = self._read(getter, handle)
                for x in name_expressions:
                    lowered[x] = self.call("nvrtcGetLoweredName", handle, x.encode()).decode()
            return Compiled(int(result), text, image, lowered, missing)
        finally:
            self.api.nvrtcDestroyProgram(handle)

    def _missing_pch_heap(self, handle: Any) -> int:
        (status, *_) = self.api.nvrtcGetPCHCreateStatus(handle)
        if status != _PCH_HEAP_EXHAUSTED:
            return 0
        return int(self.call("nvrtcGetPCHHeapSizeRequired", handle))

    def _read(self, function: str, handle: Any) -> bytes:
        size = self.call(f"{function}Size", handle)
        if size < 2:  # Python shares bytes as short as this
            return b""
        data = bytes(size)
        self.call(function, handle, data)
        return data
