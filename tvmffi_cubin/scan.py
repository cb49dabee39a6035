"""Reads what a CUDA source contains, by its parse: kernels, host functions, launches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from .source_facts import (
    Definition,
    HostFunction,
    KernelFact,
    LaunchSite,
    ParamFact,
    SourceFacts,
    Use,
)
from .source_text import Include, prepare

if TYPE_CHECKING:
    from tree_sitter import Node

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


_HOST_INCLUDE = re.compile(r"(?:tvm/ffi|torch|ATen|c10|pybind11)/|Python\.h\Z|dlpack/")
_HOST_NAME = re.compile(
    r"\btvm\s*::\s*ffi\b|\bTVM_FFI_\w+|\bTVMFFI\w+|\bTVMFFI_CUBIN_\w+|\bEMBED_CUBIN\b"
    r"|\bTORCH_(?:LIBRARY|EXTENSION_NAME)\w*|\bPYBIND11_MODULE\b|\btorch\s*::|\bat\s*::\s*Tensor\b"
)
_DEVICE_NAME = re.compile(r"\b__(?:device|constant)__\b")
_FALLBACK = re.compile(r'(extern\s*"C"[^;{}()]*)?__global__\s[^;{}()]*?(\w+)\s*\(')
_CONTAINERS = {
    *("translation_unit", "declaration_list", "template_declaration", "ERROR"),
    *("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"),
}
_FUNCTIONS = {"function_definition", "declaration", "template_instantiation"}
_NAMES = {"identifier", "qualified_identifier", "template_function", "field_identifier"}


@lru_cache(maxsize=16)
def scan(source: str) -> SourceFacts:
    """Parse a source and return what it contains.

    A source that cannot be parsed is no error here: the compiler's own message is the better one.

    Parameters
    ----------
    source : str
        CUDA C++ source text.
    """
    prepared = prepare(source)
    scanner = _Scanner(prepared.text)
    scanner.run()
    host_uses = _host_uses(prepared.text, prepared.includes)
    defined = [kernel for kernel in scanner.kernels if kernel.defined]
    host = [Use(f"{x.text} in host code", x.line) for x in scanner.launches if x.in_host]
    host = sorted([*host, *host_uses], key=lambda use: use.line)
    for_device = defined or _is_device_code(prepared.text, bool(host or scanner.functions))
    kind = "mixed" if defined and host else "device" if for_device else "host"
    evidence = [Use(f"__global__ {kernel.qualified}", kernel.line) for kernel in defined[:1]]
    return SourceFacts(
        kernels=tuple(scanner.kernels),
        functions=tuple(scanner.functions),
        launches=tuple(scanner.launches),
        includes=prepared.includes,
        host_uses=host_uses,
        kind=kind,
        evidence=tuple([*evidence, *host] if kind == "mixed" else evidence),
        definitions=tuple(scanner.definitions),
        readable=scanner.readable,
    )


def _is_device_code(text: str, has_host: bool) -> bool:
    """Whether a source without kernels is of use to kernels only."""
    return not has_host and "__host__" not in text and bool(_DEVICE_NAME.search(text))


def _host_uses(text: str, includes: tuple[Include, ...]) -> tuple[Use, ...]:
    uses = [
        Use(f"#include <{include.path}>", include.line)
        for include in includes
        if _HOST_INCLUDE.match(include.path)
    ]
    seen = set()
    for match in _HOST_NAME.finditer(text):
        name = re.sub(r"\s", "", match[0])
        if name not in seen:
            seen.add(name)
            uses.append(Use(name, text.count("\n", 0, match.start()) + 1))
    return tuple(sorted(uses, key=lambda use: use.line))


def _line(node: Node) -> int:
    return int(node.start_point[0]) + 1


def _has(node: Node, *types: str) -> bool:
    return any(child.type in types for child in node.children)


class _Scope:
    """Where a declaration stands: its namespaces, linkage and template parameters."""

    def __init__(
        self,
        namespaces: tuple[str, ...] = (),
        extern_c: bool = False,
        template: tuple[str, ...] | None = None,
    ) -> None:
        self.namespaces = namespaces
        self.extern_c = extern_c
        self.template = template


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.code = text.encode()
        self.kernels: list[KernelFact] = []
        self.functions: list[HostFunction] = []
        self.launches: list[LaunchSite] = []
        self.lines: set[int] = set()
        self.definitions: list[Definition] = []
        self.readable = True

    def run(self) -> None:
        root = _parse(self.code)
        self.readable = not root.has_error
        self._walk(root, _Scope())
        self._launches(root)
        self._unread()

    def _walk(self, root: Node, scope: _Scope) -> None:
        """Visit declarations at namespace scope, in order; an explicit stack, for deep nests."""
        stack = [(root, scope)]
        while stack:
            node, scope = stack.pop()
            if node.type in _FUNCTIONS:
                self._function(node, scope)
                continue
            if node.type == "namespace_definition":
                scope = _Scope((*scope.namespaces, *_namespaces(node)), scope.extern_c)
                body = node.child_by_field_name("body")
                stack += [(body, scope)] if body else []
                continue
            if node.type == "linkage_specification":
                value = node.child_by_field_name("value")
                extern_c = value is not None and _text(value) == '"C"'
                scope = _Scope(scope.namespaces, extern_c, scope.template)
            elif node.type == "template_declaration":
                scope = _Scope(scope.namespaces, scope.extern_c, _template_params(node))
            elif node.type not in _CONTAINERS:
                continue
            stack += [(child, scope) for child in reversed(node.named_children)]

    def _function(self, node: Node, scope: _Scope) -> None:
        is_kernel = _has(node, "__global__")
        declarator = _function_declarator(node)
        if not is_kernel:
            self.definitions += definitions(
                node,
                namespaces=scope.namespaces,
                extern_c=scope.extern_c,
                is_template=bool(scope.template),
                function=declarator,
            )
        if declarator is None:
            return
        name_node = declarator.child_by_field_name("declarator")
        assert name_node is not None
        name = _text(name_node)
        if not is_kernel:
            if not _has(node, "__device__"):
                qualified = "::".join([*filter(None, scope.namespaces), name])
                defined = node.type == "function_definition"
                self.functions.append(HostFunction(qualified, _line(name_node), defined))
            return
        static = any(_text(x) == "static" for x in node.children)
        self.lines.add(_line(name_node))
        self.kernels.append(
            KernelFact(
                name=name,
                namespaces=scope.namespaces,
                extern_c=scope.extern_c,
                # `template <>` begins a specialisation, which is no template itself.
                template_params=scope.template or None,
                params=declared_params(declarator),
                line=_line(name_node),
                defined=node.type == "template_instantiation" or self._has_body(declarator),
                internal=static or "" in scope.namespaces,
                span=span_of(declarator, self.code),
            )
        )

    def _has_body(self, declarator: Node) -> bool:
        # Not by the node's type: an error inside a body can turn a definition into a declaration.
        end = BODY_OR_END.search(self.code, declarator.end_byte)
        return end is not None and end[0] == b"{"

    def _launches(self, root: Node) -> None:
        if not self.readable:
            # What the grammar does not follow, it may take for a part of the kernel before it.
            self.launches += _launches_by_brackets(self.text)
            return
        for match in re.finditer(rb"<<<", self.code):
            node = root.descendant_for_byte_range(match.start(), match.end())
            while node is not None and node.type != "kernel_call_syntax":
                node = node.parent
            if node is None or node.parent is None:
                continue
            call = node.parent
            function = call.child_by_field_name("function")
            text = f"{_text(function) if function else ''}<<<...>>>"
            around: Node | None = call
            in_host = True
            while around is not None and in_host:
                in_host = not _has(around, "__global__", "__device__")
                around = around.parent
            self.launches.append(LaunchSite(text, _line(call), in_host))

    def _unread(self) -> None:
        """Note kernels that the grammar could not make out, so that none is taken for host code."""
        for match in _FALLBACK.finditer(self.text):
            name = match[2]
            line = self.text.count("\n", 0, match.start(2)) + 1
            if line in self.lines or any(kernel.name == name for kernel in self.kernels):
                continue
            end = BODY_OR_END.search(self.text[match.end() :].encode())
            defined = end is not None and end[0] == b"{"
            fact = KernelFact(name, (), match[1] is not None, None, None, line, defined)
            self.kernels.append(fact)


def _launches_by_brackets(text: str) -> Iterator[LaunchSite]:
    # Twenty modules, which few sources need.
    from . import cuda_text

    items = list(cuda_text.read(text).items)
    while items:
        item = items.pop(0)
        if item.children:
            items = [*item.children, *items]
            continue
        in_host = item.words.isdisjoint(("__global__", "__device__"))
        for launch in item.launches:
            callee = text[launch.callee.start : launch.callee.end]
            yield LaunchSite(f"{callee}<<<...>>>", launch.line, in_host)


def _parse(code: bytes) -> Node:
    # Costs milliseconds, and a cache hit never gets here.
    import tree_sitter
    import tree_sitter_cuda

    language = tree_sitter.Language(tree_sitter_cuda.language())
    return tree_sitter.Parser(language).parse(code).root_node


def _namespaces(node: Node) -> list[str]:
    name = node.child_by_field_name("name")
    return re.findall(r"(?!inline\b)\w+", _text(name)) if name else [""]


def _template_params(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    names = []
    for child in listed.named_children if listed else ():
        words = re.findall(r"[A-Za-z_]\w*", _text(child).split("=", 1)[0])
        names.append(words[-1] if len(words) > 1 else "")
    return tuple(names)


def _function_declarator(node: Node) -> Node | None:
    """Return the declarator of a function that has a name; None for anything else."""
    child = node.child_by_field_name("declarator")
    while child is not None and child.type != "function_declarator":
        child = child.child_by_field_name("declarator") or next(
            (x for x in child.named_children if x.type == "function_declarator"), None
        )
    if child is None:
        return None
    name = child.child_by_field_name("declarator")
    return child if name is not None and name.type in _NAMES else None
