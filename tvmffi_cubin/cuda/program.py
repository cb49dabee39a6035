"""`Nvrtc` and `Program`: NVRTC through cuda-python, in calls that Ctrl-C leaves.

A program is freed on every way out. A call has a large stack, and is refused in a child that was
forked amid another.
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
from typing import Any, TypeVar

from ..errors import CubinError, ToolchainError
from . import libraries

SUCCESS = 0
INVALID_OPTION = 5
COMPILATION = 6
PCH_HEAP_EXHAUSTED = 14

_T = TypeVar("_T")

# Bytes of address space. Deeply nested source overflows a thread's usual 8 MB, which ends the
# process; on the first thread of a process alone NVRTC sees to it itself.
_STACK = 256 << 20
# Seconds for which the end of a process waits for what was left.
_PATIENCE = 1.0
_GETTERS = {
    "cubin": "nvrtcGetCUBIN",
    "relocatable": "nvrtcGetCUBIN",
    "ltoir": "nvrtcGetLTOIR",
    "ptx": "nvrtcGetPTX",
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Bytes: more than any libc's struct sigaction, whose first member is the handler.
_ACTION = 256

_guard = threading.Lock()
_running: set[Call] = set()
_is_broken = False
_prepared: dict[Path, _Prepared] = {}
_loaded: dict[Path, Nvrtc] = {}


# Calls


class Call:
    """A call that is under way; `stop` is an empty C string until nobody wants its result."""

    def __init__(self) -> None:
        if _is_broken:
            raise CubinError(
                "this process was forked while another of its threads compiled: what CUDA's "
                "compilers had locked is never unlocked here; fork before, or start the process "
                "with the multiprocessing method 'spawn'"
            )
        self.stop = ctypes.create_string_buffer(2)
        _running.add(self)


@contextlib.contextmanager
def under_way() -> Iterator[None]:
    """Be inside a library for a with statement; an error in a child forked amid such a call."""
    call = Call()
    try:
        yield
    finally:
        _running.discard(call)


def apart(work: Callable[[Call], _T]) -> _T:
    """Return the result of some work, done in a thread with a large stack.

    Ctrl-C ends the wait; the work is told so, and its result is dropped.
    """
    found: list[_T] = []
    failed: list[BaseException] = []
    done = threading.Lock()
    done.acquire()
    call = Call()

    def run() -> None:
        try:
            found.append(work(call))
        except BaseException as error:
            failed.append(error)
        finally:
            _running.discard(call)
            done.release()

    try:
        with _guard:
            before = threading.stack_size(_STACK)
            try:
                threading.Thread(target=run, daemon=True).start()
            finally:
                threading.stack_size(before)
    except RuntimeError:  # no thread can be started, or none with so much memory
        run()
    try:
        done.acquire()
    except BaseException:
        call.stop[0] = b"\1"
        raise
    if failed:
        raise failed[0]
    return found[0]


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
    _guard = threading.Lock()  # a thread that the child does not have may hold the old one


atexit.register(_leave)
os.register_at_fork(after_in_child=_after_fork)


# Loading


class _Prepared:
    """NVRTC being mapped in a thread that needs no lock of Python's."""

    def __init__(self, path: Path, options: Sequence[bytes]) -> None:
        self.path = path
        self.options = options
        self.version = (0, 0)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            with under_way():
                self.version = _opened(self.path, self.options)
        except BaseException as error:
            self.error = error

    def wait(self) -> tuple[int, int]:
        """Wait until it is ready and return its version; raises what went wrong."""
        self.thread.join()
        if self.error is not None:
            raise self.error
        return self.version


def prepare(path: Path, options: Sequence[bytes] = ()) -> None:
    """Begin to map NVRTC and to compile an empty program with it, unless that was begun before.

    Its first compilation takes longer than all later ones, where there is a driver by 0.2 s (NVRTC
    13.0, H200). It is done by ctypes, beside the import of cuda-python and of all else.
    """
    with _guard:
        if path not in _prepared:
            _prepared[path] = _Prepared(path, options)


def load(path: Path) -> Nvrtc:
    """Return the NVRTC of a path."""
    found = _loaded.get(path)
    if found is not None:
        return found
    # Nothing overlaps it but an import: a header that is not there ends this program where NVRTC
    # has set itself up and compiled nothing.
    prepare(path, [b"--pre-include=/dev/null/none.h"])
    try:
        from cuda.bindings import nvrtc as api
    except ImportError as error:
        raise ToolchainError(
            f"cuda-python is missing ({error}); run: pip install cuda-bindings"
        ) from error
    try:
        version = _prepared[path].wait()
    except BaseException:
        with _guard:
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


def _opened(path: Path, options: Sequence[bytes]) -> tuple[int, int]:
    nvrtc = libraries.load(path, "NVRTC")
    major, minor = ctypes.c_int(), ctypes.c_int()
    handle = ctypes.c_void_p()
    try:
        nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except AttributeError as error:
        raise ToolchainError(f"NVRTC could not be loaded from {path}: {error}") from None
    version = major.value, minor.value
    # Some wheels' (13.0) does not look beside itself for what it opens by name.
    builtins = path.with_name(f"libnvrtc-builtins.so.{major.value}.{minor.value}")
    if builtins.is_file():
        ctypes.CDLL(str(builtins))
    nvrtc.nvrtcCreateProgram(ctypes.byref(handle), b"", b"empty.cu", 0, None, None)
    words = (ctypes.c_char_p * len(options))(*options)
    with _kept_signals() if version < (13, 2) else contextlib.nullcontext():
        nvrtc.nvrtcCompileProgram(handle, len(options), words)
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
    before = []
    for number in _SIGNALS:
        action = ctypes.create_string_buffer(_ACTION)
        libc.sigaction(number, None, action)
        before.append(action)
    ignored = ctypes.create_string_buffer(int(signal.SIG_IGN).to_bytes(8, "little"), _ACTION)
    libc.sigaction(signal.SIGINT, ignored, None)
    try:
        yield
    finally:
        for number, action in zip(_SIGNALS, before, strict=True):
            libc.sigaction(number, action, None)


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

    @property
    def has_random_seed(self) -> bool:
        """Whether it knows ``-frandom-seed``."""
        return self.version() >= (12, 9)

    def grow_pch_heap(self, size: int) -> None:
        """Make the memory of precompiled headers larger, in bytes; all are made anew afterwards.

        Nothing may be compiled with precompiled headers meanwhile.
        """
        self.call("nvrtcSetPCHHeapSize", size)

    @contextlib.contextmanager
    def program(self, source: bytes, name: bytes, call: Call) -> Iterator[Program]:
        """Create a program for the duration of a with statement."""
        handle = self.call("nvrtcCreateProgram", source, name, 0, None, None)
        try:
            yield Program(self, handle, call)
        finally:
            self.api.nvrtcDestroyProgram(handle)


class Program:
    """A program of NVRTC, alive inside `Nvrtc.program` only."""

    def __init__(self, owner: Nvrtc, handle: Any, call: Call) -> None:
        self.owner = owner
        self.handle = handle
        if owner.version() >= (12, 8):
            # Between its phases NVRTC asks a function of the caller's whether to go on. The length
            # of `stop` says it, and strlen needs no lock of Python's to tell.
            strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
            owner.call("nvrtcSetFlowCallback", handle, strlen, ctypes.addressof(call.stop))

    def compile(self, options: Sequence[bytes]) -> int:
        """Compile and return NVRTC's result."""
        (result,) = self.owner.api.nvrtcCompileProgram(self.handle, len(options), list(options))
        return int(result)

    def add_name_expression(self, expression: bytes) -> None:
        """Ask for the instance and the lowered name of an expression; before `compile`."""
        self.owner.call("nvrtcAddNameExpression", self.handle, expression)

    def lowered_name(self, expression: bytes) -> str:
        """Return the symbol of a name expression."""
        name: bytes = self.owner.call("nvrtcGetLoweredName", self.handle, expression)
        return name.decode()

    def missing_pch_heap(self) -> int:
        """Return the bytes that a precompiled header takes that did not fit; 0 where none did."""
        (status, *_) = self.owner.api.nvrtcGetPCHCreateStatus(self.handle)
        if status != PCH_HEAP_EXHAUSTED:
            return 0
        return int(self.owner.call("nvrtcGetPCHHeapSizeRequired", self.handle))

    def log(self) -> str:
        """Return the log, empty where there is none."""
        return self._read("nvrtcGetProgramLog").rstrip(b"\0").decode("utf-8", "replace").strip("\n")

    def output(self, kind: str) -> bytes:
        """Return what was made, empty where the options asked for another kind of output."""
        return self._read(_GETTERS[kind])

    def _read(self, function: str) -> bytes:
        size = self.owner.call(f"{function}Size", self.handle)
        if size < 2:  # Python shares bytes as short as this
            return b""
        data = bytes(size)
        self.owner.call(function, self.handle, data)
        return data
