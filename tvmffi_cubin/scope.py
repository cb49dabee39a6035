"""`Scope`: the names that the expressions of one launch may read, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from . import condition, expr
from .bound import Bound
from .exported import Exported
from .kernels.types import CxxType

__all__ = ["Scope"]

_NUM_SMS = "num_sms"
_COOPERATIVE = "max_cooperative_blocks"
_LARGEST = 10_000


@dataclass(frozen=True)
class Scope:
    """The function's parameters first, then what the launch's `args` give, then the device's.

    Attributes
    ----------
    exported : dict of str to Exported
        The function's parameters; what expressions read of them is noted here.
    args : mapping of str to object
        The launch's.
    types : mapping of str to CxxType
        Those of the kernel's parameters.
    where : str
        Function and kernel, for messages.
    hint : str
        What to say after the names that there are.
    """

    exported: dict[str, Exported]
    args: Mapping[str, object]
    types: Mapping[str, CxxType]
    where: str
    hint: str = ""
    _resolved: dict[str, expr.Expr] = field(default_factory=dict, repr=False)

    def resolve(self, what: str, text: str, *, reading: tuple[str, ...] = ()) -> expr.Expr:
        """Return an expression's tree over the function's parameters and the device's figures.

        Parameters
        ----------
        what : str
            Where it stands, such as ``"grid.x"``.
        text : str
            The expression.
        reading : tuple of str
            The args whose expressions lead here; none of them may be read again.

        Raises
        ------
        ValueError
            It reads an unknown name, or one in a way that its type does not allow; the message
            points at the name.
        """
        return self._checked(expr.parse(text), what, text, reading)

    def resolve_condition(self, what: str, text: str) -> condition.Condition:
        """Return a condition's tree over the function's parameters and the device's figures.

        Raises
        ------
        ValueError
            As `resolve`; or a name that stands alone is no bool.
        """
        return self._condition(condition.parse(text), what, text)

    def _condition(self, tree: condition.Condition, what: str, text: str) -> condition.Condition:
        if isinstance(tree, condition.Truth):
            return tree
        if isinstance(tree, condition.Not):
            return replace(tree, part=self._condition(tree.part, what, text))
        if isinstance(tree, condition.Joined):
            return replace(tree, parts=tuple(self._condition(x, what, text) for x in tree.parts))
        if isinstance(tree, condition.Flag):
            constant = self.args.get(tree.name.name)
            if isinstance(constant, bool) and tree.name.name not in self.exported:
                return condition.Truth(constant)
            read = self._operand(tree.name, what, text)
            if not isinstance(read, expr.Name) or not self._is_flag(read.name):
                name = tree.name.name
                problem = (
                    f"{self.where}: {what}: {name!r} is no bool; compare it, as in {name} != 0"
                )
                raise expr.failure(text, tree.name.column, problem)
            return condition.Flag(read)
        left, right = (self._operand(x, what, text) for x in (tree.left, tree.right))
        return replace(tree, left=left, right=right)

    def _operand(self, tree: expr.Expr, what: str, text: str) -> expr.Expr:
        if isinstance(tree, expr.Name) and self._is_flag(tree.name):
            self.exported[tree.name] = self.exported[tree.name].with_read(tree)
            return tree
        return self._checked(tree, what, text, ())

    def _is_flag(self, name: str) -> bool:
        return name in self.exported and self.exported[name].param.type.kind == "bool"

    def _checked(
        self, tree: expr.Expr, what: str, text: str, reading: tuple[str, ...]
    ) -> expr.Expr:
        tree = self._over(tree, what, text, reading)
        is_late = what.startswith(("grid", "args")) or _COOPERATIVE in self.exported
        if not is_late and _reads_cooperative(tree):
            raise ValueError(
                f"{self.where}: {what}: {text!r} reads {_COOPERATIVE}, which depends on the block, "
                "its shared memory and the cluster: only a grid or args can read it"
            )
        # Args that read each other can double at every step; the text of a launcher has an end.
        if expr.is_larger(tree, _LARGEST):
            raise ValueError(
                f"{self.where}: {what}: {text!r} grows beyond {_LARGEST} parts with what args "
                "give; compute it outside and pass it as a parameter"
            )
        return tree

    def _over(self, tree: expr.Expr, what: str, text: str, reading: tuple[str, ...]) -> expr.Expr:
        if isinstance(tree, expr.Binary):
            left = self._over(tree.left, what, text, reading)
            return replace(tree, left=left, right=self._over(tree.right, what, text, reading))
        if isinstance(tree, expr.Call):
            args = tuple(self._over(arg, what, text, reading) for arg in tree.args)
            return replace(tree, args=args)
        if isinstance(tree, expr.Number):
            return tree
        try:
            return self._read(tree, what, reading)
        except _ReadError as error:
            problem = f"{self.where}: {what}: {error}"
            raise expr.failure(text, tree.column, problem) from None

    def _read(
        self, read: expr.Name | expr.TensorField, what: str, reading: tuple[str, ...]
    ) -> expr.Expr:
        name = read.name if isinstance(read, expr.Name) else read.tensor
        if name in self.exported:
            problem = self.exported[name].misread(read)
            if problem:
                raise _ReadError(problem)
            self.exported[name] = self.exported[name].with_read(read)
            return read
        if name in self.args:
            return self._read_arg(name, read, reading)
        if isinstance(read, expr.Name) and name in (_NUM_SMS, _COOPERATIVE):
            return read
        given = (arg for arg in self.args if arg not in reading)
        known = [*self.exported, *given, _NUM_SMS, _COOPERATIVE]
        raise _ReadError(f"unknown name {name!r}; there are {', '.join(known)}{self.hint}")

    def _read_arg(
        self, name: str, read: expr.Name | expr.TensorField, reading: tuple[str, ...]
    ) -> expr.Expr:
        value, type_ = self.args[name], self.types[name]
        if isinstance(value, Bound):
            raise _ReadError(f"{name!r} is bound, and expressions are worked out without that")
        if name in reading:
            raise _ReadError(f"{name!r} is what this expression gives")
        if isinstance(read, expr.TensorField):
            tree = expr.parse(value) if isinstance(value, str) else None
            if type_.kind in ("pointer", "raw") and isinstance(tree, expr.Name):
                return self._read(replace(read, tensor=tree.name), name, (*reading, name))
            raise _ReadError(f"{name!r} is given by args as {value!r}, not as a tensor")
        if type_.kind in ("int", "uint", "raw") and isinstance(value, int) and abs(value) < 2**63:
            return expr.Number(int(value))
        if type_.kind in ("int", "uint", "raw") and isinstance(value, str):
            if name not in self._resolved:
                what = f"args[{name!r}]"
                self._resolved[name] = self.resolve(what, value, reading=(*reading, name))
            return self._resolved[name]
        raise _ReadError(
            f"{name!r} is '{type_.text}', given by args as {value!r}; expressions are integer "
            "arithmetic"
        )


def _reads_cooperative(tree: expr.Expr) -> bool:
    return any(isinstance(x, expr.Name) and x.name == _COOPERATIVE for x in expr.names(tree))


class _ReadError(Exception):
    """What is wrong with one read; its place in the expression is added further out."""
