"""Members of classes called as what they are made of, which GCC refuses and nvcc takes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from .cuda_item import Item
from .sides import Node
from .text_edits import Edit

__all__ = ["Scope", "qualified_edits", "type_scopes"]

Scope = tuple[str, ...]

_USING = re.compile(r"\s*(?:template\b[^;]*?)?\busing\b")


def type_scopes(nodes: Collection[Node]) -> dict[str, frozenset[Scope]]:
    """Return the types of a program at namespace scope: where there is one of that name."""
    found: dict[str, set[Scope]] = {}
    for node in nodes:
        if node.item.kind in ("type", "alias"):
            for name in node.item.names:
                found.setdefault(name, set()).add(node.scope)
    return {name: frozenset(scopes) for name, scopes in found.items()}


def qualified_edits(code: str, node: Node, scopes: Mapping[str, Collection[Scope]]) -> list[Edit]:
    """Return the edits that name such a member's type in full: ``using Sync = ::ns::Sync<4>;``.

    A name that is looked up in a class must not be declared there afterwards. nvcc gives GCC such a
    type's full name.

    Parameters
    ----------
    code : str
        The text that the class is in, with comments and literals blanked.
    node : Node
        A class at namespace scope; of anything else there are none.
    scopes : mapping of str to collection of tuple of str
        What `type_scopes` found.
    """
    if node.item.kind != "type":
        return []
    edits = []
    for member in node.item.children:
        if member.kind in ("alias", "variable", "function") and len(member.names) == 1:
            name = member.names[0]
            around = [scope for scope in scopes.get(name, ()) if node.scope[: len(scope)] == scope]
            if around and name not in node.item.names:
                full = "::".join(("", *max(around, key=len), ""))
                edits += [Edit(at, at, full) for at in _uses(code, member, name)]
    return edits


def _uses(code: str, member: Item, name: str) -> Iterator[int]:
    """Iterate over where a member's type is named without a scope, but for its own name."""
    start, end = member.span
    # Behind a variable's name is its value, which may name both.
    end = member.declarator_end if member.kind == "variable" else end
    found = [*re.finditer(rf"\b{re.escape(name)}\b", code[start:end])]
    if member.kind == "function":
        called = (at for at, match in enumerate(found) if match.string[match.end() :][:1] == "(")
        uses = found[: next(called, 0)]
    else:
        uses = found[1:] if _USING.match(code, start) else found[:-1]
    for match in uses:
        if not match.string[: match.start()].rstrip().endswith(("::", ".", "->")):
            yield start + match.start()
