"""The device text of a mixed source: kernels, device variables, and what these reach by name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from .cut import Edit, Text, applied
from .declarations import Item, top

_CUDA_NAMESPACES = frozenset(
    ("std", "cooperative_groups", "nvcuda", "cub", "cuda", "cute", "cutlass", "thrust")
)
# What needs CUDA's device runtime: launches, and what decides a graph's conditional nodes.
_OF_DEVICE_RUNTIME = re.compile(r"<<<|\bcudaGraphSetConditional\b")
_HOST_NAMESPACES = frozenset(("std", "tvm"))
_STD_INTEGER = re.compile(r"\bstd\s*::\s*(?:size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)\b")
_OVERRIDING = {"override", "final"}
# What stands for a member function of the host's whose declaration has types of the host's.
_HOST_MEMBER = (
    "template <typename... T> static auto {name}(...) {{ static_assert(sizeof...(T) == ~0u, "
    '"tvmffi_cubin: {owner}::{name} is host code, and only host code has the types that it names");'
    " }}"
)


class DeviceSide(NamedTuple):
    """The device text, and what the build has to know of it."""

    text: str
    has_code: bool  # it defines a kernel or a device variable
    uses_runtime: bool  # device code launches kernels itself, or sets a condition of a graph
    names: frozenset[str]  # all that the source declares, of either side


def device_side(
    source: str, names: Iterable[str] = (), without: Container[tuple[str, int]] = ()
) -> DeviceSide:
    """Return the device side of a preprocessed source.

    Parameters
    ----------
    source : str
        As the device's preprocessor leaves it.
    names : iterable of str
        Further names that device code needs, those of template arguments.
    without : container of (str, int)
        Files and lines where NVRTC has found errors: what is no device code's own is left out
        there, since a name may have led to it by accident.
    """
    return _DeviceCut(Text(source), without).run(names)


class _DeviceCut:
    def __init__(self, text: Text, without: Container[tuple[str, int]]) -> None:
        self.text = text
        self.without = without
        self.edits: list[Edit] = []
        self.kept: set[int] = set()
        self.hidden: set[tuple[int, str]] = set()
        self.namespaces = {
            x for item in text.walk() if item.kind == "namespace" for x in item.names
        }

    def run(self, names: Iterable[str]) -> DeviceSide:
        text = self.text
        roots = [item for item in top(text.items) if self._is_root(item)]
        self.kept = text.reached(roots, self._words, names)
        for item in top(text.items):
            if id(item) in self.kept and not (self._is_host(item) or self._is_refused(item)):
                self._keep(item)
            elif not self._is_used_namespace(item):
                self.edits.append(text.edit_of(item.first, item.end))
        self.edits += self._templates()
        code = applied(text.source, self.edits)
        if not re.search(r"\bthrust\b(?!/)", code):  # most of its headers are for the host compiler
            code = re.sub(r"(?m)^#include <thrust/.*>$", "", code)
        return DeviceSide(
            code,
            any(item.body or item.kind != "function" for item in roots),
            _OF_DEVICE_RUNTIME.search(code) is not None,
            frozenset(text.by_name),
        )

    def _templates(self) -> Iterator[Edit]:
        """Iterate over edits that make ``x.f(y)`` of ``x.template f(y)``, which NVRTC refuses."""
        texts = self.text.tokens.texts
        for number, word in enumerate(texts):
            is_call = word == "template" and texts[number + 2 : number + 3] == ["("]
            if is_call and texts[number - 1] in (".", "->"):
                yield self.text.edit_of(number, number + 1)

    def _is_root(self, item: Item) -> bool:
        if item.is_device_variable:
            return True
        return bool(item.words & {"__global__"}) and item.kind in ("function", "instance")

    def _is_host(self, item: Item) -> bool:
        """Whether an item is no part of device code, whatever names it."""
        if item.kind == "function":
            return not item.is_for_device and not self._is_guide(item)
        if item.kind == "instance":
            return not item.is_for_device
        if item.kind == "variable":
            constant = item.words & {"const", "constexpr", "__shared__", "static", "inline"}
            return not (item.is_device_variable or constant or item.templates)
        return False

    def _is_refused(self, item: Item) -> bool:
        is_own = item.is_device_variable or item.words & {"__global__", "__device__"}
        if not self.without or is_own:
            return False
        members = (x for x in item.walk() if x.is_member and self._is_host_member(x))
        return bool(self._errors(item).difference(*map(self._errors, members)))

    def _errors(self, item: Item) -> set[tuple[str, int]]:
        """Return the places of errors within an item."""
        if not self.without:
            return set()
        file, first = self.text.tokens.line(item.first)
        last = self.text.tokens.line(item.end - 1)[1]
        return {(file, line) for line in range(first, last + 1) if (file, line) in self.without}

    def _is_guide(self, item: Item) -> bool:
        """Whether a function's declaration is a deduction guide of a class."""
        if item.body is not None or item.params is None:
            return False
        return self.text.tokens.texts[item.params[1] + 1 : item.params[1] + 2] == ["->"]

    def _is_used_namespace(self, item: Item) -> bool:
        if item.kind != "using namespace":
            return False
        words = self.text.tokens.texts[item.head + 2 : item.end - 1]
        names = [x for x in words if x != "::"]
        if names[:1] == ["std"]:
            return len(names) == 1
        return bool(names) and names[0] in (self.namespaces | _CUDA_NAMESPACES) - {"tvm"}

    def _words(self, item: Item) -> set[str]:
        if self._is_host(item):
            return set()
        return self._words_of_member(item)

    def _words_of_member(self, item: Item) -> set[str]:
        if item.kind == "class" and item.children:
            members = (x for x in item.children if not self._is_host_member(x))
            return self.text.class_words(item, self._words_of_member, members)
        return self.text.tokens.words(item.first, item.end)

    def _is_host_member(self, item: Item) -> bool:
        is_own = item.kind == "function" and not item.is_for_device
        # The layout has a virtual one, and what is defaulted is of either side.
        return is_own and "virtual" not in item.words and not self._is_given(item)

    def _is_given(self, item: Item) -> bool:
        if item.equals is None:
            return False
        return self.text.tokens.texts[item.equals + 1] in ("default", "delete")

    def _keep(self, item: Item) -> None:
        if item.kind != "class":
            return
        for child in item.children:
            if child.kind == "class":
                self._keep(child)
            elif self._is_host_member(child):
                self._leave_declaration(child)

    def _leave_declaration(self, item: Item) -> None:
        """Leave of a host function in a class what traits see of it."""
        text = self.text
        if not self._is_declarable(item):
            self.edits.append(text.edit_of(item.first, item.end, self._hidden(item)))
            return
        # NVRTC refuses a function that is for the host by its own word.
        for number in range(item.first, text.head_end(item)):
            if text.tokens.texts[number] == "__host__":
                self.edits.append(text.edit_of(number, number + 1))
        if item.body is not None:
            self.edits.append(text.edit_of(text.head_end(item), item.body[1] + 1, ";"))

    def _is_declarable(self, item: Item) -> bool:
        """Whether device code has all that a host function's declaration names."""
        text, tokens = self.text, self.text.tokens
        words, end = text.head(item), text.head_end(item)
        # A class refers to the functions that override others.
        if item.params is None or words & _OVERRIDING or self._errors(item):
            return False
        is_deduced = "->" not in tokens.texts[item.params[1] : end]
        if is_deduced and "auto" in tokens.texts[item.head : item.params[0]]:
            return False
        if "std" in words and "std" not in _STD_INTEGER.sub("", tokens.span(item.first, end)):
            words = words - {"std"}
        return not words & _HOST_NAMESPACES and all(map(self._is_known, words))

    def _hidden(self, item: Item) -> str:
        """Return what stands for a function that cannot be declared: using it is an error."""
        words = self.text.head(item)
        if item.parent is None or words & {*_OVERRIDING, "friend", "operator"}:
            return ""
        owner, key = item.parent.name, (id(item.parent), item.name)
        if item.params is None or self.text.tokens.texts[item.params[0] - 2] == "~":
            return ""
        if item.name == owner:  # a class without constructors might be an aggregate
            return f"{owner}(::tvmffi_cubin_host_only<{item.first}>);"
        if key in self.hidden:
            return ""
        self.hidden.add(key)
        return _HOST_MEMBER.format(owner=owner, name=item.name)

    def _is_known(self, word: str) -> bool:
        items = self.text.by_name.get(word, [])
        return not items or any(id(x) in self.kept and not self._is_host(x) for x in items)
