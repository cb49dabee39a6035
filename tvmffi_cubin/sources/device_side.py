"""The device text of a mixed source: kernels, device variables, and what they reach by name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from itertools import pairwise

from .cut import Text
from .items import Item, top, walk

_CUDA_NAMESPACES = ("cooperative_groups", "nvcuda", "cub", "cuda", "cute", "cutlass", "thrust")
_WORD = r"[A-Za-z_]\w*"
_STD_INTEGER = r"\bstd\s*::\s*(?:size_t|ptrdiff_t|u?int\d+_t)\b"


class DeviceCut(Text):
    """A source preprocessed for the device, read once and cut any number of times."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._roots = [x for x in top(self.items) if x.is_kernel or x.is_device_variable]
        every, texts = [*walk(self.items)], self.tokens.texts
        spaces = (x.names for x in every if x.kind == "namespace")
        known = {*_CUDA_NAMESPACES}.union(*spaces) - {"std", "tvm"}
        used = {texts[x.head + 2] for x in every if x.kind == "using namespace"}
        aliases = (x for x in every if x.kind == "alias" and x.name in used)
        self._aliases = [x for x in aliases if known & {*texts[x.head + 3 : x.head + 5]}]
        self._namespaces = known.union(x.name for x in self._aliases)

    @property
    def has_code(self) -> bool:
        """Whether it defines a kernel or a device variable."""
        return any(item.body or item.kind != "function" for item in self._roots)

    def classes(self, names: Iterable[str]) -> list[str]:
        """Return `pointers` to those classes in the last `code`, for its names, that may be passed.

        They are the classes in the declarations of kernels and variables, except for mere scopes of
        names, and those that anything is cast to.
        """
        heads = [self.tokens.span(x.first, self.head_end(x)) for x in self._roots]
        words = {x for x, after in pairwise(self.tokens.texts) if after == "*"}
        words.update(*(re.findall(rf"\b{_WORD}\b(?!\s*::)", x) for x in (*names, *heads)))
        found, _ = self.reached((), self._type_end, words)
        return self.pointers(self._kept & found)

    def _type_end(self, item: Item) -> int:
        """Return the end of the words of an item that define a type; its start if it is none."""
        is_type = item.kind not in ("function", "instance", "variable") or item.is_member
        return self.head_end(item) if is_type else item.first

    def code(self, names: Iterable[str], without: Container[tuple[str, int]]) -> str:
        """Return the text of the device side, including the kernels and variables in `names`.

        At the files and lines `without`, where NVRTC found errors, code without a device qualifier
        is left out: a name may have led to it by accident.
        """
        self._without = without
        asked = re.findall(_WORD, " ".join(names))
        self._kept, words = self.reached((*self._roots, *self._aliases), self._end, asked)
        self._kept -= {id(item) for item in top(self.items) if self._is_refused(item)}
        self.edits = []
        self._refused_words()
        for item in top(self.items):
            if id(item) in self._kept and not self._is_host(item):
                self._keep(item)
            elif not self._is_used_namespace(item):
                self.replace(item.first, item.end)
        code = self.edited()
        # Most of Thrust's headers are for the host compiler.
        return code if "thrust" in words else re.sub(r"(?m)^#include <thrust/.*", "", code)

    def _refused_words(self) -> None:
        """Turn ``x.template f(y)`` into ``x.f(y)`` and drop ``register``: NVRTC rejects both."""
        texts = self.tokens.texts
        for number, word in enumerate(texts):
            is_call = word == "template" and texts[number + 2 : number + 3] == ["("]
            if word == "register" or (is_call and texts[number - 1] in (".", "->")):
                self.replace(number, number + 1)

    def _end(self, item: Item) -> int:
        """Return the end of the part of an item that device code has."""
        is_host = self._is_host_member(item) if item.is_member else self._is_host(item)
        return item.first if is_host else item.end

    def _is_host(self, item: Item) -> bool:
        """Whether an item outside of classes is not part of device code, whatever names it."""
        if item.kind in ("function", "instance"):
            return not (item.is_for_device or self._is_guide(item))
        constant = item.words & {"const", "constexpr", "__shared__", "static", "inline"}
        is_own = item.is_device_variable or constant or item.templates
        return item.kind == "variable" and not is_own

    def _is_host_member(self, item: Item) -> bool:
        is_own = item.kind == "function" and not item.is_for_device
        # Virtual functions are part of the layout, and defaulted ones belong to either side.
        value = self.tokens.words(item.equals or item.end, item.end)
        return is_own and "virtual" not in item.words and not value & {"default", "delete"}

    def _is_guide(self, item: Item) -> bool:
        """Whether a function's declaration is a class's deduction guide."""
        behind = item.params[1] + 1 if item.params and not item.body else item.end
        return item.kind == "function" and self.tokens.texts[behind : behind + 1] == ["->"]

    def _is_used_namespace(self, item: Item) -> bool:
        names = [x for x in self.tokens.texts[item.head + 2 : item.end - 1] if x != "::"]
        is_known = names == ["std"] or not self._namespaces.isdisjoint(names[:1])
        return item.kind == "using namespace" and is_known

    def _is_refused(self, item: Item) -> bool:
        """Whether errors in an item, outside of its host functions, show that it is the host's."""
        if item.is_device_variable or item.words & {"__global__", "__device__"}:
            return False
        members = (x for x in walk(item.children) if x.kind != "class" and not x.is_for_device)
        return bool(self._errors(item).difference(*map(self._errors, members)))

    def _errors(self, item: Item) -> set[tuple[str, int]]:
        """Return the locations of errors within an item."""
        if not self._without:
            return set()
        file, first = self.line(item.first)
        last = self.line(item.end - 1)[1]
        return {(file, line) for line in range(first, last + 1) if (file, line) in self._without}

    def _keep(self, item: Item) -> None:
        own = [x for x in item.children if x.kind != "class" and not x.is_for_device]
        refused = [x for x in own if not self._is_host_member(x) and self._errors(x)]
        data = [x for x in own if x.kind == "variable" and "static" not in x.words]
        # If one has a type that only the host has, device code may use none of them.
        refused += data if any(map(self._errors, data)) else ()
        for x in refused:
            self.replace(x.first, x.end)
        for child in item.children:
            if child.kind == "class":
                self._keep(child)
            elif self._is_host_member(child):
                self._leave_declaration(child)

    def _leave_declaration(self, item: Item) -> None:
        """Reduce a host function in a class to what device code can see of it."""
        end, texts = self.head_end(item), self.tokens.texts
        if not self._is_declarable(item):
            owner = item.parent.name if item.parent else ""
            is_constructor = item.name == owner and "~" not in texts[item.first : end]
            # A class without constructors might be an aggregate.
            left = f"{owner}(::tvmffi_cubin_host_only<{item.first}>);" if is_constructor else ""
            self.replace(item.first, item.end, left)
            return
        # NVRTC rejects a function that is marked __host__.
        for number in range(item.first, end):
            if texts[number] == "__host__":
                self.replace(number, number + 1)
        if item.body is not None:
            self.replace(end, item.body[1] + 1, ";")

    def _is_declarable(self, item: Item) -> bool:
        """Whether device code has everything that a host function's declaration names."""
        head = self.tokens.span(item.first, self.head_end(item))
        words = {*re.findall(_WORD, re.sub(_STD_INTEGER, "", head))}
        # A class refers to the functions that override others.
        if item.params is None or words & {"override", "final", "std", "tvm"}:
            return False
        return not self._errors(item) and all(map(self._is_known, words))

    def _is_known(self, word: str) -> bool:
        items = self.by_name.get(word, [])
        return not items or any(id(x) in self._kept and not self._is_host(x) for x in items)
