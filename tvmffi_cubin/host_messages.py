"""The messages of a log of g++ or clang++, one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Message", "Place", "parse"]

_FILE = r"(?P<file>[^\s:][^\n]*?):(?P<line>\d+)(?::(?P<column>\d+))?"
_HEAD = re.compile(
    rf"{_FILE}: (?P<severity>fatal error|error|warning|note|remark|sorry, unimplemented): "
    "(?P<words>.*)"
)
# What comes before a message and says how the compiler got there.
_LEADING = re.compile(
    rf"(?P<before>In file included from |\s+from |\s+inlined from .* at ){_FILE}(?P<after>[,:])"
    rf"|(?P<context>[^\s:][^\n]*?): (?:In|At) .*:"
    rf"|{_FILE.replace('<', '<needed_')}:(?P<needing>\s+(?:required|recursively|in|\[).*)"
)
_EXCERPT = re.compile(r"\s*\d* \|(?: .*)?")
_CLANG = re.compile(r"^\d+ (?:errors?|warnings?).* generated\.$", re.MULTILINE)


class Place(NamedTuple):
    """Where something is in a compiler's view; the column is 0 where it says none."""

    file: str
    line: int
    column: int


class Leading(NamedTuple):
    """A line before a message: ``In file included from a.h:3,``."""

    before: str
    place: Place | None
    after: str
    is_chain: bool
    """Whether it says which file includes which."""


@dataclass
class Message:
    """A message with what belongs to it; or a line that belongs to none, as its words."""

    leading: list[Leading] = field(default_factory=list)
    place: Place | None = None
    severity: str = ""
    words: str = ""
    excerpt: list[str] = field(default_factory=list)

    @property
    def is_error(self) -> bool:
        """Whether it says that something is wrong."""
        return "error" in self.severity or self.severity.startswith("sorry")


def parse(log: str) -> tuple[list[Message], bool]:
    """Return the messages of a log, and whether it is clang's.

    Parameters
    ----------
    log : str
        With whatever else a build prints.
    """
    is_clang = _CLANG.search(log) is not None
    messages: list[Message] = []
    leading: list[Leading] = []
    for line in log.split("\n"):
        head = _HEAD.fullmatch(line)
        if head is not None:
            place = Place(head["file"], int(head["line"]), int(head["column"] or 0))
            messages.append(Message(leading, place, head["severity"], head["words"]))
            leading = []
            continue
        match = _LEADING.fullmatch(line)
        if match is not None:
            leading.append(_leading(match))
            continue
        has_head = bool(messages) and bool(messages[-1].severity) and not leading
        if has_head and (_EXCERPT.fullmatch(line) or (is_clang and not _CLANG.match(line))):
            messages[-1].excerpt.append(line)
        else:
            messages.append(Message(leading, words=line))
            leading = []
    if leading:
        messages.append(Message(leading))
    return messages, is_clang


def _leading(match: re.Match[str]) -> Leading:
    if match["file"] is not None:
        place = Place(match["file"], int(match["line"]), int(match["column"] or 0))
        return Leading(match["before"], place, match["after"], "inlined" not in match["before"])
    if match["context"] is not None:
        return Leading(match[0], None, "", False)
    place = Place(match["needed_file"], int(match["needed_line"]), int(match["needed_column"] or 0))
    return Leading("", place, f":{match['needing']}", False)
