"""Checks of plain arguments: names, texts, flags, folders; the message names the argument."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..launches.export import check_unicode
from ..sources.source import Source

__all__ = [
    "check_path",
    "file_name",
    "flags",
    "folders",
    "strings",
    "texts",
]

_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".hpp", ".h", ".cubin", ".fatbin", ".ptx")
# What some line of code has, and hardly a path.
_CODE = '\n{}();#<>"*\\'
_MAX_NAME = 200  # file systems allow 255 bytes, temporary names and suffixes included


def file_name(what: str, name: object) -> str:
    """Return a name that a file can have; raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is a str, got {type(name).__name__}")
    if not name or name.startswith((".", "-")) or any(c in name for c in "/\0\n\r"):
        raise ValueError(f"{what} {name!r} cannot be a file's name; give one such as 'ops'")
    check_unicode(what, name)
    if len(os.fsencode(name)) > _MAX_NAME:
        raise ValueError(f"{what} {name[:40]!r}... has {len(name)} characters, at most {_MAX_NAME}")
    return name


def texts(what: str, value: Any) -> tuple[Source, ...]:
    """Return the sources that are not blank, without the mark that some editors put first."""
    found = tuple(text.removeprefix("\ufeff") for text in strings(what, value))
    for text in found:
        check_unicode(what, text)
        if _is_path(text.strip()):
            raise ValueError(
                f"{what} holds {text!r}, the path of a file and not its text: files are for "
                f"load(name, sources=[{text.strip()!r}])"
            )
    labels = [what] if isinstance(value, str) else [f"{what}[{i}]" for i in range(len(found))]
    sources = zip(found, labels, strict=True)
    return tuple(Source(text, label=label) for text, label in sources if text.strip())


def _is_path(text: str) -> bool:
    return text.endswith(_SUFFIXES) and "//" not in text and not any(c in text for c in _CODE)


def strings(what: str, value: Any) -> tuple[str, ...]:
    """Return one str or several as a tuple; raises TypeError, ValueError."""
    if value is None:
        return ()
    items = (value,) if isinstance(value, str) else value
    if isinstance(items, bytes | Mapping) or not isinstance(items, Iterable):
        raise TypeError(f"{what} is a str or a sequence of str, got {type(value).__name__}")
    items = tuple(items)
    for item in items:
        if not isinstance(item, str):
            raise TypeError(f"{what} holds str, got {type(item).__name__}")
        if "\0" in item:
            raise ValueError(f"{what} holds a NUL character, which no compiler reads past")
    return items


def flags(what: str, value: Any) -> tuple[str, ...]:
    """Return flags, trimmed, without empty ones; raises TypeError, ValueError."""
    if isinstance(value, str):
        raise TypeError(f"{what} is a sequence of flags, got the str {value!r}; write [{value!r}]")
    items = tuple(filter(None, (flag.strip() for flag in strings(what, value))))
    for item in items:
        check_path(what, item)  # a flag may hold one
    return items


def check_path(what: str, path: str | os.PathLike[str]) -> None:
    """Refuse what no file can be called; raises ValueError."""
    text = os.fspath(path)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"{what} holds {text!r}, which is no Unicode text") from None
    if "\0" in text:
        raise ValueError(f"{what} holds {text!r}, which has a NUL character")


def folders(what: str, value: Any) -> tuple[str, ...]:
    """Return one path or several as absolute paths; raises TypeError, ValueError."""
    if value is None:
        return ()
    items = (value,) if isinstance(value, str | os.PathLike) else value
    if not isinstance(items, Iterable):
        raise TypeError(f"{what} is a sequence of paths, got {type(value).__name__}")
    paths = []
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise TypeError(f"{what} holds paths, got {type(item).__name__}")
        check_path(what, item)
        paths.append(os.path.abspath(os.fspath(item)))
    return tuple(paths)
