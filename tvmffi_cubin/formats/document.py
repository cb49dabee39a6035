"""A document from a file, from text or bytes, or as the values that it holds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_source(source: Any, what: str) -> tuple[str, bytes | Mapping[str, Any], str]:
    """Return what messages call a document, its bytes or values, and the path of its file."""
    if isinstance(source, Mapping):
        return what, source, ""
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
        return what, source.encode(), ""
    if isinstance(source, bytes | bytearray | memoryview):
        return what, bytes(source), ""
    label = os.fsdecode(source)
    return label, Path(label).read_bytes(), os.path.abspath(label)


def parse_json(data: bytes) -> Any:
    """Return the values of a JSON text in UTF-8."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from None
