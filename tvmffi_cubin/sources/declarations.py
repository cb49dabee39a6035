"""`Item`: the declarations of a text, read in one pass that never fails.

What is not understood becomes an item of its own up to the next semicolon, and stays on the side
that asks for its names.
"""

from __future__ import annotations

from collections.abc import Iterator

from .tokens import Tokens

_CLASSES = ("class", "struct", "union", "enum")
_ACCESS = ("public", "private", "protected")
# Words whose parentheses are not parameters.
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
_NO_MACROS = ("using", "inline", "extern", "friend", "::", ".", "->")
# Of namespaces and classes in each other; compilers follow no more.
_DEEPEST = 200


class Item:
    """A declaration.

    Its kind is ``"namespace"``, ``"class"`` (enumerations, too), ``"function"``, ``"variable"``,
    ``"alias"``, ``"using"``, ``"using namespace"``, ``"instance"`` (an explicit instantiation),
    ``"line"`` (of the preprocessor, or an access specifier) or ``"other"``. Places are the numbers
    of tokens, pairs those of brackets.
    """

    __slots__ = (
        *("arguments", "body", "children", "end", "equals", "first", "head", "initialisers"),
        *("kind", "names", "params", "parent", "scope", "templates", "words"),
    )

    def __init__(self, kind: str, first: int, parent: Item | None) -> None:
        self.kind = kind
        self.first, self.end = first, first + 1
        self.head = first  # behind `template <...>`
        self.names: list[str] = []  # what it declares
        self.words: set[str] = set()  # before its declarator, CUDA's qualifiers among them
        self.templates: list[tuple[int, int]] = []
        self.params: tuple[int, int] | None = None
        self.body: tuple[int, int] | None = None  # of a function or a class
        self.arguments: tuple[int, int] | None = None  # behind a specialised function's name
        self.initialisers: int | None = None  # the colon of a constructor's
        self.equals: int | None = None  # of a value, or of `= default`
        self.scope = ""  # before the name of a member that is defined outside its class
        self.children: list[Item] = []
        self.parent = parent

    @property
    def name(self) -> str:
        """What it declares first; empty where it has no name."""
        return self.names[0] if self.names else ""

    @property
    def is_member(self) -> bool:
        """Whether it is in a class."""
        return self.parent is not None and self.parent.kind == "class"

    @property
    def is_template(self) -> bool:
        """Whether it is a template; ``template <>`` begins a specialisation, which is none."""
        return any(close > opening + 1 for opening, close in self.templates)

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, defined or declared."""
        return "__global__" in self.words and self.params is not None

    @property
    def is_constexpr(self) -> bool:
        """Whether it is a function that both sides may call."""
        return "constexpr" in self.words or "consteval" in self.words

    @property
    def is_for_device(self) -> bool:
        """Whether it is a function for device code, if not for it alone."""
        return bool(self.words & {"__device__", "__global__"}) or self.is_constexpr

    @property
    def is_device_only(self) -> bool:
        """Whether it is a function that host code cannot call."""
        return "__device__" in self.words and "__host__" not in self.words and not self.is_constexpr

    @property
    def is_device_variable(self) -> bool:
        """Whether it is a variable of device memory."""
        return self.kind == "variable" and bool(
            self.words & {"__device__", "__constant__", "__managed__"}
        )

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The names of what is around it, outermost first; "" for what has none."""
        names: list[str] = []
        around = self.parent
        while around is not None:
            if "extern" not in around.words:
                names = [*(around.names or [""]), *names]
            around = around.parent
        return tuple(names)

    @property
    def qualified(self) -> str:
        """Its name as code at global scope would write it."""
        return "::".join(filter(None, (*self.namespaces, self.scope, self.name)))

    def walk(self) -> Iterator[Item]:
        """Iterate over it and all that is in it."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_items(tokens: Tokens) -> list[Item]:
    """Return the declarations of a text."""
    return _Reader(tokens).block(0, len(tokens), None)


def top(items: list[Item]) -> Iterator[Item]:
    """Iterate over what is declared in namespaces."""
    for item in items:
        if item.kind == "namespace":
            yield from top(item.children)
        elif item.kind != "line":
            yield item


class _Reader:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens, self.texts, self.kinds = tokens, tokens.texts, tokens.kinds
        self.depth = 0

    def _at(self, number: int) -> str:
        return self.texts[number] if number < len(self.texts) else ""

    def block(self, at: int, end: int, parent: Item | None) -> list[Item]:
        items: list[Item] = []
        if self.depth == _DEEPEST:
            return items
        self.depth += 1
        in_class = parent is not None and parent.kind == "class"
        while at < end:
            text = self.texts[at]
            if text == ";":
                at += 1
                continue
            if self.kinds[at] == "line":
                item = Item("line", at, parent)
            elif in_class and text in _ACCESS and self._at(at + 1) == ":":
                item = Item("line", at, parent)
                item.end = at + 2
            else:
                item = self._namespace(at, end, parent) or self._declaration(at, end, parent)
            items.append(item)
            at = max(item.end, at + 1)
        self.depth -= 1
        return items

    def _namespace(self, at: int, end: int, parent: Item | None) -> Item | None:
        begin = at
        if self.texts[at] == "inline" and self._at(at + 1) == "namespace":
            at += 1
        is_linkage = (
            self.texts[at] == "extern"
            and at + 2 < end
            and self.kinds[at + 1] == "text"
            and self.texts[at + 2] == "{"
        )
        if self.texts[at] != "namespace" and not is_linkage:
            return None
        brace = at + 1
        while brace < end and self.texts[brace] not in ("{", ";", "="):
            brace = self.tokens.close(brace) + 1 if self.texts[brace] in "([" else brace + 1
        if self._at(brace) != "{":
            return None
        item = Item("namespace", begin, parent)
        item.body = (brace, self.tokens.close(brace))
        item.end = item.body[1] + 1
        if not is_linkage:
            names = [self.texts[i] for i in range(at + 1, brace) if self.kinds[i] == "word"]
            item.names = names if "__attribute__" not in names else names[:1]
        item.words = {"extern"} if is_linkage else set()
        item.children = self.block(brace + 1, item.body[1], item)
        return item

    def _templates(self, item: Item, end: int) -> int:
        at = item.first
        while at < end and self.texts[at] == "template":
            if self._at(at + 1) != "<":
                item.kind = "instance"
                return at + 1
            close = self.tokens.angle(at + 1, end)
            if close < 0:
                break
            item.templates.append((at + 1, close))
            at = close + 1
            if self._at(at) == "requires":
                at = self._constraint(at + 1, end)
        return at

    def _constraint(self, at: int, end: int) -> int:
        """Return what follows a requires-clause: terms of names or in parentheses."""
        while at < end:
            if self.texts[at] == "!":
                at += 1
            if self._at(at) == "requires":
                at = self.tokens.close(at + 1) + 1
                at = self.tokens.close(at) + 1 if self._at(at) == "{" else at
            elif self._at(at) == "(":
                at = self.tokens.close(at) + 1
            else:
                while at < end and (self.kinds[at] == "word" or self.texts[at] == "::"):
                    is_name = self.kinds[at] == "word"
                    at += 1
                    if self._at(at) == "<":
                        at = self.tokens.angle(at, end) + 1 or at + 1
                    if is_name and self._at(at) != "::":
                        break
            if (self._at(at), self._at(at + 1)) in (("&", "&"), ("|", "|")):
                at += 2
                continue
            break
        return at

    def _declaration(self, at: int, end: int, parent: Item | None) -> Item:
        item = Item("other", at, parent)
        item.head = self._templates(item, end)
        texts, tokens = self.texts, self.tokens
        key: int | None = None
        at = item.head
        skipped: set[int] = set()
        while at < end:
            text, last = texts[at], at  # and the last token of what belongs to it
            is_open = item.params is None and item.equals is None
            if text == "}" or (text in _BEGINNINGS and self._is_behind_word(item, at)):
                break
            if text in _WITH_PARENTHESES and self._at(at + 1) == "(":
                last = tokens.close(at + 1)
                skipped.update(range(at, last + 1))
            elif text == "operator" and is_open:
                item.names = ["operator"]
                last = at + 2 if self._at(at + 1) == "(" else at
                while last + 1 < end and texts[last + 1] not in ("(", ";"):
                    last += 1
            elif text == "=":
                item.equals = at if item.equals is None else item.equals
            elif text == "<" and is_open and self.kinds[at - 1] == "word":
                last = max(tokens.angle(at, end), at)
            elif text == "(":
                last = tokens.close(at)
                is_function = is_open or self._is_behind_macro(item, at)
                if is_function and not self._is_pointer(at, last):
                    item.params = (at, last)
            elif text in ("[", "[["):
                last = tokens.close(at)
                skipped.update(range(at, last + 1) if text == "[[" else ())
            elif text == ":" and item.params and item.initialisers is None and not item.equals:
                item.initialisers = at
            elif text == "{":
                last = tokens.close(at)
                if item.equals is None and item.params is None:
                    if key is None:
                        item.equals = at
                    else:
                        item.kind, item.body = "class", (at, last)
                elif item.equals is None and not self._is_member_value(item, at):
                    item.kind, item.body = "function", (at, last)
            elif text in _CLASSES and is_open and key is None:
                key = at
            at = last + 1
            if text == ";" or item.kind == "function":
                break
        item.end = min(max(at, item.first + 1), len(texts))
        self._name(item, key, skipped)
        return item

    def _is_pointer(self, at: int, close: int) -> bool:
        """Whether parentheses hold a declarator: ``(*f)(int)``, ``(&a)[3]``."""
        return self._at(close + 1) in ("(", "[") and self._at(at + 1) in ("*", "&")

    def _is_behind_word(self, item: Item, at: int) -> bool:
        """Whether a declaration begins here, and what is before it is a macro without semicolon."""
        if at == item.head or item.equals is not None or self.texts[at - 1] in _NO_MACROS:
            return False
        return self.texts[at] != "extern" or self._at(at + 2) == "{"

    def _is_behind_macro(self, item: Item, at: int) -> bool:
        """Whether what seemed to be parameters is a macro's, since a name with others follows."""
        if item.params is None or item.equals is not None or item.initialisers is not None:
            return False
        behind = item.params[1] + 1
        is_name = self.kinds[behind : behind + 1] == ["word"] == self.kinds[at - 1 : at]
        return is_name and self.texts[behind] not in _WORDS_AFTER_PARAMETERS

    def _is_member_value(self, item: Item, brace: int) -> bool:
        """Whether a brace behind a constructor's colon is the value of a member."""
        before = brace - 1
        if item.initialisers is None or before <= item.initialisers:
            return False
        text = self.texts[before]
        is_name = self.kinds[before] == "word" or text == ">"
        return is_name and text not in _AFTER_PARAMETERS

    def _name(self, item: Item, key: int | None, skipped: set[int]) -> None:
        texts = self.texts
        declarator = item.params or item.body or (item.end, item.end)
        stop = min(declarator[0], item.equals or item.end, item.end)
        item.words = {texts[i] for i in range(item.first, stop) if self.kinds[i] == "word"} | {
            texts[i] for i in skipped if texts[i].startswith("__")
        }
        first = self._at(item.head)
        end = item.end if item.body is None else item.body[0]
        words = [i for i in range(item.head + 1, end) if self._is_word(i, skipped)]
        if item.kind == "class":
            assert key is not None
            self._name_class(item, key, skipped)
        elif first == "using":
            if words and texts[words[0]] == "namespace":
                item.kind = "using namespace"
            elif item.equals is not None:
                item.kind, item.names = "alias", [texts[words[0]]] if words else []
            else:
                item.kind, item.names = "using", [texts[words[-1]]] if words else []
        elif first == "namespace":
            item.kind, item.names = "alias", [texts[words[0]]] if words else []
        elif "typedef" in item.words:
            pointers = [i for i in words if texts[i - 1] in "*&" and texts[i - 2] == "("]
            item.kind, item.names = "alias", [texts[i] for i in (pointers or words)[-1:]]
        elif first in ("static_assert", "_Static_assert"):
            item.kind = "other"
        elif item.params is not None:
            if item.kind != "instance":
                item.kind = "function"
            self._name_function(item)
        elif item.kind != "instance":
            item.kind = "variable"
            item.names = self._variables(item, skipped)
            plain = [i for i in words if i > item.head]
            if key is not None and item.equals is None and len(plain) <= 1:
                item.kind = "class"  # declared, not defined
        if item.kind == "instance" and item.params is None and key is not None:
            item.words.discard("__global__")

    def _is_word(self, number: int, skipped: set[int]) -> bool:
        return self.kinds[number] == "word" and number not in skipped

    def _name_class(self, item: Item, key: int, skipped: set[int]) -> None:
        assert item.body is not None
        texts = self.texts
        at = key + (2 if self._at(key + 1) in ("class", "struct") else 1)
        while at < item.body[0] and not self._is_word(at, skipped):
            at += 1
        while at + 2 < item.body[0] and texts[at + 1] == "::":
            item.scope = texts[at]
            at += 2
        if at < item.body[0] and texts[at] != "final":
            item.names = [texts[at]]
        if texts[key] == "enum":
            inside = range(item.body[0] + 1, item.body[1])
            item.names += [
                texts[i] for i in inside if self.kinds[i] == "word" and texts[i - 1] in ("{", ",")
            ]
        else:
            item.children = self.block(item.body[0] + 1, item.body[1], item)
        behind = range(item.body[1] + 1, item.end)
        item.names += [texts[i] for i in behind if self._is_word(i, skipped)]

    def _name_function(self, item: Item) -> None:
        assert item.params is not None
        texts, at = self.texts, item.params[0] - 1
        if at < item.head:
            return
        if item.names:  # an operator
            while at > item.head and texts[at] != "operator":
                at -= 1
        elif texts[at] == ">":
            begin = self.tokens.angle_back(at, item.first)
            if begin > 0:
                item.arguments, at = (begin, at), begin - 1
        if not item.names and self.kinds[at] == "word":
            item.names = [texts[at]]
        scope: list[str] = []
        if texts[at - 1] == "~":
            at -= 1
        while at - 2 >= item.head and texts[at - 1] == "::":
            at -= 2
            if texts[at] == ">":
                at = self.tokens.angle_back(at, item.first) - 1
            if at < item.head or self.kinds[at] != "word":
                break
            scope.insert(0, texts[at])
        item.scope = "::".join(scope)

    def _variables(self, item: Item, skipped: set[int]) -> list[str]:
        """Return the names that a declaration of variables gives."""
        names: list[str] = []
        at, last, is_value = item.head, "", False
        while at < item.end:
            text = self.texts[at]
            close = self.tokens.angle(at, item.end) if text == "<" and not is_value else -1
            if close > 0:
                at = close
            if at in skipped or close > 0:
                at += 1
                continue
            if text in ("=", "{", ",", ";", "[", ":"):
                if last and not is_value:
                    names.append(last)
                is_value = text in ("=", "{") or (is_value and text != ",")
                last = ""
                if text in ("{", "["):
                    at = self.tokens.close(at)
            elif text == "(" and is_value:
                at = self.tokens.close(at)
            elif self.kinds[at] == "word" and not is_value:
                last = text
            at += 1
        return names
