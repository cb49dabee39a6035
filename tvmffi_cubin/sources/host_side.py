"""The host text of a mixed source: everything but device-only code, with stubs for kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..cuda.hints import NVCC
from .cut import Text
from .items import Item, Parameter, parameters, top

_DEVICE_ONLY = '__attribute__((noinline, error("host code cannot call a __device__ function"))) '
_JOINTS = ("::", ".", "->", "template")


class HostCut(Text):
    """A source preprocessed for the host, and cut for it."""

    def __init__(self, source: str, bound: Sequence[str] = ()) -> None:
        """Cut a source; `bound` are the last parameters of all kernels, which the module binds."""
        super().__init__(source)
        self._bound = bound
        # Kernels with stubs, and how many functions have that name: more than one if a template's
        # arguments do not tell its instances apart.
        self.kernels: dict[str, int] = {}
        self.bound_types: dict[str, tuple[str, ...]] = {}  # by kernel
        self.variables: list[str] = []  # device variables that host code names
        self._has_templates = False
        self._types: dict[str, set[tuple[str, ...]]] = {}  # of kernels' parameters
        self.code = self._cut()

    @property
    def foreseen(self) -> tuple[str, ...]:
        """The name expressions for NVRTC, if the text alone tells them; else none."""
        if self._has_templates or any(count > 1 for count in self.kernels.values()):
            return ()
        return (*self.kernels, *(f"&{name}" for name in self.variables))

    def _cut(self) -> str:
        kept, _ = self.reached(filter(self._is_root, top(self.items)), self._end)
        for item in top(self.items):
            if item.is_device_variable and "__managed__" in item.words:
                file, line = self.line(item.first)
                raise ValueError(
                    f"{file}:{line}: {item.name} is a __managed__ variable\n"
                    f"Only nvcc compiles that: pass {NVCC}"
                )
            if id(item) in kept:
                self._keep(item)
            else:
                self.replace(item.first, item.end)
        self._bounds()
        self.classes = self.pointers(kept)
        for name, count in self.kernels.items():
            self.kernels[name] = max(count, len(self._types[name]))
        return self.edited()

    def _bounds(self) -> None:
        """Parenthesize comparisons as in ``T[n > 0 ? n : 1]``: g++ sees angle brackets there."""
        tokens, texts = self.tokens, self.tokens.texts
        for number, text in enumerate(texts):
            if text == "[" and tokens.kinds[number - 1] == "word" and texts[number - 1] != "return":
                close = tokens.close(number)
                inside = texts[number + 1 : close]
                if ">" in inside and "?" in inside:
                    self.insert(tokens.ends[number], "(")
                    self.insert(tokens.starts[close], ")")

    def _is_root(self, item: Item) -> bool:
        if item.is_kernel:
            return item.kind == "instance" or not item.templates
        if item.kind in ("function", "instance"):
            is_operator = item.name == "operator" and not item.is_device_only
            return is_operator or not item.is_for_device
        if item.kind == "variable":
            return not (item.is_device_variable or item.words & {"const", "constexpr"})
        return item.kind in ("using namespace", "other")

    def _end(self, item: Item) -> int:
        """Return the end of the part of an item that host code has."""
        is_cut = item.params is not None and (item.is_kernel or item.is_device_only)
        return self.head_end(item) if is_cut else item.end

    def _keep(self, item: Item) -> None:
        if item.children:
            for child in item.children:
                self._keep(child)
        elif item.is_kernel and item.params:
            self._kernel(item, item.params)
        elif item.kind == "function" and item.is_device_only:
            self._declaration(item)
        elif item.is_device_variable:
            self._variable(item)
        else:
            self._launches(item)

    def _declaration(self, item: Item) -> None:
        """Remove a device function's body: host code may name the function, but not call it."""
        if item.scope and item.body:
            self.replace(item.first, item.end)
            return
        if not (item.is_member or "friend" in item.words or "extern" in item.words):
            at = self.tokens.texts.index("__device__", item.head)  # after any constraint
            self.insert(self.tokens.starts[at], _DEVICE_ONLY)
        if item.body is not None:
            body = "{ __builtin_trap(); }" if "virtual" in item.words else ";"
            self.replace(self.head_end(item), item.body[1] + 1, body)

    def _variable(self, item: Item) -> None:
        """Reduce a variable to its shadow, without the value that only the device has."""
        tokens = self.tokens
        if not (item.is_member or item.templates or "extern" in item.words):
            names = [item.qualify(x) for x in item.names]
            self.variables += [x for x in names if x not in self.variables]
            others = (x for name in item.names for x in self.by_name[name])
            is_shared = any("extern" in x.words for x in others)
            if not (is_shared or item.words & {"static", "inline"}):
                # A shadow is local to its unit, as the variable is to its image.
                self.insert(tokens.starts[item.head], "static ")
        begin = item.equals
        if begin is None or item.words & {"const", "constexpr", "auto"} or len(item.names) > 1:
            return
        if "[]" in tokens.span(item.first, begin).replace(" ", ""):
            return
        self.replace(begin, item.end - 1)

    def _kernel(self, item: Item, brackets: tuple[int, int]) -> None:
        params = parameters(self.tokens, brackets)
        own = self._without_bound(item, params, brackets) if self._bound else params
        qualified = item.qualified
        self._types.setdefault(qualified, set()).add(tuple(x.type_text for x in own))
        if item.body is None:
            return
        names = [self._named(x, f"tvmffi_cubin_p{i}") for i, x in enumerate(own)]
        given = parameters(self.tokens, item.templates[-1]) if item.templates else []
        arguments = [self._named(x, f"tvmffi_cubin_t{i}") for i, x in enumerate(given)]
        kernel = f"::{qualified}{item.arguments}"
        if arguments and not item.arguments:
            kernel += f"<{', '.join(arguments)}>"
        types = ", ".join(re.sub(r"\w+", r"decltype(\g<0>)", name) for name in names)
        address = f"(static_cast<void (*)({types})>(&{kernel}))"
        body = f"{{ ::tvmffi_cubin::RunStub<{address}>({', '.join(names)}); }}"
        self.replace(item.body[0], item.body[1] + 1, body)
        self.kernels[qualified] = self.kernels.get(qualified, 0) + 1 + any(x.pack for x in given)
        self._has_templates |= bool(item.templates) or any("auto" in x.type_text for x in params)

    def _named(self, param: Parameter, name: str) -> str:
        if not param.name:
            self.insert(param.place, f" {name}")
        return (param.name or name) + ("..." if param.pack else "")

    def _without_bound(
        self, item: Item, params: list[Parameter], brackets: tuple[int, int]
    ) -> list[Parameter]:
        count = len(self._bound)
        own, rest = params[:-count], params[-count:]
        names = [param.name for param in rest]
        # A different name is not an error: declarations need not name their parameters.
        pairs = zip(names, self._bound, strict=False)
        if len(rest) < count or any(x != name and name in names for x, name in pairs):
            file, line = self.line(item.first)
            raise ValueError(
                f"{file}:{line}: kernel parameters must end with the bound_params, in order: "
                f"{', '.join(self._bound)}; those of kernel {item.name} are "
                f"({', '.join(param.name for param in params)})"
            )
        self.replace(own[-1].end if own else brackets[0] + 1, brackets[1])
        self.bound_types[item.qualified] = tuple(param.type_text for param in rest)
        return own

    def _launches(self, item: Item) -> None:
        for at in range(item.first, item.end):
            is_launch = self.tokens.texts[at] == "<<<"
            if is_launch and (close := self._configuration_end(at + 1, item.end)):
                self._check_callee(at, item)
                self._launch(at, close)

    def _launch(self, at: int, close: int) -> None:
        tokens, begin = self.tokens, self._callee(at)
        arguments = tokens.close(close + 3)
        configuration = self.source[tokens.ends[at] : tokens.starts[close]]
        call = (
            f"(::tvmffi_cubin::Configure({self._place(at + 1)}{configuration}) ? (void)0 : "
            f"{self._place(begin)}{tokens.span(begin, at)}{self._place(close + 3)}"
        )
        self.edits.append((tokens.starts[begin], tokens.starts[close + 3], call))
        self.insert(tokens.ends[arguments], ")")

    def _place(self, number: int) -> str:
        """Return a ``#line`` that gives the text after it a token's position in messages."""
        tokens = self.tokens
        file, line = self.line(number)
        start = tokens.starts[number]
        before = self.source[self.source.rfind("\n", 0, start) + 1 : start]
        # In a line that a macro expands to, columns mean nothing.
        indent = re.sub(r"[^\t]", " ", before) if len(before) < 200 else ""
        return f'\n#line {line} "{file}"\n{indent}'

    def _check_callee(self, at: int, item: Item) -> None:
        """Reject the launch of a function that is not a kernel: it would run on the host."""
        last, texts = self.tokens.launched(at), self.tokens.texts
        name, named = texts[last], self.by_name.get(texts[last], [])
        if not named or any(x.kind != "function" or x.is_kernel for x in named):
            return
        # It may belong to a class or a library, or be a local name.
        behind = {texts[i + 1] for i in range(item.first, item.end - 1) if texts[i] == name}
        if not item.is_member and texts[last - 1] != "::" and behind <= {"<<<", "<", "("}:
            file, line = self.line(at)
            raise ValueError(f"{file}:{line}: {name} is launched but not declared __global__")

    def _configuration_end(self, at: int, end: int) -> int | None:
        """Return the number of the first token of ``>>>``, if there is one."""
        tokens, texts = self.tokens, self.tokens.texts
        while at + 3 < end and texts[at] not in (";", "<<<"):
            if texts[at : at + 4] == [">", ">", ">", "("]:
                return at
            at = (at if texts[at] == "<" else tokens.last(at)) + 1
        return None

    def _callee(self, at: int) -> int:
        """Return where the launched expression begins: a name with arguments, or parentheses."""
        tokens, texts = self.tokens, self.tokens.texts
        begin = at - 1
        while True:
            begin = tokens.partner.get(begin, begin)
            before = texts[begin - 1]
            is_name = tokens.kinds[begin - 1] == "word" or before in (">", "]")
            is_joined = is_name and texts[begin] in ("<", "[", "(", *_JOINTS)
            if not is_joined and before not in _JOINTS:
                return begin
            begin -= 1
