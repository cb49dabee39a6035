"""`Bound`: a kernel parameter that no caller passes, but `Module.bind` gives."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

__all__ = ["Bound"]

# What `Module.bind` has keywords for.
_TAKEN = ("device",)


@dataclass(frozen=True)
class Bound:
    """A kernel parameter that callers do not pass: ``Launch(args={"counters": Bound()})``.

    ``mod.bind("k", counters=tensor)`` sets it, for as long as nothing else is bound. Until then a
    null pointer or zero is passed.

    Parameters
    ----------
    name : str, optional
        What it is bound by. Default: the parameter's own name.
    required : bool
        A call that finds nothing bound is a LaunchError.

    Raises
    ------
    TypeError, ValueError
        The name is none.
    """

    name: str | None = None
    _: KW_ONLY
    required: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str | None):
            raise TypeError(f"Bound: name is a str, got {type(self.name).__name__}")
        if self.name is not None and not self.name.isidentifier():
            raise ValueError(f"Bound: {self.name!r} is no name that mod.bind could take")
        if self.name in _TAKEN:
            raise ValueError(
                f"Bound: {self.name!r} has a meaning of its own in mod.bind({self.name}=...): "
                "choose another name"
            )
        if not isinstance(self.required, bool):
            raise TypeError(f"Bound: required is a bool, got {type(self.required).__name__}")

    def named(self, parameter: str) -> Bound:
        """Return it with a parameter's name, where it has none of its own."""
        return self if self.name is not None else Bound(parameter, required=self.required)

    def fields(self) -> list[Any]:
        """Return everything here as values for a key."""
        return ["Bound", self.name, self.required]
