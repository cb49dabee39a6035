"""`Scope`: the names that the expressions of one launch may read, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping

from ..kernels.types import CxxType
from ..launches.expression import (
    COMPARISONS,
    JOINING,
    Field,
    Name,
    Number,
    Op,
    Tree,
    failure,
    names,
    parse,
)
from ..launches.values import Bound
from .function import Exported, Formula

_COOPERATIVE = "max_cooperative_blocks"
_OF_DEVICE = ("num_sms", _COOPERATIVE)


class Scope:
    """The function's parameters first, then what the launch's `args` give, then the device's."""

    def __init__(
        self,
        exported: dict[str, Exported],
        args: Mapping[str, object],
        types: Mapping[str, CxxType],
        where: str,
        hint: str = "",
    ) -> None:
        self.exported = exported
        self.args = args
        self.types = types
        self.where = where
        self.hint = hint

    def formula(self, what: str, text: str, *, reading: tuple[str, ...] = ()) -> Formula:
        """Return an expression over the function's parameters and the device's figures."""
        return Formula(text, self._checked(parse(text), what, text, reading))

    def condition(self, what: str, text: str) -> Formula:
        """Return a condition over the function's parameters and the device's figures."""
        return Formula(text, self._condition(parse(text, is_condition=True), what, text))

    def _condition(self, tree: Tree, what: str, text: str) -> Tree:
        if isinstance(tree, Op) and tree.op in JOINING:
            return Op(tree.op, tuple(self._condition(part, what, text) for part in tree.parts))
        if isinstance(tree, Op) and tree.op in COMPARISONS:
            return Op(tree.op, tuple(self._operand(part, what, text) for part in tree.parts))
        if not isinstance(tree, Name):
            return tree
        given = self.args.get(tree.name)
        if isinstance(given, bool) and tree.name not in self.exported:
            return Number(int(given))
        read = self._operand(tree, what, text)
        if not isinstance(read, Name) or not self._is_flag(read.name):
            problem = f"{tree.name!r} is no bool; compare it, as in {tree.name} != 0"
            raise failure(text, tree.column, f"{self.where}: {what}: {problem}")
        return read

    def _operand(self, tree: Tree, what: str, text: str) -> Tree:
        if isinstance(tree, Name) and self._is_flag(tree.name):
            self.exported[tree.name] = self.exported[tree.name].with_read(tree)
            return tree
        return self._checked(tree, what, text, ())

    def _is_flag(self, name: str) -> bool:
        return name in self.exported and self.exported[name].param.type.kind == "bool"

    def _checked(self, tree: Tree, what: str, text: str, reading: tuple[str, ...]) -> Tree:
        tree = self._over(tree, what, text, reading)
        is_late = what.startswith(("grid", "args")) or _COOPERATIVE in self.exported
        if not is_late and any(isinstance(x, Name) and x.name == _COOPERATIVE for x in names(tree)):
            raise ValueError(
                f"{self.where}: {what}: {text!r} reads {_COOPERATIVE}, which depends on the block, "
                "its shared memory and the cluster: only a grid or args can read it"
            )
        return tree

    def _over(self, tree: Tree, what: str, text: str, reading: tuple[str, ...]) -> Tree:
        if isinstance(tree, Number):
            return tree
        if isinstance(tree, Op):
            return Op(tree.op, tuple(self._over(x, what, text, reading) for x in tree.parts))
        try:
            return self._read(tree, reading)
        except _ReadError as error:
            raise failure(text, tree.column, f"{self.where}: {what}: {error}") from None

    def _read(self, read: Name | Field, reading: tuple[str, ...]) -> Tree:
        name = read.name if isinstance(read, Name) else read.tensor
        if name in self.exported:
            problem = self.exported[name].misread(read)
            if problem:
                raise _ReadError(problem)
            self.exported[name] = self.exported[name].with_read(read)
            return read
        if name in self.args:
            return self._read_arg(name, read, reading)
        if isinstance(read, Name) and name in _OF_DEVICE:
            return read
        given = (arg for arg in self.args if arg not in reading)
        known = [*self.exported, *given, *_OF_DEVICE]
        raise _ReadError(f"unknown name {name!r}; there are {', '.join(known)}{self.hint}")

    def _read_arg(self, name: str, read: Name | Field, reading: tuple[str, ...]) -> Tree:
        value, type_ = self.args[name], self.types[name]
        if isinstance(value, Bound):
            raise _ReadError(f"{name!r} is bound, and expressions are worked out without that")
        if name in reading:
            raise _ReadError(f"{name!r} is what this expression gives")
        if isinstance(read, Field):
            tree = parse(value) if isinstance(value, str) else None
            if type_.kind in ("pointer", "raw") and isinstance(tree, Name):
                return self._read(read._replace(tensor=tree.name), (*reading, name))
            raise _ReadError(f"{name!r} is given by args as {value!r}, not as a tensor")
        if type_.kind in ("int", "uint", "raw") and isinstance(value, int) and abs(value) < 2**63:
            return Number(int(value))
        if type_.kind in ("int", "uint", "raw") and isinstance(value, str):
            return self.formula(f"args[{name!r}]", value, reading=(*reading, name)).tree
        raise _ReadError(
            f"{name!r} is '{type_.text}', given by args as {value!r}; expressions are integer "
            "arithmetic"
        )


class _ReadError(Exception):
    """What is wrong with one read; its place in the expression is added further out."""
