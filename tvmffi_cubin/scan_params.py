"""A kernel's parameters as its parse has them, and where they and its body stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .source_facts import ParamFact

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["BODY_OR_END", "declared_params", "span_of"]

BODY_OR_END = re.compile(rb"[;{]")
"""What ends the head of a function."""


def span_of(declarator: Node, code: bytes) -> tuple[int, int, int | None] | None:
    """Return where parameters begin and end and where the body begins, as characters of the code.

    None where that cannot be told; the last is None where there is no body.
    """
    listed = declarator.child_by_field_name("parameters")
    end = BODY_OR_END.search(code, declarator.end_byte)
    if listed is None or end is None:
        return None
    body = _offset(code, end.end()) if end[0] == b"{" else None
    return _offset(code, listed.start_byte + 1), _offset(code, listed.end_byte - 1), body


def _offset(code: bytes, byte: int) -> int:
    return byte if code.isascii() else len(code[:byte].decode("utf-8", "replace"))


def declared_params(declarator: Node) -> tuple[ParamFact, ...] | None:
    """Return the parameters of a function; None where they cannot be read."""
    listed = declarator.child_by_field_name("parameters")
    if listed is None or listed.has_error:
        return None
    found = tuple(_param(child) for child in _listed(listed))
    return () if found == (ParamFact("", "void"),) else found


def _listed(node: Node) -> Iterator[Node]:
    return (child for child in node.named_children if child.type.endswith("_declaration"))


def _param(node: Node) -> ParamFact:
    pack = node.type.startswith("variadic")
    text = node.text or b""
    default = node.child_by_field_name("default_value")
    if default is not None:
        text = text[: default.start_byte - node.start_byte].rstrip().removesuffix(b"=")
    name = node.child_by_field_name("declarator")
    while name is not None and name.type != "identifier":
        inner = name.child_by_field_name("declarator")
        name = inner or next(
            (x for x in name.named_children if x.type.endswith(("declarator", "identifier"))), None
        )
    if name is not None:
        start, end = name.start_byte - node.start_byte, name.end_byte - node.start_byte
        text = text[:start] + text[end:]
    type_text = " ".join(text.decode("utf-8", "replace").replace("...", " ").split())
    own = "" if name is None else (name.text or b"").decode("utf-8", "replace")
    return ParamFact(own, type_text, pack)
