"""What generated units are made of: templates, and text as C string literals."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

__all__ = ["c_string", "template"]

_CHUNK = 1000


@cache
def template(name: str) -> Template:
    """Return a template of this package by its file's name."""
    return Template((Path(__file__).parent / "templates" / name).read_text(encoding="utf-8"))


def c_string(text: str) -> str:
    """Return `text` as C string literals, one a line where it is long.

    Bytes outside printable ASCII, quotes and ``?`` (trigraphs) are octal escapes of three digits,
    which no following character can extend.
    """
    data = text.encode()
    chunks = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)] or [b""]
    return "\n".join(f'"{"".join(map(_c_char, chunk))}"' for chunk in chunks)


def _c_char(byte: int) -> str:
    plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"
