"""`embed_module`: a module of typed functions from images alone, as the command line says them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .formats.description import Description, parse_json, read_description
from .formats.load import build_description
from .inspect_file import inspect
from .launches.form import read_function

__all__ = ["embed_module"]

_NUMBER = re.compile(r"\s*\d+\s*\Z")
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)
_DIMENSIONS = ("grid", "block", "cluster")


def embed_module(
    images: Sequence[str],
    *,
    output: Path,
    name: str | None = None,
    file: Path | None = None,
    functions: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (),
    arch: str | Sequence[str] | None = None,
    ptx: str | None = None,
) -> str:
    """Build a module from images; return what was made, as text.

    Parameters
    ----------
    images : sequence of str
        Paths of cubins, fatbins or PTX, each with ``name=`` before it, or called by its stem;
        beside those that `file` names.
    output : Path
        The file to make.
    name : str, optional
        The module's name. Default: what `file` says, else the output's, without its suffix.
    file : Path, optional
        A description, see `Description.read`; or a table of TVM's (``k.tvm_meta.json``).
    functions : sequence of (str, sequence of (str, str))
        Further ones: names, and the fields of their launch as text. Default: where there are no
        functions at all, every kernel.
    arch, ptx
        As in `build_inline`.

    Raises
    ------
    OSError, TypeError, ValueError, BuildError, ToolchainError
        As `build_inline`.
    """
    named = _named(images)
    description = Description() if file is None else _described(file)
    if not (named or description.images):
        raise ValueError(f"{file} names no image: give one beside it, k.cubin or name=k.cubin")
    wanted = dict(description.functions)
    for function, fields in functions:
        if function in wanted:
            raise ValueError(f"--function {function}: there is a function of that name already")
        where = f"--function {function}"
        wanted[function] = read_function(_values(function, fields), where=where)
    made = build_description(
        replace(description, functions=wanted),
        name=name or description.name or output.name.partition(".")[0],
        embed_cubin=named or None,
        output=output,
        arch=arch,
        ptx=ptx,
    )
    return inspect(made).text()


def _described(file: Path) -> Description:
    from .formats.tvm import is_table, read_table

    # What a shell hands over, <(...), can be read once.
    name, data = os.fspath(file), file.read_bytes()
    if name.endswith(".tvm_meta.json") or (b"arg_types" in data and is_table(parse_json(data))):
        try:
            return Description(functions=read_table(data).launches())
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return read_description(name, data, os.path.abspath(file))


def _named(images: Sequence[str]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for text in images:
        match = None if Path(text).exists() else _NAMED.fullmatch(text)
        path = Path(match[2] if match else text)
        stem = re.sub(r"[^A-Za-z0-9_]", "_", path.name.partition(".")[0])
        name = match[1] if match else stem if stem.isidentifier() else f"_{stem}"
        if name in named:
            raise ValueError(f"{path} and {named[name]} are both {name!r}: write other={path}")
        named[name] = path
    return named


def _values(function: str, fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, text in fields:
        if field == "args":
            key, equals, value = text.partition("=")
            if not equals:
                raise ValueError(f"--function {function}: --arg {text!r}: wanted NAME=EXPRESSION")
            values.setdefault("args", {})[key.strip()] = _plain(value)
        elif field == "strided":
            values.setdefault("strided", []).append(text)
        elif field in values:
            raise ValueError(f"--function {function}: --{field.replace('_', '-')} is given twice")
        elif field in _DIMENSIONS:
            values[field] = [_plain(part) for part in _split(text)]
        else:
            values[field] = _plain(text) if field == "dynamic_smem_bytes" else text
    return values


def _plain(text: str) -> int | str:
    return int(text) if _NUMBER.match(text) else text


def _split(text: str) -> list[str]:
    """Split at commas that are in no parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
