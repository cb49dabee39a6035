"""What comes before a declaration's name in a CUDA source text, and that name."""

from __future__ import annotations

from collections.abc import Mapping

from .cuda_brackets import Tokens
from .cuda_class import CALLS, class_head, enumerators
from .cuda_declarator import declared, has_function, points_to_member
from .cuda_declared import Declaration
from .cuda_lex import is_name
from .cuda_macros import SPECIFIERS, WORDS, MacroFacts
from .cuda_tail import statement_end

__all__ = ["Head"]

# Behind a parameter list: what follows is still the same function.
_TRAILING_TEXT = (
    "const volatile noexcept override final try requires throw asm __attribute__ __asm__"
)
_TRAILING = frozenset(_TRAILING_TEXT.split())


class Head:
    """What is known of a declaration up to where it is read.

    Parameters
    ----------
    tokens : Tokens
        The text's.
    found : Declaration
        What is read, so far.
    limit : int
        The index at which what it is in ends.
    scope : str
        The name of the class whose member it is.
    macros : mapping of str to MacroFacts
        What is known of macros.
    """

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

    def finish(self, end: int) -> Declaration:
        """Return what is read, with an end."""
        if self.found.kind == "variable" and not self.found.names:
            self.found.kind = "other"
        self.found.end = max(min(end, self.limit), self.found.first + 1)
        if self.found.declarator < 0:
            self.found.declarator = self.found.end - 1
        return self.found

    def read_name(self, index: int) -> int:
        """Read a word; return the index of its last token."""
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
            given = self.words[index + 2 : closer]
            self.found.words |= WORDS.intersection(given)
            # One may be the type: `INLINE(float) f()`.
            self.types += any(is_name(one) and one not in SPECIFIERS for one in given)
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

    def read_operator(self, index: int) -> int:
        """Read an operator's name; return the index behind it."""
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

    def read_class(self, index: int) -> int:
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

    def is_nameless(self) -> bool:
        """Whether there is no type before the name: of constructors, macros, deduction guides."""
        return not self.types and self.words[self.last - 1] not in ("::", "~")

    def is_declarator(self, index: int, following: str) -> bool:
        """Whether there is a name in the brackets: ``void (*f)(int)``, ``int (&f())[2]``."""
        words = self.words
        if words[index + 1] in ("*", "&", "&&"):
            return following in ("(", "[") or self.last != index - 1 or not self.types
        return following == "(" and points_to_member(words, index + 1)

    def is_attribute(self, index: int, following: str) -> bool:
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
        if self.types or not self.is_nameless():
            if facts is not None:
                return facts.is_function
            return name.isupper() and has_function(self.tokens, closer + 1, self.limit)
        if name == self.scope:
            return False
        if facts is not None:
            return facts.specifies
        if self.found.template is not None:
            return True
        same_line = self.tokens.line(closer) == self.tokens.line(closer + 1)
        return same_line or any(part in name.lower() for part in ("bound", "attr", "align", "decl"))

    def is_invocation(self, following: str) -> bool:
        """Whether name and brackets are a macro's that stands for a declaration."""
        name = self.words[self.last]
        if self.types or name == self.scope or not self.is_nameless():
            return False
        facts = self.macros.get(name)
        if following == "(":
            return facts is not None and not facts.words
        return following != "->" and (facts is None or not (facts.words and following == "{"))

    def declared_names(self) -> list[str]:
        """Return the name that was read, behind those of what it is in."""
        return declared(self.words, self.found.first, self.last, self.operator)
