"""One declaration of a CUDA source text: what it declares, and where its parts are."""

from __future__ import annotations

from collections.abc import Mapping

from .cuda_brackets import Tokens
from .cuda_class import CALLS, CLASS_KEYS, class_head, enumerators
from .cuda_declarator import (
    bracketed_name,
    declared,
    has_function,
    is_value,
    more_names,
    points_to_member,
)
from .cuda_declared import Declaration
from .cuda_lex import is_name
from .cuda_macros import SPECIFIERS, WORDS, MacroFacts
from .cuda_params import function_params, template_params
from .cuda_tail import constraint_end, function_end, statement_end

__all__ = ["read_declaration"]

# Behind a parameter list: what follows is still the same function.
_TRAILING_TEXT = (
    "const volatile noexcept override final try requires throw asm __attribute__ __asm__"
)
_TRAILING = frozenset(_TRAILING_TEXT.split())


def read_declaration(
    tokens: Tokens, first: int, limit: int, *, scope: str, macros: Mapping[str, MacroFacts]
) -> Declaration:
    """Read the declaration that begins at an index.

    Parameters
    ----------
    tokens : Tokens
        The text's.
    first, limit : int
        Where it begins, and where what it is in ends.
    scope : str
        The name of the class whose member it is; empty at namespace scope.
    macros : mapping of str to MacroFacts
        What is known of macros.
    """
    words = tokens.words
    found = Declaration("variable", first)
    index = first
    while index + 1 < limit and words[index] == "template" and words[index + 1] == "<":
        closer = tokens.angle(index + 1, limit)
        if closer < 0:
            break
        found.template = (found.template or ()) + template_params(tokens, index + 1, closer)
        index = closer + 1
        if index < limit and words[index] == "requires":
            index = constraint_end(tokens, index + 1, limit)
    if index < limit and words[index] in ("using", "concept"):
        found.kind = "alias"
        found.names = [word for word in words[index + 1 : index + 2] if is_name(word)]
        return _Head(tokens, found, limit, scope, macros).finish(
            statement_end(tokens, index, limit)
        )
    return _Head(tokens, found, limit, scope, macros).run(index)


class _Head:
    """What comes before a declaration's name, and that name."""

    def __init__(
        self,
        tokens: Tokens,
        found: Declaration,
        limit: int,
        scope: str,
        macros: Mapping[str, MacroFacts],
    ) -> None:
        self.tokens, self.words, self.match = tokens, tokens.words, tokens.match
        self.found, self.limit, self.scope, self.macros = found, limit, scope, macros
        self.last = self.last_but_one = -1  # names
        self.types = 0  # how many before the last can be types
        self.closed = -1  # the > of its template arguments
        self.operator = ""

    def run(self, index: int) -> Declaration:
        words, match, limit = self.words, self.match, self.limit
        while index < limit:
            word = words[index]
            if word in ";=,:}":
                return self._variable(index)
            if word in "([{" and not index < match[index] < limit:
                return self.finish(limit)
            if word == "(":
                if self._bracket(index):
                    return self.found
                index = match[index]
            elif word == "{":
                return self._brace(index)
            elif word == "[":
                if words[index - 1] == "auto":
                    self.found.names += filter(is_name, words[index + 1 : match[index]])
                index = match[index]
            elif word == "<":
                self.closed = index = max(self.tokens.angle(index, limit), index)
            elif word == "operator":
                index = self._operator(index) - 1
            elif word in CLASS_KEYS:
                index = self._class(index) - 1
                if self.found.end:
                    return self.found
            elif is_name(word):
                index = self._name(index)
            index += 1
        return self.finish(limit)

    def finish(self, end: int) -> Declaration:
        self.found.end = max(min(end, self.limit), self.found.first + 1)
        if self.found.declarator < 0:
            self.found.declarator = self.found.end - 1
        return self.found

    def _name(self, index: int) -> int:
        word = self.words[index]
        facts = self.macros.get(word)
        if word in WORDS:
            self.found.words.add(word)
        elif facts is not None:
            self.found.words |= facts.words
        if word in CALLS and self.words[index + 1 : index + 2] == ["("]:
            self.types += word == "decltype"
            return max(self.match[index + 1], index)
        if facts is not None and facts.specifies and facts.is_function:
            closer = self._closer(index + 1)
            self.found.words |= WORDS.intersection(self.words[index + 1 : closer])
            return closer
        if word == "typedef":
            self.found.kind = "alias"
        if word not in SPECIFIERS and not (facts is not None and facts.specifies):
            self.types += self.last >= 0 and self.words[index - 1] != "::"
            self.last_but_one, self.last = self.last, index
        return index

    def _closer(self, index: int) -> int:
        """Return the index of what closes the bracket at an index; before it, if there is none."""
        is_open = index < self.limit and self.words[index] == "("
        return max(self.match[index], index) if is_open else index - 1

    def _operator(self, index: int) -> int:
        """Read an operator's name and return the index behind it."""
        words = self.words
        end = index + 1
        if words[end : end + 2] in (["(", ")"], ["[", "]"]):
            end += 2
        while end < self.limit and words[end] not in "(;{":
            end += 1
        parts = words[index + 1 : end]
        self.operator = "operator" + " " * is_name((parts or ["("])[0]) + "".join(parts)
        self.last = index
        return end

    def _class(self, index: int) -> int:
        """Read a class's head; return where to go on."""
        found, match = self.found, self.match
        head = class_head(self.tokens, index, self.limit)
        self.types += 1
        if head.opener < 0 and not head.is_declaration:
            return head.after
        found.names += [head.name] if head.name else []
        end = head.after
        if head.opener >= 0:
            found.declarator, end = head.opener - 1, match[head.opener] + 1
            found.body = (head.opener, match[head.opener])
            if not head.is_enum:
                found.members = head.opener
            elif not head.is_scoped:
                found.names += enumerators(self.tokens, head.opener)
        if head.is_declaration or self.words[end : end + 1] == [";"]:
            found.kind = "alias" if found.kind == "alias" else "type"
            self.finish(statement_end(self.tokens, end, self.limit))
        return end

    def _bracket(self, index: int) -> bool:
        """Read brackets; return whether that was the end of the declaration."""
        words, closer, found = self.words, self.match[index], self.found
        following = words[closer + 1] if closer + 1 < self.limit else ""
        if not self.operator:
            if self._is_declarator(index, following):
                return self._bracketed(index)
            if self.last < 0 or index - 1 not in (self.last, self.closed):
                return False
            if self._is_attribute(index, following):
                found.words |= WORDS.intersection(words[index:closer])
                self.last = self.last_but_one
                return False
            if self._is_invocation(following):
                return self._invocation(index, following)
            if following in (";", ",") and is_value(words[index + 1 : closer]):
                self._variable(index)
                return True
        return self._function(index, closer)

    def _function(self, index: int, closer: int) -> bool:
        found = self.found
        tail = function_end(self.tokens, closer + 1, self.limit)
        if not tail.is_function and not self.operator and not self.types:
            found.kind, found.names = "other", []
            self.finish(tail.end)
            return True
        is_guide = not self.operator and self._is_nameless() and self._follows(closer, "->")
        if found.kind != "alias":
            found.kind = "alias" if is_guide else "function"
        found.names += self._names()
        found.params = function_params(self.tokens, index)
        found.declarator, found.body = tail.declarator, tail.body
        self.finish(tail.end)
        return True

    def _follows(self, closer: int, word: str) -> bool:
        return closer + 1 < self.limit and self.words[closer + 1] == word

    def _is_nameless(self) -> bool:
        """Whether there is no type before the name: of constructors, macros, deduction guides."""
        return not self.types and self.words[self.last - 1] not in ("::", "~")

    def _is_declarator(self, index: int, following: str) -> bool:
        """Whether there is a name in the brackets: ``void (*f)(int)``, ``int (&f())[2]``."""
        words = self.words
        if words[index + 1] in ("*", "&", "&&"):
            return following in ("(", "[") or self.last != index - 1 or not self.types
        return following == "(" and points_to_member(words, index + 1)

    def _bracketed(self, index: int) -> bool:
        words, match, found = self.words, self.match, self.found
        closer = match[index]
        name = bracketed_name(self.tokens, index)
        if name >= 0 and words[name + 1] == "(" and match[name + 1] > 0:
            found.kind = "function" if found.kind != "alias" else "alias"
            found.names.append(words[name])
            found.params = function_params(self.tokens, name + 1)
            tail = function_end(self.tokens, closer + 1, self.limit)
            found.declarator, found.body = tail.declarator, tail.body
            self.finish(tail.end)
            return True
        self.last = name if name >= 0 else self.last
        self.types = max(self.types, 1)
        after = closer + 1
        while after < self.limit and words[after] in ("(", "[") and match[after] > after:
            after = match[after] + 1
        if after < self.limit and words[after] == "noexcept":
            after += 1
        self._variable(after)
        return True

    def _is_attribute(self, index: int, following: str) -> bool:
        """Whether name and brackets are a macro that stands for attributes or specifiers."""
        closer = self.match[index]
        name = self.words[self.last]
        facts = self.macros.get(name)
        if following == "(":
            return facts is not None and facts.specifies
        if not following or not (is_name(following) or following in ("::", "[")):
            return False
        if following in _TRAILING and (self.types or name == self.scope):
            return False
        if self.types or not self._is_nameless():
            if facts is not None:
                return facts.is_function
            return name.isupper() and has_function(self.tokens, closer + 1, self.limit)
        if name == self.scope:
            return False
        if facts is not None:
            return facts.specifies
        same_line = self.tokens.line(closer) == self.tokens.line(closer + 1)
        return same_line or any(part in name.lower() for part in ("bound", "attr", "align", "decl"))

    def _is_invocation(self, following: str) -> bool:
        name = self.words[self.last]
        if self.types or name == self.scope or not self._is_nameless():
            return False
        facts = self.macros.get(name)
        if following == "(":
            return facts is not None and not facts.words
        return following != "->" and (facts is None or not (facts.words and following == "{"))

    def _invocation(self, index: int, following: str) -> bool:
        """Read a macro's invocation that is a declaration by itself, or has a body behind it."""
        found, closer = self.found, self.match[index]
        found.kind = "other"
        end = closer + 1
        if following == ";":
            end += 1
        elif following == "{" and self.match[end] > end:
            found.declarator, found.body = closer, (end, self.match[end])
            end = self.match[end] + 1
        elif following in ("=", "(", "[", "<"):
            end = statement_end(self.tokens, end, self.limit)
        self.finish(end)
        return True

    def _names(self) -> list[str]:
        return declared(self.words, self.found.first, self.last, self.operator)

    def _brace(self, index: int) -> Declaration:
        found = self.found
        after = self.match[index] + 1
        following = self.words[after] if after < self.limit else ""
        if self.types and following in (";", ","):
            return self._variable(index)
        found.kind = "other"
        found.declarator, found.body = index - 1, (index, after - 1)
        return self.finish(after + (following == ";"))

    def _variable(self, index: int) -> Declaration:
        """Read a variable, and those behind it, from what follows its name."""
        found, words, limit = self.found, self.words, self.limit
        if index < limit and words[index] == "}":
            found.kind = "other"
            return self.finish(index)
        if self.last >= 0 and (self.types or found.kind == "alias" or found.members >= 0):
            found.names += self._names()
        elif not found.names and found.kind != "alias":
            found.kind = "other"
        found.declarator = index - 1
        more, end = more_names(self.tokens, index, limit)
        found.names += more
        return self.finish(end)
