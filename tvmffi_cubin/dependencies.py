"""Which files host code reads, by the compiler's depfile; which part of a path is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator

__all__ = ["first_missing", "parse_depfile"]


def parse_depfile(content: str) -> list[str]:
    """Return the prerequisites that a compiler wrote as a make rule, unescaped, each once.

    A backslash escapes a space or ``#``, ``$$`` is a dollar sign; backslashes before a space are
    doubled and elsewhere are what they are.
    """
    found: dict[str, None] = {}
    for rule in content.replace("\r\n", "\n").replace("\\\n", " ").split("\n"):
        in_target = True
        for word in _make_words(rule):
            if in_target:
                in_target = not word.endswith(":")
            else:
                found[word] = None
    return list(found)


def _make_words(rule: str) -> Iterator[str]:
    if "\\" not in rule and "$$" not in rule:
        yield from filter(None, rule.replace("\t", " ").split(" "))
        return
    word = ""
    position = 0
    while position < len(rule):
        character = rule[position]
        if character == "\\":
            end = position
            while end < len(rule) and rule[end] == "\\":
                end += 1
            count = end - position
            following = rule[end : end + 1]
            if following and following in " \t#":
                word += "\\" * (count // 2)
                if count % 2:
                    word += following
                    end += 1
            else:
                word += "\\" * count
            position = end
        elif character in " \t":
            if word:
                yield word
            word = ""
            position += 1
        elif rule.startswith("$$", position):
            word += "$"
            position += 2
        else:
            word += character
            position += 1
    if word:
        yield word


def first_missing(folder: str, relative: str) -> str | None:
    """Return the first part of a path that does not exist, None if all of it does.

    A missing folder stands for everything that could be in it: one absent path to watch for a
    library of hundreds of headers.
    """
    if not os.path.isdir(folder):
        return folder
    path = folder
    for part in relative.split("/"):
        path = os.path.join(path, part)
        # A link to nothing is awaited as well: what it leads to may appear.
        if not os.path.exists(path):
            return path
    return None
