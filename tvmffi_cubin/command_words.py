"""The words of commands in build files: which may stand there, and errors for the others."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["check_path", "check_paths", "check_word", "check_words", "is_expressible"]

# ninja has no way to write these; a word of a command line could hold the first two.
_NOT_EXPRESSIBLE = "\n\r\0"


def is_expressible(word: str) -> bool:
    """Whether a build file can hold a word of a command line."""
    return not any(character in word for character in _NOT_EXPRESSIBLE)


def check_words(what: str, words: Iterable[str], *, least: int = 0) -> None:
    """Raise TypeError or ValueError where words are no tuple of words, or fewer than `least`."""
    if not isinstance(words, tuple):
        raise TypeError(f"{what} must be a tuple of str, got {type(words).__name__}")
    if len(words) < least:
        raise ValueError(f"{what} must not be empty")
    for word in words:
        check_word(what, word)


def check_word(what: str, word: str) -> None:
    """Raise TypeError or ValueError where a word is none that a build file can hold."""
    if not isinstance(word, str):
        raise TypeError(f"{what} must hold str, got {type(word).__name__}")
    for character in _NOT_EXPRESSIBLE:
        if character in word:
            raise ValueError(
                f"{what} {word!r} holds {character!r}, which a build file cannot express; remove it"
            )


def check_paths(what: str, paths: Iterable[str]) -> None:
    """Raise TypeError or ValueError where paths are no tuple of paths."""
    check_words(what, paths)
    for path in paths:
        check_path(what, path)


def check_path(what: str, path: str) -> None:
    """Raise TypeError or ValueError where a word is no path, or would be taken for an option."""
    check_word(what, path)
    if not path or path.startswith("-"):
        raise ValueError(
            f"{what} must be a path that is not empty and does not begin with '-', got {path!r}"
        )
