"""Reads the declarations of a CUDA source text, in namespaces, linkage blocks and classes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from .cuda_brackets import Tokens
from .cuda_declaration import read_declaration
from .cuda_declared import Declaration
from .cuda_directives import conditionals, head_problem, launch_problems
from .cuda_item import Item, Span
from .cuda_launches import find_lambdas, find_launches
from .cuda_lex import KEYWORDS, Directive, is_name
from .cuda_macros import MacroFacts
from .cuda_tail import statement_end

__all__ = ["ItemReader"]

_INCLUDE = re.compile(r'(?:\s|/\*[\s\S]*?\*/)*(?:<([^>\n]*)>|"([^"\n]*)")')
# Of namespaces and classes in each other: nobody's code has more, and Python's stack has an end.
_DEEPEST = 60
_ACCESS = ("public", "private", "protected")


class ItemReader:
    """Reads the items of a text.

    Parameters
    ----------
    tokens : Tokens
        The text's.
    macros : mapping of str to MacroFacts
        What is known of macros.
    """

    def __init__(self, tokens: Tokens, macros: Mapping[str, MacroFacts]) -> None:
        self.tokens, self.words, self.match = tokens, tokens.words, tokens.match
        self.macros = macros
        self.names = [word if is_name(word) else "" for word in tokens.words]
        self.includes = [one for one in tokens.directives if one.name == "include"]
        self.next_include = 0
        self.depth = -1  # of blocks and classes that are being read
        self.scopes: set[int] = set()  # braces of namespaces, linkage blocks and classes
        self.bodies: list[tuple[int, int]] = []  # those of functions
        self.launches = find_launches(tokens)
        self.lambdas = find_lambdas(tokens, {name: one.words for name, one in macros.items()})
        self.lambdas_at = [one[0] for one in self.lambdas]
        self.conditionals = conditionals(tokens)
        self.problems = [(tokens.line(index), what) for index, what in self.launches.halves]
        self.problems += launch_problems(tokens, self.launches.launches)

    def items(self, first: int, limit: int, scope: str) -> tuple[Item, ...]:
        """Return the items between two indices, in a class of that name, or in none."""
        if self.depth == _DEEPEST:
            return ()
        self.depth += 1
        found = tuple(self._items(first, limit, scope))
        self.depth -= 1
        return found

    def _items(self, index: int, limit: int, scope: str) -> Iterator[Item]:
        while index < limit:
            yield from self._included(index)
            if self.words[index] in (";", "}", ")", "]"):
                index += 1
                continue
            end, item = self._item(index, limit, scope)
            yield item
            index = max(end, index + 1)
            self._skip_includes(index)
        if limit == len(self.words) and self.depth:
            return  # of what is never closed: what follows is not in it
        yield from self._included(limit)

    def _included(self, index: int) -> Iterator[Item]:
        while self.next_include < len(self.includes):
            one = self.includes[self.next_include]
            if one.before > index:
                return
            self.next_include += 1
            item = self._include(one)
            if item is not None:
                yield item

    def _skip_includes(self, index: int) -> None:
        while (
            self.next_include < len(self.includes)
            and self.includes[self.next_include].before < index
        ):
            self.next_include += 1

    def _include(self, directive: Directive) -> Item | None:
        match = _INCLUDE.match(directive.rest)
        if match is None:
            return None
        line = self.tokens.lexed.line(directive.start)
        path, quoted = match[1], match[2]
        return Item(
            "include",
            Span(directive.start, directive.end),
            line,
            path=quoted if path is None else path,
            is_quoted=path is None,
        )

    def _item(self, index: int, limit: int, scope: str) -> tuple[int, Item]:
        words = self.words
        word = words[index]
        following = words[index + 1] if index + 1 < limit else ""
        if word in _ACCESS and scope and following == ":":
            return self._made(Declaration("access", index, index + 2))
        if word == "namespace" or (word == "inline" and following == "namespace"):
            return self._namespace(index, limit)
        if word == "extern" and following[-1:] == '"' and words[index + 2 : index + 3] == ["{"]:
            return self._block(Declaration("linkage", index), index + 2, limit, "")
        if word == "using":
            return self._using(index, limit)
        if word == "static_assert" or word in ("asm", "__asm__", "__asm"):
            kind = "assert" if word == "static_assert" else "other"
            return self._made(Declaration(kind, index, statement_end(self.tokens, index, limit)))
        at = index + (word == "extern")
        if at + 1 < limit and words[at] == "template" and words[at + 1] != "<":
            found = read_declaration(self.tokens, at + 1, limit, scope=scope, macros=self.macros)
            found.kind, found.first = "instantiation", index
            return self._made(found)
        if self._is_lone(index, limit):
            return self._made(Declaration("other", index, index + 1))
        found = self._declaration(index, limit, scope)
        children: tuple[Item, ...] = ()
        if found.members >= 0:
            self._skip_includes(found.members)
            name = found.names[0] if found.names else "?"
            self.scopes.add(found.members)
            children = self.items(found.members + 1, self.match[found.members], name)
        return self._made(found, children)

    def _declaration(self, index: int, limit: int, scope: str) -> Declaration:
        """Read a declaration, which no include divides."""
        found = read_declaration(self.tokens, index, limit, scope=scope, macros=self.macros)
        for include in self.includes[self.next_include :]:
            at = include.before
            if at >= found.end:
                break
            if at > index and not any(self.match[one] >= at for one in range(index, at)):
                return read_declaration(self.tokens, index, at, scope=scope, macros=self.macros)
        return found

    def _namespace(self, index: int, limit: int) -> tuple[int, Item]:
        words = self.words
        found = Declaration("namespace", index)
        at = index
        while at < limit and words[at] not in ("{", ";", "="):
            at = max(self.match[at], at) + 1 if words[at] in "([" else at + 1
        heads = words[index:at]
        found.names = [
            word
            for place, word in enumerate(heads)
            if is_name(word)
            and word not in KEYWORDS
            and (heads[place - 1] in ("namespace", "::", "inline") or place == len(heads) - 1)
        ]
        if at < limit and words[at] == "{":
            return self._block(found, at, limit, "")
        found.kind = "alias"
        found.end = statement_end(self.tokens, at, limit)
        return self._made(found)

    def _block(self, found: Declaration, opener: int, limit: int, scope: str) -> tuple[int, Item]:
        closer = self.match[opener]
        closer = closer if opener < closer < limit else limit
        self.scopes.add(opener)
        self._skip_includes(opener)
        children = self.items(opener + 1, closer, scope)
        found.declarator, found.body = opener - 1, (opener, min(closer, len(self.words) - 1))
        found.end = min(closer + 1, limit)
        return self._made(found, children)

    def _using(self, index: int, limit: int) -> tuple[int, Item]:
        words = self.words
        end = statement_end(self.tokens, index, limit)
        found = Declaration("using", index, end)
        inner = words[index + 1 : end]
        if "=" in inner and inner[:1] != ["namespace"]:
            found.kind, found.names = "alias", [inner[0]]
        elif inner[:1] not in (["namespace"], ["enum"]):
            for place, word in enumerate(inner):
                if is_name(word) and inner[place + 1 : place + 2] in ([","], [";"], ["..."]):
                    found.names.append(word)
        return self._made(found)

    def _is_lone(self, index: int, limit: int) -> bool:
        """Whether a name is a macro's that stands for a declaration, or a piece of one."""
        words = self.words
        word = words[index]
        if not is_name(word) or word in KEYWORDS:
            return False
        if index + 1 >= limit:
            return True
        following = words[index + 1]
        facts = self.macros.get(word)
        if facts is not None and facts.has_end and not facts.is_function:
            return following != ";"
        if following in ("namespace", "using", "static_assert", "template", "typedef"):
            return word.isupper() or facts is None
        is_last = self.tokens.line(index) < self.tokens.line(index + 1)
        return is_last and bool(re.search(r"NAMESPACE|_(BEGIN|END)\b|\A(BEGIN|END)_", word))

    def _made(self, found: Declaration, children: tuple[Item, ...] = ()) -> tuple[int, Item]:
        tokens, first, end = self.tokens, found.first, found.end
        uses = frozenset(self.names[first:end]) - KEYWORDS - {""}
        declarator = min(found.declarator, end - 1) if found.declarator >= first else end - 1
        declarator_end = tokens.end(declarator)
        if found.body is not None:
            declarator_end = min(declarator_end, tokens.starts[found.body[0]])
        low, high = bisect_left(self.launches.at, first), bisect_left(self.launches.at, end)
        one, two = bisect_left(self.lambdas_at, first), bisect_left(self.lambdas_at, end)
        body = found.body
        span = Span(tokens.starts[first], tokens.end(end - 1))
        problem = head_problem(tokens, found, self.conditionals)
        if problem:
            self.problems.append((tokens.line(first), problem))
        if body is not None and body[0] not in self.scopes:
            self.bodies.append(body)
        return end, Item(
            found.kind,
            span,
            tokens.line(first),
            tuple(found.names),
            frozenset(found.words),
            uses,
            found.template,
            found.params,
            declarator_end,
            None if body is None else Span(tokens.starts[body[0]], tokens.end(body[1])),
            tuple(
                one
                for one in self.launches.launches[low:high]
                if span.start <= one.callee.start and one.args.end <= span.end
            ),
            tuple((line, words) for _, line, words in self.lambdas[one:two]),
            children,
        )
