"""`Head`: one declaration's tokens up to its end or its body, and what they declare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import ascii_letters, digits

from .facts import ParamFact

TOKEN = re.compile(r'[^\W\d][\w$]*|::|->|"[^"\n]*"|\.?\d[\w.]*|[^\s\\]')

# They take arguments and declare nothing.
_CALLS_TEXT = """
    __launch_bounds__ __cluster_dims__ __block_size__ __maxnreg__ __align__ alignas _Pragma
    __attribute__ __declspec decltype typeof __typeof__ noexcept throw requires explicit
    static_assert sizeof asm __asm__ __global__ __device__ __host__
"""
_CALLS = frozenset(_CALLS_TEXT.split())
# What may come behind a function's parameters; behind those of a macro comes the declaration.
_BEHIND_TEXT = """
    -> : = const noexcept override final try throw requires volatile & [ asm __asm__ __attribute__
    __launch_bounds__ __cluster_dims__ __block_size__ __maxnreg__
"""
_BEHIND = frozenset(("", *_BEHIND_TEXT.split()))
_CLASS_KEYS = frozenset(("class", "struct", "union", "enum"))
# Of a type, and no type themselves.
_QUALIFIERS = _CLASS_KEYS | {"const", "volatile", "typename"}
_TYPES = _QUALIFIERS | frozenset(
    [
        "void",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "auto",
        "size_t",
        "wchar_t",
    ]
)
_ATTRIBUTE = re.compile(
    r"\b(?:__restrict__|__restrict|__grid_constant__|__extension__)\b"
    r"|\b(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)|\[\[[^\[\]]*\]\]"
)
_WORD = f"{ascii_letters}{digits}_"
# Of `int (*f)(int)` or `T (&x)[3]`, its name.
_BRACKETED = re.compile(r"\([\s\w:]*[*&^](?:[\s*&^]|const\b|__restrict__\b)*(\w*)")
_VALUE = re.compile(r'\s*[\d."\'+\-!~{]')
_SEPARATOR = re.compile(r"[,=()\[\]{}<>]")
_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
# Nobody writes a longer list of parameters.
_LONGEST = 1 << 16


class Head:
    """A declaration without its body.

    Parameters
    ----------
    text : str
        The text that it is in.
    start, end : int
        Where it begins and ends.
    groups : sequence of tuple of int
        The brackets in it, which are not looked into.
    """

    def __init__(self, text: str, start: int, end: int, groups: Sequence[tuple[int, int]]) -> None:
        self.text = text
        # A pair of brackets is one token, which is called by the first of them.
        self.words: list[str] = []
        self.spans: list[tuple[int, int]] = []
        place = start
        for group in groups:
            self._read(place, group[0])
            self.words.append(text[group[0]])
            self.spans.append(group)
            place = group[1]
        self._read(place, end)
        self.angles = _match_angles(self.words) if "<" in self.words else {}
        self.openers = {closer: opener for opener, closer in self.angles.items()}
        self.template: tuple[str, ...] | None = None
        self.is_instantiation = False
        self.linkage = ""  # '"C"', where it says so itself
        self.first = 0  # of the declaration, behind what it is a template of
        self._begin()
        self.has = frozenset(self.words[self.first :])
        self.operator = -1  # the index of that word
        self.declarator = self._find_declarator()

    def _read(self, start: int, end: int) -> None:
        found = [*TOKEN.finditer(self.text, start, end)]
        self.words += [match[0] for match in found]
        self.spans += [match.span() for match in found]

    def _begin(self) -> None:
        words, first = self.words, 0
        if "template" in words:
            first = words.index("template")
            while words[first : first + 1] == ["template"]:
                opener, closer = first + 1, self.angles.get(first + 1, -1)
                if closer < 0:
                    self.is_instantiation = words[opener : opener + 1] != ["<"]
                    first += 1
                    break
                self.template = (self.template or ()) + self._template_names(opener, closer)
                first = closer + 1
        for index in range(len(words) - 1):
            if words[index] == "extern" and words[index + 1][0] == '"':
                self.linkage, first = words[index + 1], max(first, index + 2)
                break
        self.first = min(first, len(words))

    def _template_names(self, opener: int, closer: int) -> tuple[str, ...]:
        inner = self.text[self.spans[opener][1] : self.spans[closer][0]]
        names = []
        for piece in split(inner):
            words = re.findall(r"[^\W\d]\w*", without_default(piece))
            names.append(words[-1] if len(words) > 1 else "")
        return tuple(names)

    def _find_declarator(self) -> int:
        """Return the index of a function's parameters; -1: it declares none."""
        words, index, count = self.words, self.first, len(self.words)
        likely = -1
        while index < count:
            word = words[index]
            if word == "=":
                break
            if word == "operator":
                self.operator = index
                # Of `operator()(int x)`, the second.
                index += 1 + (words[index + 1 : index + 2] == ["("])
                return words.index("(", index) if "(" in words[index:] else -1
            if word == "<":
                index = self.angles.get(index, index)
            elif word == "(" and index > self.first:
                before = words[index - 1]
                is_named = is_name(before) and before not in _CALLS and before not in _TYPES
                if is_named or index - 1 in self.openers:
                    following = words[index + 1] if index + 1 < count else ""
                    if following in _BEHIND:
                        return index
                    # What is behind it may be a macro too, such as of an attribute.
                    if likely < 0 and index - 1 > self.first and is_name(following):
                        likely = index
            index += 1
        return likely

    @property
    def namespaces(self) -> tuple[str, ...] | None:
        """The namespaces that it opens, ``""`` an unnamed one; None: it opens none."""
        words = self.words
        if "namespace" not in words or "using" in words:
            return None
        inner = words[words.index("namespace") + 1 :]
        names = [
            word
            for index, word in enumerate(inner)
            if is_name(word) and word not in _CALLS and word != "inline"
        ]
        return tuple(names) or ("",)

    @property
    def is_linkage(self) -> bool:
        """Whether it is ``extern "C"`` alone, before a brace."""
        return bool(self.linkage) and self.first == len(self.words)

    @property
    def is_type(self) -> bool:
        """Whether it defines a class or an enumeration, before a brace."""
        return self.declarator < 0 and not self.has.isdisjoint(_CLASS_KEYS) and "=" not in self.has

    @property
    def has_body(self) -> bool:
        """Whether the brace behind it begins a function's body."""
        if self.declarator < 0:
            return False
        behind = self.words[self.declarator + 1 :]
        if ":" not in behind:
            return "=" not in behind
        # In `: a{1}, b(2) {` a name comes before the brace of an initialiser.
        return not (is_name(behind[-1]) or behind[-1] in (">", ":"))

    def name_start(self) -> int:
        """Return the index of the first token of the name before a function's parameters."""
        words = self.words
        index = self.operator if self.operator >= 0 else self._before_angle(self.declarator - 1)
        if index > self.first and words[index - 1] == "~":
            index -= 1
        while index - 1 > self.first and words[index - 1] == "::":
            before = self._before_angle(index - 2)
            if not is_name(words[before]) or before < self.first:
                break
            index = before
        return index

    def _before_angle(self, index: int) -> int:
        if self.words[index] == ">":
            return max(self.openers.get(index, index) - 1, 0)
        return index

    def params(self) -> tuple[ParamFact, ...] | None:
        """Return the parameters of a function; None where they cannot be read."""
        start, end = self.spans[self.declarator]
        inner = self.text[start + 1 : end - 1]
        if len(inner) > _LONGEST:
            return None
        found = tuple(_param(without_default(piece)) for piece in split(inner))
        return () if found == (ParamFact("", "void"),) else found

    def squeezed(self, first: int, end: int) -> str:
        """Return the text from a token to an offset, each gap one space."""
        return squeeze(self.text[self.spans[first][0] : end])

    def variables(self) -> Iterator[tuple[int, str]]:
        """Iterate over variables: the index of the name, and how another text declares it."""
        words, spans = self.words, self.spans
        type_end = begin = self.first
        while begin < len(words):
            end = name = begin
            cut = -1
            while end < len(words) and words[end] != ",":
                if words[end] == "<" and end in self.angles and cut < 0:
                    end = self.angles[end]
                elif words[end] in ("=", "{") and cut < 0:
                    cut = end
                elif words[end] == "(" and cut < 0 and self._bracketed(end):
                    name, cut = end, end
                    while words[cut + 1 : cut + 2] in (["("], ["["]):
                        cut += 1
                    cut += 1
                elif is_name(words[end]) and cut < 0:
                    name = end
                end += 1
            cut = end if cut < 0 else cut
            if begin == self.first:
                type_end = name
                while type_end > begin and words[type_end - 1] in ("*", "&"):
                    type_end -= 1
                said = self.squeezed(begin, spans[cut - 1][1])
            else:
                kind = self.squeezed(self.first, spans[type_end - 1][1])
                said = f"{kind} {self.squeezed(begin, spans[cut - 1][1])}"
            if cut > begin and (is_name(words[name]) or words[name] == "("):
                yield name, said
            begin = end + 1

    def _bracketed(self, index: int) -> bool:
        return _BRACKETED.match(self.text, self.spans[index][0]) is not None

    def name_of(self, index: int) -> str:
        """Return the name at a token, or in its brackets."""
        word, start = self.words[index], self.spans[index][0]
        found = _BRACKETED.match(self.text, start) if word == "(" else None
        return found[1] if found else word

    def is_value(self) -> bool:
        """Whether what is in the parentheses behind a name is a variable's value."""
        return bool(_VALUE.match(self.text, self.spans[self.declarator][0] + 1))


def is_name(word: str) -> bool:
    """Whether a token is an identifier or a keyword."""
    return word[0] == "_" or word[0].isalpha()


def squeeze(text: str) -> str:
    """Return a text with each gap one space."""
    return " ".join(text.split())


def _match_angles(words: Sequence[str]) -> dict[int, int]:
    """Return the index of the ``>`` that closes each ``<``."""
    found, opened = {}, []
    for index, word in enumerate(words):
        if word == "<":
            opened.append(index)
        elif word == ">" and opened:
            found[opened.pop()] = index
    return found


def split(text: str) -> list[str]:
    """Return what is between the commas of a list, those in brackets aside."""
    if not text.strip():
        return []
    if "<" not in text and "(" not in text and "{" not in text:
        return text.split(",")
    pieces, start = [], 0
    for comma in _outside(text, ","):
        pieces.append(text[start:comma])
        start = comma + 1
    return [*pieces, text[start:]]


def without_default(text: str) -> str:
    """Return a parameter without its default value."""
    return text[: next(_outside(text, "="), None)] if "=" in text else text


def _outside(text: str, wanted: str) -> Iterator[int]:
    """Iterate over the places of a sign that is in no brackets."""
    opened: list[str] = []
    for match in _SEPARATOR.finditer(text):
        sign = match[0]
        if sign == wanted and not opened:
            yield match.start()
        elif sign in _CLOSERS:
            opened.append(_CLOSERS[sign])
        elif sign in opened[-1:]:
            opened.pop()
        elif sign in ")]}":
            while opened and opened.pop() != sign:
                pass  # a `<` that was none


def _param(text: str) -> ParamFact:
    if "_" in text or "[[" in text or "alignas" in text:
        text = _ATTRIBUTE.sub(" ", text)
    is_pack = "..." in text
    text = text.replace("...", " ") if is_pack else text
    bracketed = _BRACKETED.search(text) if "(" in text else None
    if bracketed is not None:
        name, start, end = bracketed[1], bracketed.start(1), bracketed.end(1)
    else:
        head = text.partition("[")[0].rstrip()
        end = len(head)
        if head.isascii():
            start = len(head.rstrip(_WORD))
        else:
            words = re.findall(r"\w+", head)
            start = end - len(words[-1]) if words and head.endswith(words[-1]) else end
        name, before = head[start:], head[:start].rstrip()
        if (
            not name
            or name[0].isdigit()
            or name in _TYPES
            or before.endswith("::")
            or _QUALIFIERS.issuperset(before.split())
        ):
            name, start = "", end
    return ParamFact(name, squeeze(text[:start] + text[end:]), is_pack)
