"""`read`: what a CUDA source contains: kernels, host functions, definitions, launches, includes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from .code import TELLING, Code, code_of, line_starts
from .declaration import TOKEN, Head, is_name, squeeze
from .facts import Declared, KernelFact, LaunchSite, SourceFacts, Use

if TYPE_CHECKING:
    from .macros import Expanded

# Compiled where they are used, which is in few sources.
_HOST_INCLUDE = r"(?:tvm/ffi|torch|ATen|c10|pybind11)/|Python\.h\Z|dlpack/"
_HOST_NAME = (
    r"\btvm\s*::\s*ffi\b|\bTVM_FFI_\w+|\bTVMFFI\w+|\bEMBED_CUBIN\b"
    r"|\bTORCH_(?:LIBRARY|EXTENSION_NAME)\w*|\bPYBIND11_MODULE\b|\btorch\s*::|\bat\s*::\s*Tensor\b"
)
# Without one of them there is no such name, and looking for these is faster.
_HOST_HINTS = ("tvm", "TVM", "EMBED_CUBIN", "TORCH_", "PYBIND11", "torch", "Tensor")
# What exports a function; the macro's first argument is its name.
_EXPORT = r"\bTVM_FFI_DLL_EXPORT_TYPED_FUNC\s*\(\s*(\w+)|\b__tvm_ffi_(\w+)"
_DEVICE_NAME = re.compile(r"\b__(?:device|constant)__\b")
_MARK = re.compile(r"[;{}()\[\]]")
_BRACE = re.compile(r"[{}]")
_KERNEL = r"\b__global__\b|[;{}()]"
_MEMORY = frozenset(("__device__", "__constant__", "__managed__"))
_INLINE_TEXT = "inline constexpr consteval __forceinline__ __forceinline __inline__ __inline"
_INLINE = frozenset(_INLINE_TEXT.split())
# Braces in one declaration, such as of initialisers; nobody writes more.
_MOST_BRACES = 8
_OPENERS = {"(": ")", "[": "]", "<": ">"}
# Of namespaces in each other; compilers follow no more.
_DEEPEST = 256
# How far before `<<<` the name of what is launched is looked for.
_LONGEST_CALLEE = 512


@lru_cache(maxsize=16)
def read(source: str) -> SourceFacts:
    """Return what a source contains.

    Any text is read, in time linear in its length: what is wrong in it is the compiler's to say.

    Parameters
    ----------
    source : str
        CUDA C++ source text.
    """
    code = code_of(source)
    reader = _Reader(source, code)
    reader.run()
    text = reader.text
    launches = tuple(reader.launches())
    host_uses = tuple(sorted(reader.host_uses(), key=lambda use: use.line))
    defined = [kernel for kernel in reader.kernels if kernel.defined]
    host = [Use(f"{x.text} in host code", x.line) for x in launches if x.in_host]
    host = sorted([*host, *host_uses], key=lambda use: use.line)
    for_device = defined or _is_device_code(text, bool(host or reader.functions))
    kind = "mixed" if defined and host else "device" if for_device else "host"
    evidence = [Use(f"__global__ {kernel.qualified}", kernel.line) for kernel in defined[:1]]
    exports = re.findall(_EXPORT, text) if "TVM_FFI_DLL" in text or "__tvm_ffi_" in text else ()
    return SourceFacts(
        kernels=tuple(reader.kernels),
        functions=tuple(reader.functions),
        launches=launches,
        includes=code.includes,
        host_uses=host_uses,
        kind=kind,
        evidence=tuple([*evidence, *host] if kind == "mixed" else evidence),
        definitions=tuple(reader.definitions),
        exports=tuple(by_macro or by_symbol for by_macro, by_symbol in exports),
        readable=reader.readable,
    )


def _is_device_code(text: str, has_host: bool) -> bool:
    """Whether a source without kernels is of use to kernels only."""
    return not has_host and "__host__" not in text and bool(_DEVICE_NAME.search(text))


class _Scope:
    """What a declaration is in."""

    def __init__(
        self,
        namespaces: tuple[str, ...] = (),
        extern_c: bool = False,
        is_class: bool = False,
    ) -> None:
        self.namespaces = namespaces
        self.extern_c = extern_c
        self.is_class = is_class


class _Reader:
    """Reads the declarations at namespace scope, and passes over the bodies of functions."""

    def __init__(self, source: str, code: Code) -> None:
        self.code = code
        self.edits: Expanded | None = None
        self.text = code.text
        if any(TELLING.search(body) for _, body in code.macros.values()):
            from .macros import expand

            self.edits = expand(code)
            self.text = self.edits.text
        self.lines = line_starts(source)
        self.kernels: list[KernelFact] = []
        self.functions: list[Declared] = []
        self.definitions: list[Declared] = []
        self.readable = True
        self.scopes = [_Scope()]
        self.bodies: list[tuple[int, int, bool]] = []  # of functions: start, end, on the device
        self.last_launch = self.text.rfind("<<<")

    def run(self) -> None:
        text, place, start = self.text, 0, 0
        groups: list[tuple[int, int]] = []
        while mark := _MARK.search(text, place):
            at, sign = mark.start(), mark[0]
            place = at + 1
            if sign in "([":
                place = self._group_end(at)
                groups.append((at, place))
                continue
            if sign == "{":
                head = Head(text, start, at, groups)
                place, is_end = self._brace(head, at)
                if not is_end and head.words and head.words.count("{") < _MOST_BRACES:
                    groups.append((at, place))
                    continue
            elif sign == ";":
                self._declaration(Head(text, start, at, groups))
            elif sign == "}" and len(self.scopes) > 1:
                self.scopes.pop()
            else:
                self.readable = False
            start, groups = place, []
        self.readable = self.readable and len(self.scopes) == 1
        if not self.readable:
            self._unread()

    def _group_end(self, start: int) -> int:
        """Return the offset behind the bracket that closes one, or where the next has to."""
        depth = braces = 0
        for mark in _MARK.finditer(self.text, start):
            sign = mark[0]
            if sign in "([":
                depth += 1
            elif sign in ")]":
                depth -= 1
                if depth == 0:
                    return mark.end()
            elif sign == "{":
                braces += 1
            elif braces == 0:
                self.readable = False
                return mark.start()
            elif sign == "}":
                braces -= 1
        self.readable = False
        return len(self.text)

    def _body_end(self, start: int) -> int:
        depth = 0
        for mark in _BRACE.finditer(self.text, start):
            depth += 1 if mark[0] == "{" else -1
            if depth == 0:
                return mark.end()
        self.readable = False
        return len(self.text)

    def _brace(self, head: Head, at: int) -> tuple[int, bool]:
        """Read what a brace begins; return where to go on, and whether with another declaration."""
        scope = self.scopes[-1]
        namespaces = head.namespaces
        if namespaces is not None:
            if len(scope.namespaces) < _DEEPEST:
                namespaces = (*scope.namespaces, *namespaces)
            self.scopes.append(_Scope(namespaces, scope.extern_c))
            return at + 1, True
        if head.is_linkage:
            self.scopes.append(_Scope(scope.namespaces, head.linkage == '"C"'))
            return at + 1, True
        if head.is_type and self.last_launch > at:
            # What launches in a member says whether it runs on the device.
            self.scopes.append(_Scope(scope.namespaces, scope.extern_c, is_class=True))
            return at + 1, True
        end = self._body_end(at)
        if not head.has_body:
            if "__global__" not in head.has or head.is_type:
                return end, False
            self._hidden_kernel(head)
            return end, True
        on_device = not head.has.isdisjoint(("__global__", "__device__"))
        self.bodies.append((at, end, on_device))
        self._function(head, at)
        return end, True

    def _declaration(self, head: Head) -> None:
        if head.declarator >= 0 and not ("__global__" not in head.has and head.is_value()):
            self._function(head, None)
        elif "__global__" in head.has:
            self._hidden_kernel(head)
        elif not head.has.isdisjoint(_MEMORY):
            self._variables(head)

    def _function(self, head: Head, body: int | None) -> None:
        scope = self.scopes[-1]
        if scope.is_class or not head.has.isdisjoint(("typedef", "using", "friend")):
            return
        if "__global__" in head.has:
            self._kernel(head, body)
            return
        first = head.name_start()
        if body is None and first == head.first:
            return  # a macro
        name = head.squeezed(first, head.spans[head.declarator - 1][1])
        at, end = head.spans[first][0], head.spans[head.declarator][1] if body is None else body
        found = self._declared(head, at, name, head.squeezed(head.first, end))
        if body is not None:
            self.definitions.append(found)
        if "__device__" not in head.has:
            self.functions.append(found._replace(defined=body is not None))

    def _kernel(self, head: Head, body: int | None) -> None:
        scope = self.scopes[-1]
        first = head.name_start()
        at = head.spans[first][0]
        start, end = head.spans[head.declarator]
        index = bisect_right(self.code.conditionals, self._origin(start)[0])
        behind = self.code.conditionals[index : index + 1]
        is_divided = bool(behind) and behind[0] < self._origin(end - 1)[0]
        is_whole = self.text[end - 1] == ")"
        self.kernels.append(
            KernelFact(
                name=head.squeezed(first, head.spans[head.declarator - 1][1]),
                namespaces=scope.namespaces,
                extern_c=head.linkage == '"C"' if head.linkage else scope.extern_c,
                # `template <>` begins a specialisation, which is no template itself.
                template_params=head.template or None,
                params=head.params() if is_whole and not is_divided else None,
                line=self._line(at),
                defined=body is not None or head.is_instantiation,
                internal="static" in head.has or "" in scope.namespaces,
                span=self._span(start + 1, end - 1, body) if is_whole else None,
            )
        )

    def _hidden_kernel(self, head: Head) -> None:
        """Note a kernel whose parameters a macro has, so that it is not taken for host code."""
        names = [
            index for index in range(head.first, len(head.words)) if is_name(head.words[index])
        ]
        if names and not self.scopes[-1].is_class:
            name, line = head.words[names[-1]], self._line(head.spans[names[-1]][0])
            self.kernels.append(KernelFact(name, (), False, None, None, line, True))

    def _span(self, start: int, end: int, body: int | None) -> tuple[int, int, int | None] | None:
        marks = [start - 1, end] if body is None else [start - 1, end, body]
        places = [self._origin(mark) for mark in marks]
        if any(is_expanded for _, is_expanded in places):
            return None
        return places[0][0] + 1, places[1][0], None if body is None else places[2][0] + 1

    def _variables(self, head: Head) -> None:
        # Without braces around it, extern "C" declares a variable, as extern does.
        if "extern" in head.has or head.linkage or self.scopes[-1].is_class:
            return
        prefix = 'extern "C" ' if self.scopes[-1].extern_c else "extern "
        for index, said in head.variables():
            at, name = head.spans[index][0], head.name_of(index)
            self.definitions.append(self._declared(head, at, name, said, prefix))

    def _declared(
        self, head: Head, at: int, name: str, said: str, variable_prefix: str = ""
    ) -> Declared:
        scope = self.scopes[-1]
        if head.template:
            linkage = "template"
        elif not head.has.isdisjoint(_INLINE):
            linkage = "inline"
        elif (
            "static" in head.has
            or "" in scope.namespaces
            or (variable_prefix and "const" in head.has)
        ):
            linkage = "internal"
        else:
            linkage = "external"
        prefix = variable_prefix
        if not prefix and (head.linkage == '"C"' if head.linkage else scope.extern_c):
            prefix = 'extern "C" '
        inside = [space for space in scope.namespaces if space]
        said = f"{prefix}{said};"
        for space in reversed(inside):
            said = f"namespace {space} {{ {said} }}"
        # Members are declared in their class, and nowhere else.
        said = said if linkage == "external" and not {":", "<"} & {*name} else ""
        return Declared("::".join([*inside, name]), self._line(at), True, linkage, said)

    def _unread(self) -> None:
        """Note kernels that brackets hide, so that none is taken for host code."""
        known = {kernel.name for kernel in self.kernels}
        text, begin = self.text, -1
        for mark in re.finditer(_KERNEL, text):
            if mark[0] == "__global__":
                begin = mark.end()
            elif begin >= 0:
                words = re.findall(r"\w+", text[begin : mark.start()])
                if mark[0] == "(" and words and words[-1] not in known:
                    line = self._line(mark.start())
                    self.kernels.append(KernelFact(words[-1], (), False, None, None, line, True))
                begin = -1

    def launches(self) -> Iterator[LaunchSite]:
        """Iterate over the launches, whole or in part."""
        starts = [body[0] for body in self.bodies]
        behind = 0  # the last one
        for match in re.finditer("<<<", self.text) if self.last_launch >= 0 else ():
            at = match.start()
            index = bisect_right(starts, at) - 1
            _, end, on_device = self.bodies[index] if index >= 0 else (0, 0, False)
            in_host = at > end or not on_device
            start = _callee_start(self.text, behind, at)
            behind = match.end()
            callee = squeeze(self.text[start:at])
            yield LaunchSite(f"{callee}<<<...>>>", self._line(start), in_host)

    def host_uses(self) -> Iterator[Use]:
        """Iterate over the uses of tvm-ffi, torch, pybind11 and Python."""
        for path, line in self.code.includes:
            if re.match(_HOST_INCLUDE, path):
                yield Use(f"#include <{path}>", line)
        seen = set()
        if any(hint in self.text for hint in _HOST_HINTS):
            for match in re.finditer(_HOST_NAME, self.text):
                name = re.sub(r"\s", "", match[0])
                if name not in seen:
                    seen.add(name)
                    yield Use(name, self._line(match.start()))

    def _origin(self, offset: int) -> tuple[int, bool]:
        """Return an offset in the source, and whether a macro is there that is expanded."""
        return (offset, False) if self.edits is None else self.edits.origin(offset)

    def _line(self, offset: int) -> int:
        return bisect_right(self.lines, self._origin(offset)[0])


def _callee_start(text: str, first: int, end: int) -> int:
    """Return where the name begins of what is launched behind it, with its arguments."""
    tokens = [*TOKEN.finditer(text, max(first, end - _LONGEST_CALLEE), end)]
    closed: list[str] = []
    start, is_whole = end, False
    for token in reversed(tokens):
        word = token[0]
        if closed:
            if word in _OPENERS:
                while closed and closed.pop() != _OPENERS[word]:
                    pass  # a `>` that closes nothing
            elif word in ")]>" and not (word == ">" and closed[-1] != ">"):
                closed.append(word)
            is_whole = word == "("
        elif word in ("::", ".", "->"):
            is_whole = False
        elif is_whole:
            break
        elif word in (")", "]", ">"):
            closed.append(word)
        else:
            if not is_name(word):
                break
            is_whole = True
        start = token.start()
    return start
