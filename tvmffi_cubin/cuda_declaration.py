"""One declaration of a CUDA source text: what it declares, and where its parts are."""

from __future__ import annotations

from collections.abc import Mapping

from .cuda_brackets import Tokens
from .cuda_class import CLASS_KEYS
from .cuda_declarator import (
    bracketed_name,
    is_value,
    more_names,
)
from .cuda_declared import Declaration
from .cuda_head import Head
from .cuda_lex import is_name
from .cuda_macros import WORDS, MacroFacts
from .cuda_params import function_params, template_params
from .cuda_tail import constraint_end, function_end, statement_end

__all__ = ["read_declaration"]

# Words that begin a declaration.
_BEGINNINGS = frozenset(("namespace", "using", "template", "static_assert"))


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
        return _Reading(tokens, found, limit, scope, macros).finish(
            statement_end(tokens, index, limit)
        )
    return _Reading(tokens, found, limit, scope, macros).run(index)


class _Reading(Head):
    """Reads a declaration to its end."""

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
            elif word in _BEGINNINGS and self._is_between(index):
                return self._cut_off(index)
            elif word == "operator":
                index = self.read_operator(index) - 1
            elif word in CLASS_KEYS:
                index = self.read_class(index) - 1
                if self.found.end:
                    return self.found
            elif is_name(word):
                index = self.read_name(index)
            index += 1
        return self.finish(limit)

    def _is_between(self, index: int) -> bool:
        """Whether what is before a word that begins a declaration is none of it, but macros."""
        before = self.words[index - 1]
        return (
            index > self.found.first
            and self.found.template is None
            and (before not in ("::", ".", "->", "friend", "extern", "inline"))
        )

    def _cut_off(self, index: int) -> Declaration:
        """End where another declaration begins."""
        self.found.kind, self.found.names = "other", []
        return self.finish(index)

    def _bracket(self, index: int) -> bool:
        """Read brackets; return whether that was the end of the declaration."""
        words, closer, found = self.words, self.match[index], self.found
        following = words[closer + 1] if closer + 1 < self.limit else ""
        if not self.operator:
            if self.is_declarator(index, following):
                return self._bracketed(index)
            if self.last < 0 or index - 1 not in (self.last, self.closed):
                return False
            if self.is_attribute(index, following):
                found.words |= WORDS.intersection(words[index:closer])
                self.last = self.last_but_one
                return False
            if self.is_invocation(following):
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
        is_guide = not self.operator and self.is_nameless() and self._follows(closer, "->")
        if found.kind != "alias":
            found.kind = "alias" if is_guide else "function"
        found.names += self.declared_names()
        found.opener = self._last_opener(index, closer)
        found.params = function_params(self.tokens, found.opener)
        found.declarator, found.body, found.members = tail.declarator, tail.body, -1
        self.finish(tail.end)
        return True

    def _last_opener(self, index: int, closer: int) -> int:
        """Return the last of the brackets, one in each branch of an #if, that one closes."""
        if not self.tokens.conditionals:
            return index
        words, match = self.words, self.match
        found = [at for at in range(index, closer) if match[at] == closer and words[at] == "("]
        return found[-1]

    def _follows(self, closer: int, word: str) -> bool:
        return closer + 1 < self.limit and self.words[closer + 1] == word

    def _bracketed(self, index: int) -> bool:
        words, match, found = self.words, self.match, self.found
        closer = match[index]
        name = bracketed_name(self.tokens, index)
        if name >= 0 and words[name + 1] == "(" and match[name + 1] > 0:
            found.kind = "function" if found.kind != "alias" else "alias"
            found.names.append(words[name])
            found.params = function_params(self.tokens, name + 1)
            tail = function_end(self.tokens, closer + 1, self.limit)
            found.declarator, found.body, found.members = tail.declarator, tail.body, -1
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
            found.names += self.declared_names()
        elif not found.names and found.kind != "alias":
            found.kind = "other"
        found.declarator = index - 1
        more, end = more_names(self.tokens, index, limit)
        found.names += more
        return self.finish(end)
