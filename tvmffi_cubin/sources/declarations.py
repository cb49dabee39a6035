"""`read_items`: the declarations of a text, read in one pass that never fails.

Code that is not understood becomes a separate item up to the next semicolon, and stays on the side
that uses its names.
"""

from __future__ import annotations

from .items import Item
from .tokens import Tokens

_CLASSES = ("class", "struct", "union", "enum")
_ACCESS = ("public", "private", "protected")
# Words whose parentheses do not hold parameters.
_WITH_PARENTHESES = frozenset(
    (
        *("__attribute__", "__declspec", "alignas", "_Alignas", "decltype", "noexcept", "explicit"),
        *("requires", "typeof", "__typeof__", "__launch_bounds__", "__cluster_dims__", "asm"),
        *("__block_size__", "__maxnreg__", "__align__", "__builtin_align__", "throw", "__asm__"),
        "__nv_pure__",
    )
)
_AFTER_PARAMETERS = ("const", "override", "noexcept", "final", "volatile", "&", "mutable")
_WORDS_AFTER_PARAMETERS = {*_AFTER_PARAMETERS, *_WITH_PARENTHESES, "try"}
_BEGINNINGS = ("namespace", "template", "extern")
_NO_NAMES = ("__attribute__", "inline")  # of namespaces
_NO_MACROS = ("using", "inline", "extern", "friend", "::", ".", "->")


def read_items(tokens: Tokens) -> list[Item]:
    """Return the declarations of a text."""
    return _Reader(tokens).block(0, len(tokens.texts), None)


class _Reader:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens, self.texts, self.kinds = tokens, tokens.texts, tokens.kinds

    def _at(self, number: int) -> str:
        return self.texts[number] if number < len(self.texts) else ""

    def block(self, at: int, end: int, parent: Item | None) -> list[Item]:
        items: list[Item] = []
        in_class = parent is not None and parent.kind == "class"
        while at < end:
            if self.texts[at] == ";":
                at += 1
            elif in_class and self.texts[at] in _ACCESS and self._at(at + 1) == ":":
                at += 2
            else:
                item = self._namespace(at, end, parent) or self._declaration(at, end, parent)
                items.append(item)
                at = item.end
        return items

    def _namespace(self, at: int, end: int, parent: Item | None) -> Item | None:
        item = Item("namespace", at, parent)
        if self.texts[at] == "extern" and self._at(at + 2) == "{":
            item.words = {"extern"}
            brace = at + 2
        else:
            at += self.texts[at] == "inline"
            if self._at(at) != "namespace":
                return None
            own = self.tokens.outside(at, end)
            brace = next((i for i in own if self.texts[i] in ("{", ";", "=")), end)
            if self._at(brace) != "{":
                return None
            names = [i for i in self.tokens.outside(at + 1, brace) if self.kinds[i] == "word"]
            item.names = [self.texts[i] for i in names if self.texts[i] not in _NO_NAMES]
        item.body = (brace, self.tokens.close(brace))
        item.end = item.body[1] + 1
        item.children = self.block(brace + 1, item.body[1], item)
        return item

    def _templates(self, item: Item, end: int) -> int:
        """Record ``template <...>``, and return the number of the token after it."""
        at = item.first
        while at < end and self.texts[at] == "template":
            if self._at(at + 1) != "<":
                item.kind = "instance"
                return at + 1
            close = self.tokens.partner.get(at + 1)
            if close is None:
                break
            item.templates.append((at + 1, close))
            at = close + 1
        return at

    def _declaration(self, at: int, end: int, parent: Item | None) -> Item:
        item = Item("other", at, parent)
        at = item.head = self._templates(item, end)
        texts, tokens = self.texts, self.tokens
        key: int | None = None  # the word `class` or the like
        own: list[int] = []  # tokens outside of brackets and attributes
        while at < end:
            text, last = texts[at], tokens.last(at)  # the token, and the last that belongs to it
            is_open = item.params is None and item.equals is None
            if text == "}" or (text in _BEGINNINGS and self._is_behind_word(item, at)):
                break
            if text == "requires" == texts[at - 1]:  # a requires-expression, parameters or not
                last = tokens.close(at + 1)
                last = tokens.close(last + 1) if self._at(last + 1) == "{" else last
            elif text in _WITH_PARENTHESES and self._at(at + 1) == "(":
                last = tokens.close(at + 1)
            elif text == "operator" and is_open:
                item.names = ["operator"]
                last = at + 2 if self._at(at + 1) == "(" else at
                while last + 1 < end and texts[last + 1] not in ("(", ";"):
                    last += 1
            elif text == "=":
                item.equals = at if item.equals is None else item.equals
            elif text == "(" and not self._is_pointer(at, last):
                # After && or ||, it belongs to a constraint, unless to an operator of that name.
                is_term = texts[at - 1] in ("&", "|") and not item.names
                if (is_open or self._is_behind_macro(item, at)) and not is_term:
                    item.params = (at, last)
            elif text == ":" and item.params and item.initialisers is None and not item.equals:
                item.initialisers = at
            elif text == "{" and item.equals is None:
                if item.params is None and key is None:
                    item.equals = at
                elif item.params is None:
                    item.kind, item.body = "class", (at, last)
                elif not self._is_member_value(item, at):
                    item.kind, item.body = "function", (at, last)
            elif text in _CLASSES and is_open and key is None:
                key = at
            if text not in _WITH_PARENTHESES and text != "[[":
                own.append(at)
            at = last + 1
            if text == ";" or item.kind == "function":
                break
        item.end = min(max(at, item.first + 1), len(texts))
        self._name(item, key, own)
        return item

    def _is_pointer(self, at: int, close: int) -> bool:
        """Whether parentheses hold a declarator: ``(*f)(int)``, ``(&a)[3]``."""
        return self._at(close + 1) in ("(", "[") and self._at(at + 1) in ("*", "&")

    def _is_behind_word(self, item: Item, at: int) -> bool:
        """Whether a declaration begins here, after a macro without a semicolon."""
        if at == item.head or item.equals is not None or self.texts[at - 1] in _NO_MACROS:
            return False
        return self.texts[at] != "extern" or self._at(at + 2) == "{"

    def _is_behind_macro(self, item: Item, at: int) -> bool:
        """Whether apparent parameters belong to a macro, since a name with others follows."""
        if item.params is None or item.equals is not None or item.initialisers is not None:
            return False
        behind = item.params[1] + 1
        is_name = self.kinds[behind : behind + 1] == ["word"] == self.kinds[at - 1 : at]
        return is_name and self.texts[behind] not in _WORDS_AFTER_PARAMETERS

    def _is_member_value(self, item: Item, brace: int) -> bool:
        """Whether a brace after a constructor's colon is the value of a member."""
        text = self.texts[brace - 1]
        is_name = self.kinds[brace - 1] == "word" or text == ">"
        return item.initialisers is not None and is_name and text not in _AFTER_PARAMETERS

    def _name(self, item: Item, key: int | None, own: list[int]) -> None:
        texts = self.texts
        declarator = item.params or item.body or (item.end, item.end)
        stop = min(declarator[0], item.equals or item.end)
        item.words = self.tokens.words(item.first, stop)
        first = self._at(item.head)
        words = [texts[i] for i in own if self.kinds[i] == "word" and i > item.head]
        if item.kind == "class" and item.body is not None and key is not None:
            self._name_class(item, item.body, key, own)
        elif first == "using":
            if words[:1] == ["namespace"]:
                item.kind = "using namespace"
            elif item.equals is not None:
                item.kind, item.names = "alias", words[:1]
            else:
                item.kind, item.names = "using", words[-1:]
        elif first == "namespace":
            item.kind, item.names = "alias", words[:1]
        elif "typedef" in item.words:
            inside = range(item.head, item.end)
            pointers = [texts[i] for i in inside if texts[i - 1] in "*&" and texts[i - 2] == "("]
            item.kind, item.names = "alias", (pointers or words)[-1:]
        elif first in ("static_assert", "_Static_assert"):
            pass
        elif item.params is not None:
            item.kind = "function" if item.kind == "other" else item.kind
            self._name_function(item, item.params[0] - 1)
        elif item.kind == "instance":
            pass
        elif key is not None and item.equals is None and len(words) <= 1:
            item.kind, item.names = "class", words  # declared, not defined
        else:
            item.kind, item.names = "variable", self._variables(own)

    def _name_class(self, item: Item, body: tuple[int, int], key: int, own: list[int]) -> None:
        texts = self.texts
        words = [i for i in own if i > key and self.kinds[i] == "word" and texts[i] not in _CLASSES]
        at = words[0] if words else body[0]
        while texts[at + 1] == "::":
            item.scope = texts[at]
            at += 2
        if at < body[0] and texts[at] != "final":
            item.names = [texts[at]]
        inside = range(body[0] + 1, body[1])
        if texts[key] == "enum":
            item.names += [
                texts[i] for i in inside if self.kinds[i] == "word" and texts[i - 1] in ("{", ",")
            ]
        else:
            item.children = self.block(inside.start, inside.stop, item)
        item.names += [texts[i] for i in words if i > body[1]]

    def _name_function(self, item: Item, at: int) -> None:
        """Name an item whose parameters follow a token."""
        texts, partner = self.texts, self.tokens.partner
        if item.names:  # an operator
            while texts[at] != "operator":
                at -= 1
        else:
            if texts[at] == ">" and at in partner:
                item.arguments = self.tokens.span(partner[at], at + 1)
                at = partner[at] - 1
            if at >= item.head and self.kinds[at] == "word":
                item.names = [texts[at]]
        if texts[at - 1] == "~":
            at -= 1
        scope: list[str] = []
        while at - 2 >= item.head and texts[at - 1] == "::":
            at -= 2
            at = partner.get(at, at + 1) - 1 if texts[at] == ">" else at
            scope.insert(0, texts[at])
        item.scope = "::".join(scope)

    def _variables(self, own: list[int]) -> list[str]:
        """Return the names of the variables that a declaration declares."""
        names: list[str] = []
        last, is_value = "", False
        for at in own:
            text = self.texts[at]
            if text in ("=", "{", ",", ";", "[", ":"):
                if last and not is_value:
                    names.append(last)
                is_value = text in ("=", "{") or (is_value and text != ",")
                last = ""
            elif self.kinds[at] == "word":
                last = text
        return names
