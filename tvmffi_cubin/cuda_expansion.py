"""Expands macros as the preprocessor does, token by token."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from .cuda_item import Macro
from .cuda_lex import is_name, lex

__all__ = ["ExpansionError", "Piece", "as_text", "expand_pieces"]

# A macro that doubles itself often enough would fill the memory.
_MOST_PIECES = 1_000_000


class ExpansionError(Exception):
    """A macro cannot be expanded; the words say why."""


class Piece(NamedTuple):
    """A token, and the macros that it is not expanded by any more."""

    word: str
    is_apart: bool
    """Whether there is white space before it."""
    hidden: frozenset[str] = frozenset()


def as_text(pieces: Iterable[Piece]) -> str:
    """Return tokens as text on one line."""
    text = "".join((" " if piece.is_apart else "") + piece.word for piece in pieces)
    return text.replace("\\\r\n", "").replace("\\\n", "").strip()


def expand_pieces(
    pieces: Iterable[Piece],
    macros: Mapping[str, Macro],
    wanted: Collection[str],
    *,
    doubtful: Collection[str] = (),
) -> list[Piece]:
    """Return tokens with some macros expanded, also where these are in others' expansions.

    Parameters
    ----------
    pieces : iterable of Piece
        The tokens.
    macros : mapping of str to Macro
        All macros, by their names.
    wanted : collection of str
        Names of those to expand.
    doubtful : collection of str
        Names of those of which there are several.

    Raises
    ------
    ExpansionError
        One cannot be expanded.
    """
    rest = deque(pieces)
    done: list[Piece] = []
    while rest:
        piece = rest.popleft()
        macro = macros.get(piece.word)
        if macro is None or piece.word not in wanted or piece.word in piece.hidden:
            done.append(piece)
            continue
        if piece.word in doubtful:
            raise ExpansionError(f"{piece.word} is defined in several ways")
        hidden = piece.hidden | {piece.word}
        if macro.params is None:
            expansion = _substituted(macro, {}, hidden)
        elif not rest or rest[0].word != "(":
            done.append(piece)
            continue
        else:
            expansion = _substituted(macro, _arguments(macro, rest), hidden)
        if expansion:
            expansion[0] = expansion[0]._replace(is_apart=True)
        rest.extendleft(reversed(expansion))
        if rest and expansion:
            after = len(expansion)
            if after < len(rest):
                rest[after] = rest[after]._replace(is_apart=True)
        if len(done) + len(rest) > _MOST_PIECES:
            raise ExpansionError(f"its expansion has more than {_MOST_PIECES} tokens")
    return done


def _arguments(macro: Macro, rest: deque[Piece]) -> dict[str, list[Piece]]:
    """Take an invocation's arguments off the tokens that follow its name."""
    assert macro.params is not None
    names, last = macro.params, ""
    if names and names[-1].endswith("..."):
        last = names[-1][:-3].strip() or "__VA_ARGS__"
        names = names[:-1]
    given: list[list[Piece]] = [[]]
    depth = 0
    while rest:
        piece = rest.popleft()
        if piece.word == "(":
            depth += 1
            if depth == 1:
                continue
        elif piece.word == ")":
            depth -= 1
            if not depth:
                break
        if piece.word == "," and depth == 1 and not (last and len(given) > len(names)):
            given.append([])
        else:
            given[-1].append(piece)
    if depth:
        raise ExpansionError("its invocation has no end")
    if not names and not last:
        if given != [[]]:
            raise ExpansionError(f"it takes no arguments and is given {len(given)}")
        return {}
    if last and len(given) == len(names):
        given.append([])
    wanted = len(names) + bool(last)
    if len(given) != wanted:
        raise ExpansionError(f"it takes {len(names)} arguments and is given {len(given)}")
    return dict(zip((*names, last) if last else names, given, strict=True))


@lru_cache(maxsize=256)
def _body(text: str) -> tuple[Piece, ...]:
    lexed = lex(text, is_body=True)
    ends = [-1, *map(lexed.end, range(len(lexed.words)))]
    return tuple(
        Piece(word, start != end)
        for word, start, end in zip(lexed.words, lexed.starts, ends, strict=False)
    )


def _substituted(
    macro: Macro, arguments: Mapping[str, list[Piece]], hidden: frozenset[str]
) -> list[Piece]:
    done = _replaced(_body(macro.body), arguments, macro.params is not None)
    return [piece._replace(hidden=piece.hidden | hidden) for piece in done]


def _replaced(
    body: Sequence[Piece], arguments: Mapping[str, list[Piece]], is_function: bool
) -> list[Piece]:
    done: list[Piece] = []
    index = 0
    pastes = False
    while index < len(body):
        piece = body[index]
        following = body[index + 1].word if index + 1 < len(body) else ""
        index += 1
        if piece.word == "##" and done:
            pastes = True
            continue
        if piece.word == "#" and is_function and following in arguments:
            index += 1
            more = [Piece(_quoted(arguments[following]), piece.is_apart)]
        elif piece.word == "__VA_OPT__" and following == "(" and is_function:
            inner, index = _group(body, index)
            more = _replaced(inner, arguments, True) if any(_variadic(arguments)) else []
        elif piece.word in arguments:
            more = _argument(arguments[piece.word])
        else:
            more = [piece]
        if pastes:
            _paste(done, more)
        else:
            done += more
            if not more and following == "##":
                done.append(Piece("", piece.is_apart))
        pastes = False
    return [piece for piece in done if piece.word]


def _argument(pieces: Sequence[Piece]) -> list[Piece]:
    """Return an argument's tokens, apart from what is before them and behind them."""
    if not pieces:
        return []
    return [pieces[0]._replace(is_apart=True), *pieces[1:]]


def _variadic(arguments: Mapping[str, list[Piece]]) -> list[Piece]:
    return list(arguments.values())[-1] if arguments else []


def _paste(done: list[Piece], more: list[Piece]) -> None:
    left = done.pop()
    if left.word == ",":
        # GNU's: the comma goes with the arguments that are not there.
        done += [left, *more] if more else []
        return
    right = more[0] if more else Piece("", False)
    pasted = Piece(left.word + right.word, left.is_apart, left.hidden & right.hidden)
    done += [pasted, *more[1:]]


def _group(body: Sequence[Piece], index: int) -> tuple[list[Piece], int]:
    """Return what is in the brackets at an index, and the index behind them."""
    depth = 0
    for end in range(index, len(body)):
        depth += (body[end].word == "(") - (body[end].word == ")")
        if not depth:
            return list(body[index + 1 : end]), end + 1
    return list(body[index + 1 :]), len(body)


def _quoted(pieces: Sequence[Piece]) -> str:
    words = []
    for place, piece in enumerate(pieces):
        word = piece.word
        if not is_name(word) and word[-1] in "\"'":
            word = word.replace("\\", "\\\\").replace('"', '\\"')
        words.append((" " if piece.is_apart and place else "") + word)
    return '"' + "".join(words) + '"'
