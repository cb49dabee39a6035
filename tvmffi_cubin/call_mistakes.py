"""Calls of kernels without a configuration, and launches of what is none, as errors of C++.

Names decide, so only what has one meaning in the whole program is looked at; the rest is told as
it runs. The host compiler tells it, at its place: it alone knows which branches of ``#if`` count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from .cuda_item import Item, Launch, Param
from .item_words import is_kernel
from .mixed_headers import MixedFile
from .sides import Node
from .stub_params import own_params
from .text_edits import Edit

__all__ = ["Callables"]

# What a statement begins behind; `before` may end a condition as well.
_CALL = (
    r"(?:(?P<before>[{{}};)])|\b(?:else|do|return))\s*"
    r"(?P<scope>(?:::\s*)?(?:\w+\s*::\s*)*)\b(?P<name>{names})\s*(?=\(|<(?!<<))"
)
_CONDITION = re.compile(r"\b(?:if|for|while)\s*(?:constexpr\s*)?\Z")
# A name that means something of its own in a function.
_LOCAL = (
    r"(?<!\breturn)(?<!\belse)(?<!\bdo)(?<=[\w>*&\]])\s+(?:\w+\s*::\s*)?{name}\s*[=({{;,)\[:>]"
    r"|[\w>]\s*[*&]+\s*{name}\s*[=({{;,)\[:>]|\(\s*[\w:\s]*[*&]\s*(?:const\s+)?{name}\s*\)\s*[(\[]"
    r"|\bauto\s*&*\s*\[[^\]]*\b{name}\b|\busing\b[^;]*\b{name}\b"
    # Declarators that follow others, captures, what is assigned, and types.
    r"|[,\[]\s*[*&]*\s*{name}\s*[=({{;,\[\]]|\b{name}\s*=(?!=)"
    r"|\bdecltype\s*\([^;{{}}]*\)\s*[*&]*\s*(?:const\s+)?{name}\b"
    r"|\b(?:struct|class|union|enum)\s+{name}\b"
)
_USING = re.compile(r"\busing\s+namespace\s+(?:::\s*)?(\w+)")
# Iterators bring the functions of their own namespace.
_ITERATOR = re.compile(r"\bc?r?(?:begin|end)\s*\(")
_CALLEE = re.compile(r"\s*(?:::\s*)?(?:\w+\s*::\s*)*(\w+)\s*(?:<.*>)?\s*\Z", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_OPENS, _CLOSES = "([{", ")]}"


class _Arity(NamedTuple):
    """The scopes of a kernel's declarations, and how many arguments they take."""

    scopes: frozenset[tuple[str, ...]]
    least: int
    most: int


class Callables(NamedTuple):
    """What names of a program stand for, those that may stand for two things left out.

    Attributes
    ----------
    kernels : dict of str to _Arity
        Kernels.
    functions : frozenset of str
        Functions that are none.
    is_open : bool
        Whether names may also be those of a namespace that the program does not declare itself.
    """

    kernels: Mapping[str, _Arity]
    functions: frozenset[str]
    is_open: bool

    @classmethod
    def of(cls, files: Sequence[MixedFile], bound: Sequence[str] = ()) -> Callables:
        """Find them; `bound` is what launches of kernels do not pass."""
        kernels: dict[str, list[tuple[Item, tuple[str, ...], str]]] = defaultdict(list)
        functions: set[str] = set()
        others = {macro.name for file in files for macro in file.cuda.macros}
        own = (name for file in files for name in _namespaces(file.cuda.items))
        for file in files:
            if file.is_whole:  # because it cannot be read
                others.update(_WORD.findall(file.code))
            for item, scope in _declarations(file.cuda.items, ()):
                name = item.names[-1]
                others.update(item.names[:-1] if item.kind == "function" else ())
                if is_kernel(item):
                    kernels[name].append((item, scope, file.cuda.text))
                elif item.kind == "function":
                    functions.add(name)
                elif item.kind != "instantiation":
                    others.update(item.names)
        return cls(
            {
                name: _arity(found, bound)
                for name, found in kernels.items()
                if name not in functions and name not in others
            },
            frozenset(functions - others - kernels.keys()),
            not {name for file in files for name in _USING.findall(file.code)} <= {*own},
        )

    def call_edits(
        self, file: MixedFile, node: Node, stretches: Sequence[tuple[int, int]]
    ) -> Iterator[Edit]:
        """Iterate over the edits that make calls of kernels in stretches of host code errors."""
        item = node.item
        code, used = _without_directives(file.code), sorted(self.kernels.keys() & item.uses)
        if not used or item.kind not in ("function", "type", "variable"):
            return
        # What a class has from its bases is not known.
        is_member = item.kind == "type" or len(item.names) > 1
        calls = re.compile(_CALL.format(names="|".join(map(re.escape, used))))
        for match in (x for stretch in stretches for x in calls.finditer(code, *stretch)):
            at, name = match.start("scope"), match["name"]
            if (is_member or self.is_open) and not match["scope"]:
                continue
            if match["before"] == ")" and not _is_condition(code, match.start()):
                continue
            arguments = _arguments(code, match.end())
            if arguments is None or not self._is_call(name, node, match["scope"], arguments):
                continue
            if not _is_local(code, item, name):
                yield Edit(
                    at, at, _mistake(f"{name} is a kernel: launch it with <<<grid, block>>>")
                )

    def launch_mistake(self, file: MixedFile, item: Item, launch: Launch) -> str:
        """Return what stands before a launch in an item, if it launches no kernel; else nothing."""
        match = _CALLEE.match(file.code[launch.callee.start : launch.callee.end])
        if match is None or match[1] not in self.functions:
            return ""
        if _is_local(_without_directives(file.code), item, match[1]):
            return ""
        return _mistake(
            f"{match[1]} is a function and no kernel: put __global__ before it, or call it without "
            "<<<...>>>"
        )

    def _is_call(self, name: str, node: Node, scope: str, arguments: Sequence[str]) -> bool:
        """Whether a call may be that of a kernel: of a function elsewhere it is no concern."""
        found = self.kernels[name]
        named = tuple(re.findall(r"\w+", scope))
        around = () if scope.startswith("::") else node.scope
        if not any((*around[:end], *named) in found.scopes for end in range(len(around) + 1)):
            return False
        if not named and any(map(_ITERATOR.search, arguments)):
            return False
        return found.least <= len(arguments) <= found.most


def _mistake(text: str) -> str:
    return f'[] {{ static_assert(false, "{text}"); }}(), '


def _declarations(
    items: Sequence[Item], scope: tuple[str, ...]
) -> Iterator[tuple[Item, tuple[str, ...]]]:
    for item in items:
        if item.names and item.kind != "namespace":
            yield item, (*scope, *item.names[:-1])
        inner = (*scope, *item.names) if item.kind in ("namespace", "type") else scope
        yield from _declarations(item.children, inner)


def _namespaces(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if item.kind == "namespace":
            yield from item.names
        yield from _namespaces(item.children)


def _arity(found: Sequence[tuple[Item, tuple[str, ...], str]], bound: Sequence[str]) -> _Arity:
    least, most = [], []
    for item, _, text in found:
        if item.kind == "instantiation" or item.params is None:
            continue
        params: Collection[Param] = own_params(item, bound)
        needed = [x for x in params if not x.is_pack and "=" not in text[x.span.start : x.span.end]]
        least.append(len(needed))
        most.append(1000 if any(x.is_pack for x in params) else len(params))
    scopes = frozenset(scope for item, scope, _ in found if item.kind != "instantiation")
    return _Arity(scopes, min(least, default=1), max(most, default=0))


def _is_condition(code: str, at: int) -> bool:
    """Whether the parenthesis that is closed at an offset holds a condition."""
    depth = 0
    for index in range(at, -1, -1):
        depth += {")": 1, "(": -1}.get(code[index], 0)
        if depth == 0:
            return bool(_CONDITION.search(code, 0, index))
    return False


@lru_cache(maxsize=8)
def _without_directives(code: str) -> str:
    return _DIRECTIVE.sub(lambda match: re.sub(r"\S", " ", match[0]), code)


def _is_local(code: str, item: Item, name: str) -> bool:
    return re.compile(_LOCAL.format(name=re.escape(name))).search(code, *item.span) is not None


def _arguments(code: str, at: int) -> list[str] | None:
    """Return the arguments that a statement passes from an offset on; None: it is no call."""
    if code[at] == "<":
        depth = 0
        while at < len(code) and (depth or code[at] != "("):
            depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(code[at], 0)
            if code[at] in ";{}" or code.startswith(">>>", at):
                return None
            at += 1
            if not depth and code[at:].lstrip()[:1] != "(":
                return None
    depth, start, found = 0, at + 1, []
    for end in range(at, len(code)):
        depth += (code[end] in _OPENS) - (code[end] in _CLOSES)
        if depth == 0 or (code[end] == "," and depth == 1):
            found.append(code[start:end].strip())
            start = end + 1
        if depth == 0:
            break
    if not code[start : start + 100].lstrip().startswith(";"):
        return None
    return found if found != [""] else []
