"""Exceptions of this package; wrong argument types and values raise TypeError or ValueError."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PACKAGE = __file__.removesuffix("errors.py")


class _Shown:
    """Mixin for IPython: shows what is wrong, then where, without this package's frames."""

    __traceback__: TracebackType | None

    def _render_traceback_(self) -> list[str]:
        import traceback

        frames = traceback.extract_tb(self.__traceback__)[1:]  # the first is IPython's
        own = (_PACKAGE, "<string>")  # the file name of generated dataclass code
        users = [frame for frame in frames if not frame.filename.startswith(own)]
        return [f"{type(self).__name__}: {self}", *traceback.format_list(users)]


class CubinError(_Shown, RuntimeError):
    """Base class of this package's errors.

    Every subclass can be constructed from its message alone, as tvm-ffi does for errors from C++,
    and pickles with all its attributes, so worker pools can pass it on.
    """

    def __init__(self, message: str = "", **attributes: Any) -> None:
        super().__init__(message)
        self.__dict__.update(attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self.args, self.__dict__)


class CompileError(CubinError):
    """A CUDA source does not compile.

    Attributes
    ----------
    log : str
        The compiler's own log.
    source : str
        The source, including those that are compiled before it as part of it.
    options : tuple of str
        The options, in the compiler's order.
    """

    log: str = ""
    source: str = ""
    options: tuple[str, ...] = ()


class BuildError(CubinError):
    """The host compiler, the assembler, the linker or ninja failed.

    Attributes
    ----------
    command : str
        The command that failed.
    output : str
        What it printed.
    directory : str
        Where it ran; kept for inspection.
    """

    command: str = ""
    output: str = ""
    directory: str = ""


class ToolchainError(CubinError):
    """A tool to build with is missing or too old; the message names its package."""


class ImageError(CubinError, ValueError):
    """An image or object is damaged or of another kind; the message says what it looks like."""


class CacheError(CubinError):
    """The cache folder cannot be used; the message names the folder and the remedy."""


class LaunchError(CubinError):
    """A kernel could not be loaded or launched; the message names the driver call."""


class LaunchLimitError(LaunchError, ValueError):
    """A launch asks for more than the device or kernel allows; the message gives both numbers."""


def _shown(kind: type[Exception]) -> type[Exception]:
    """Return a built-in error type with `_Shown`; elsewhere it looks and pickles as before."""
    members = {"__module__": "builtins", "__reduce__": lambda error: (kind, error.args)}
    return type(kind.__name__, (_Shown, kind), members)


_KINDS = TypeError, ValueError, AttributeError
_SHOWN: dict[type, type[Exception]] = {kind: _shown(kind) for kind in _KINDS}


def argument_error(error: Exception, message: str) -> Exception:
    """Return a TypeError or a ValueError, whichever `error` is, with a new message."""
    return _SHOWN[TypeError if isinstance(error, TypeError) else ValueError](message)


def bare(function: _Function) -> _Function:
    """Wrap a public function so that its errors have no frames of this package.

    The message says everything, and in a notebook the frames would bury it.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (CubinError, *_KINDS) as error:
            raise without_frames(error) from error.__cause__

    return call  # type: ignore[return-value]


def without_frames(error: Exception) -> Exception:
    """Return an error, without its frames if a ``raise`` statement of this package raised it.

    For a bug of ours or an error in a user's callable, the frames stay and tell where it is.
    """
    from opcode import opmap

    innermost = error.__traceback__
    assert innermost is not None
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    code = innermost.tb_frame.f_code
    is_raised = code.co_code[innermost.tb_lasti] == opmap["RAISE_VARARGS"]
    is_ours = code.co_filename.startswith(_PACKAGE)
    if not (is_raised and is_ours):
        return error
    kind = _SHOWN.get(type(error))
    return kind(*error.args) if kind else error.with_traceback(None)


def shortened(output: str) -> str:
    """Return a tool's output as shown in an error; if it is very long, only both ends."""
    half = 8_000
    left_out = len(output) - 2 * half
    if left_out <= 0:
        return output
    return f"{output[:half]}\n... ({left_out} characters omitted) ...\n{output[-half:]}"
