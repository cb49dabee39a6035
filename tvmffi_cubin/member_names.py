"""Members of classes called as what they are made of, which GCC refuses and nvcc takes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .cuda_item import Item
from .sides import Node
from .text_edits import Edit

__all__ = ["TypeNames", "qualified_edits"]

_Scope = tuple[str, ...]

_USING = re.compile(r"\s*(?:template\b[^;]*?)?\busing\b")
_BASES = re.compile(r"(?<!:):(?!:)")
_NAME = re.compile(r"\w+")
_NOWHERE: Mapping[str, frozenset[_Scope]] = MappingProxyType({})
_NOTHING: Mapping[str, frozenset[str]] = MappingProxyType({})


class TypeNames(NamedTuple):
    """Names of a program's types.

    Attributes
    ----------
    scopes : mapping of str to frozenset of tuple of str
        In which namespaces there is a type of some name.
    members : mapping of str to frozenset of str
        What types the classes of some name have as members.
    """

    scopes: Mapping[str, frozenset[_Scope]] = _NOWHERE
    members: Mapping[str, frozenset[str]] = _NOTHING

    @classmethod
    def of(cls, nodes: Collection[Node]) -> TypeNames:
        """Return those of a program's items at namespace scope."""
        scopes: dict[str, set[_Scope]] = {}
        members: dict[str, set[str]] = {}
        for node in nodes:
            for name in node.item.names if node.item.kind in ("type", "alias") else ():
                scopes.setdefault(name, set()).add(node.scope)
                for member in node.item.children:
                    if member.kind in ("type", "alias"):
                        members.setdefault(name, set()).update(member.names)
        return cls(
            {name: frozenset(found) for name, found in scopes.items()},
            {name: frozenset(found) for name, found in members.items()},
        )


def qualified_edits(code: str, node: Node, types: TypeNames) -> list[Edit]:
    """Return the edits that name such a member's type in full: ``using Sync = ::ns::Sync<4>;``.

    A name that is looked up in a class must not be declared there afterwards. nvcc gives GCC such a
    type's full name.

    Parameters
    ----------
    code : str
        The text that the class is in, with comments and literals blanked.
    node : Node
        A class at namespace scope; of anything else there are none.
    types : TypeNames
        The program's types.
    """
    if node.item.kind != "type":
        return []
    inherited = _inherited(code, node.item, types)
    edits = []
    for member in node.item.children:
        if member.kind in ("alias", "variable", "function") and len(member.names) == 1:
            name = member.names[0]
            found = types.scopes.get(name, ())
            around = [scope for scope in found if node.scope[: len(scope)] == scope]
            if around and name not in (*node.item.names, *inherited):
                full = "::".join(("", *max(around, key=len), ""))
                edits += [Edit(at, at, full) for at in _uses(code, member, name)]
    return edits


def _inherited(code: str, item: Item, types: TypeNames) -> Collection[str]:
    """Return the names that mean types of a class's bases in it, where GCC takes both meanings."""
    head = code[item.span.start : item.span.end].partition("{")[0]
    names = (name for bases in _BASES.split(head)[1:] for name in _NAME.findall(bases))
    return {member for name in names for member in types.members.get(name, ())}


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
