"""A declaration while it is read, by indices of tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cuda_item import Param

__all__ = ["Declaration"]


@dataclass
class Declaration:
    """A declaration, by indices of tokens."""

    kind: str
    first: int
    end: int = 0
    """Behind its last token."""
    names: list[str] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    template: tuple[Param, ...] | None = None
    params: tuple[Param, ...] | None = None
    declarator: int = -1
    """Its last token before what stands for the body."""
    body: tuple[int, int] | None = None
    """Its first and last token."""
    members: int = -1
    """The opening brace of a class."""
    opener: int = -1
    """The bracket of a function's parameters."""
