"""Reads what a declaration defines: functions and variables, and who else can refer to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .source_facts import Definition

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["definitions"]

_DEVICE_VARIABLE = {"__device__", "__constant__", "__managed__"}
_SPECIFIERS = {"storage_class_specifier", "type_qualifier", *_DEVICE_VARIABLE}
_DECLARATORS = ("identifier", "init_declarator", "array_declarator", "pointer_declarator")


def definitions(
    node: Node,
    *,
    namespaces: Sequence[str],
    extern_c: bool,
    is_template: bool,
    function: Node | None,
) -> Iterator[Definition]:
    """Yield what a declaration at namespace scope defines.

    Parameters
    ----------
    node : Node
        A function definition or a declaration.
    namespaces : sequence of str
        Around it, outermost first; ``""`` for an unnamed one.
    extern_c : bool
        Whether it has C linkage.
    is_template : bool
        Whether it is a template (no specialisation of one).
    function : Node or None
        The declarator of the function that it declares; None where it declares variables.
    """
    words = {_text(child) for child in node.children if child.type in _SPECIFIERS}
    if is_template:
        linkage = "template"
    elif words & {"inline", "constexpr"}:
        linkage = "inline"
    elif "static" in words or "" in namespaces:
        linkage = "internal"
    else:
        linkage = "external"
    prefix = 'extern "C" ' if extern_c else ""
    if function is not None:
        body = node.child_by_field_name("body")
        name = function.child_by_field_name("declarator")
        if node.type == "function_definition" and body is not None and name is not None:
            text = prefix + _between(node, node.start_byte, body.start_byte)
            yield _made(name, namespaces, linkage, text)
    elif node.type == "declaration" and words & _DEVICE_VARIABLE:
        yield from _variables(node, words, namespaces, linkage, prefix)


def _variables(
    node: Node, words: set[str], namespaces: Sequence[str], linkage: str, prefix: str
) -> Iterator[Definition]:
    # Without braces around it, extern "C" declares a variable, as extern does.
    alone = node.parent is not None and node.parent.type == "linkage_specification"
    if "extern" in words or alone:
        return
    if "const" in words and linkage == "external":
        linkage = "internal"
    declarators = [child for child in node.named_children if child.type in _DECLARATORS]
    for declarator in declarators:
        named: Node | None = declarator
        while named is not None and named.type != "identifier":
            named = named.child_by_field_name("declarator") or _first_identifier(named)
        if named is None:
            continue
        plain = declarator.child_by_field_name("declarator") or declarator
        plain = declarator if declarator.type != "init_declarator" else plain
        kind = _between(node, node.start_byte, declarators[0].start_byte)
        yield _made(named, namespaces, linkage, f"{prefix or 'extern '}{kind} {_squeezed(plain)}")


def _made(name: Node, namespaces: Sequence[str], linkage: str, text: str) -> Definition:
    inside = [space for space in namespaces if space]
    text = f"{text};"
    for space in reversed(inside):
        text = f"namespace {space} {{ {text} }}"
    qualified = "::".join([*inside, _text(name)])
    # Members are declared in their class, and nowhere else.
    can_be_declared = linkage == "external" and not {":", "<"} & {*_text(name)}
    line = int(name.start_point[0]) + 1
    return Definition(qualified, line, linkage, text if can_be_declared else "")


def _first_identifier(node: Node) -> Node | None:
    return next(
        (x for x in node.named_children if x.type.endswith(("declarator", "identifier"))), None
    )


def _between(node: Node, start: int, end: int) -> str:
    text = node.text or b""
    part = text[start - node.start_byte : end - node.start_byte].decode("utf-8", "replace")
    return " ".join(part.split())


def _squeezed(node: Node) -> str:
    return " ".join(_text(node).split())


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
