"""`Nvrtc`: calls to NVRTC, on a large stack, that Ctrl-C can interrupt."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import CubinError, ToolchainError
from .arch import number_of
from .libraries import Library, find_cuda

SIDE_BY_SIDE = "--ptxas-options=--split-compile=8"
"""Assembles kernels in threads, the same number everywhere, because images record their options."""

_Input = TypeVar("_Input")
_T = TypeVar("_T")

# Bytes of address space: deeply nested source overflows a thread's default 8 MB.
_STACK = 256 << 20
# Bytes: more than any libc's struct sigaction, whose first member is the handler.
_ACTION = 256

_guard = threading.RLock()
_running: set[Call[Any]] = set()
_is_broken = False
_prepared = cache(lambda path: Call(lambda: Nvrtc(path)))


class Call(threading.Thread, Generic[_T]):
    """Work that runs in a thread with a large stack."""

    stop: ctypes.Array[ctypes.c_char]  # a C string; not empty once nobody needs the result

    def __init__(self, work: Callable[[], _T]) -> None:
        if _is_broken:
            raise CubinError(
                "process was forked while a thread was compiling: use multiprocessing's 'spawn'"
            )
        super().__init__(target=self._run, args=(work,), daemon=True)
        self._made: _T
        self._error: BaseException | None = None
        # Not `join`: before Python 3.13, a thread whose join Ctrl-C interrupts counts as ended.
        self.ended = threading.Event()
        parent = threading.current_thread()
        self.stop = parent.stop if isinstance(parent, Call) else ctypes.create_string_buffer(2)
        with _guard:
            before = threading.stack_size(_STACK)
            _running.add(self)
            try:
                self.start()
            finally:
                threading.stack_size(before)

    def _run(self, work: Callable[[], _T]) -> None:
        try:
            self._made = work()
        except BaseException as error:
            self._error = error
        finally:
            _running.discard(self)
            self.ended.set()

    def result(self) -> _T:
        """Wait for the result; an error or Ctrl-C cancels all other work for it."""
        try:
            # A signal that arrives just before a wait starts does not interrupt it.
            while not self.ended.wait(0.5):
                pass
            if self._error is not None:
                raise self._error
        except BaseException:
            if not isinstance(threading.current_thread(), Call):  # a Call may try again
                self.stop[0] = b"\1"
            raise
        return self._made


def called(work: Callable[[], _T]) -> _T:
    """Run work in a `Call` and return its result; in a `Call`'s thread, run it right there."""
    return work() if isinstance(threading.current_thread(), Call) else Call(work).result()


def in_parallel(work: Callable[[_Input], _T], inputs: Sequence[_Input]) -> list[_T]:
    """Run `work` on each input in threads; return results, or raise the first error, in order."""
    if len(inputs) == 1:
        return [work(inputs[0])]
    free, failed = threading.Semaphore(os.cpu_count() or 1), list[Exception]()

    def one(given: _Input) -> _T:
        with free:
            if failed:
                raise failed[0]
            try:
                return work(given)
            except Exception as error:
                failed.append(error)
                raise

    def everything() -> list[_T]:
        calls = [Call(partial(one, given)) for given in inputs]
        return [call.result() for call in calls]

    return called(everything)


def _settle() -> None:
    # C's exit would tear down NVRTC while it runs: end the process first, with the same status.
    if _running:
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)


def _after_fork() -> None:
    global _is_broken, _guard
    if _running:
        _is_broken = True
        _running.clear()
        _prepared.cache_clear()
    _guard = threading.RLock()  # a thread that does not exist in the child may hold the old one


atexit.register(_settle)
os.register_at_fork(after_in_child=_after_fork)


def prepare() -> Call[Nvrtc]:
    """Return the call that loads the NVRTC in use while imports run; start it if needed."""
    path = find_cuda().require("nvrtc")
    with _guard:
        return _prepared(path)


class Program(NamedTuple):
    """An input for NVRTC."""

    name: str
    text: str
    options: tuple[str, ...] = ()
    kind: str = "cubin"  # the image's, see `kernels.cubin.KINDS`
    name_expressions: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}  # texts by name, which NVRTC prefers to any file


class Compiled(NamedTuple):
    """The result of one compilation; the image is empty if it failed."""

    log: str
    image: bytes = b""
    lowered_names: Mapping[str, str] = {}


class Nvrtc(Library):
    """A loaded NVRTC; see `prepare`."""

    def __init__(self, path: Path) -> None:
        super().__init__("nvrtc", path)
        self._compile = self.calls.nvrtcCompileProgram
        # All other calls take microseconds and hold the GIL: during imports, a thread that releases
        # it waits 5 ms to get it back.
        self.calls = ctypes.PyDLL(str(path))
        # In some wheels (13.0), NVRTC does not search its own folder for the library it opens.
        builtins = path.with_name(f"libnvrtc-builtins.so.{self.release}")
        if builtins.is_file():
            ctypes.CDLL(str(builtins))
        # Unless it is ignored, Ctrl-C during the first compilation makes NVRTC before 13.2 call
        # exit: ignore it during a first one that fails at once.
        libc, before = ctypes.CDLL(None), ctypes.create_string_buffer(_ACTION)
        ignored = ctypes.create_string_buffer(int(signal.SIG_IGN).to_bytes(8, "little"), _ACTION)
        libc.sigaction(signal.SIGINT, ignored, before)
        try:
            self.compile(Program("error.cu", "#error\n", ("-minimal",)))
        finally:
            libc.sigaction(signal.SIGINT, before, None)
        signal.siginterrupt(signal.SIGTERM, True)  # NVRTC makes it restart system calls

    def check_known(self, arch: str) -> None:
        """Raise a ToolchainError if this release does not support an architecture."""
        count = ctypes.c_int()
        self.call("GetNumSupportedArchs", ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.call("GetSupportedArchs", known)
        if number_of(arch) not in known:
            raise ToolchainError(
                f"NVRTC {self.release} does not support {arch}; available: "
                f"{', '.join(f'sm_{x}' for x in known)}; for newer ones: pip install --upgrade "
                "'tvmffi-cubin[cu13]', or [cu12] for older ones, with TVMFFI_CUBIN_CUDA=12"
            )

    def compile(self, program: Program) -> Compiled:
        """Compile a program."""
        handle, call = ctypes.c_void_p(), threading.current_thread()
        assert isinstance(call, Call)
        # A file name need not be UTF-8.
        text, name = program.text.encode("utf-8", "surrogateescape"), os.fsencode(program.name)
        count = len(program.headers)
        named = (ctypes.c_char_p * count)(*map(str.encode, program.headers))
        texts = (ctypes.c_char_p * count)(*map(str.encode, program.headers.values()))
        self.call("CreateProgram", ctypes.byref(handle), text, name, count, texts, named)
        try:
            if self.version() >= (12, 8):
                # Between its phases, NVRTC asks a callback whether to cancel: strlen of `stop`,
                # which needs no GIL.
                strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p)
                self.call("SetFlowCallback", handle, strlen, call.stop)
            for expression in program.name_expressions:
                self.call("AddNameExpression", handle, expression.encode())
            options = program.options
            words = (ctypes.c_char_p * len(options))(*map(os.fsencode, options))
            result = self._compile(handle, len(options), words)
            log = self.text("GetProgramLog", handle)
            if result == 5:  # NVRTC_ERROR_INVALID_OPTION
                given = " ".join(options)
                raise ValueError(f"NVRTC {self.release} rejects an option: {log}; options: {given}")
            getter = {"ltoir": "GetLTOIR", "ptx": "GetPTX"}.get(program.kind, "GetCUBIN")
            image = b"" if result != 0 else self.read(getter, handle)
            if not image:
                remedy = "use target_type= in place of -dlto and the like"
                return Compiled(log or f"NVRTC returned no image (error {result}); {remedy}")
            lowered, symbol = {}, ctypes.c_char_p()
            for expression in program.name_expressions:
                self.call("GetLoweredName", handle, expression.encode(), ctypes.byref(symbol))
                lowered[expression] = (symbol.value or b"").decode()
            image = image.rstrip(b"\0") if program.kind == "ptx" else image
            return Compiled(log, image, lowered)
        finally:
            self.call("DestroyProgram", ctypes.byref(handle))
