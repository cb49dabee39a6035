"""``tvmffi-cubin embed``: put images into a module of typed functions, or one in an object file."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from ..cuda.arch import split


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("images", nargs="*", metavar="[NAME=]IMAGE", help="a cubin, a fatbin or PTX, for a module")
    help_ = "the module to build: libk.so or k.o"
    add("-o", "--output", type=Path, metavar="FILE", help=help_)
    add("--arch", type=split, action="extend", help="the target to assemble PTX for, as in compile")
    help_ = "keep: embed PTX as text, which the driver compiles"
    add("--ptx", choices=("assemble", "keep"), help=help_)
    help_ = "a description (JSON or a file) or TVM's table; default: every kernel is a function"
    add("--functions", metavar="FILE", help=help_)
    add("--name", metavar="NAME", help="the name in EMBED_CUBIN, or the module's name")
    add = parser.add_argument_group("embed into an object file").add_argument
    help_ = "the compiler's object; default: an empty one"
    add("--input-obj", metavar="FILE", type=Path, help=help_)
    add("--output-obj", metavar="FILE", type=Path, help="the object to write")
    add("--cubin", metavar="IMAGE", type=Path, help="the image")
    help_ = "for an empty object: x86_64 or aarch64; default: this processor"
    add("--machine", metavar="NAME", help=help_)
    add("--verbose", "-v", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    if options.output_obj or options.input_obj or options.cubin:
        return _object(options)
    if not (options.images or options.functions) or options.output is None:
        raise ValueError("pass an image and -o, or --cubin, --output-obj and --name")
    from ..artifacts.inspection import inspect
    from ..formats.description import build_description, read_description

    given = options.functions or {}
    stem = options.output.name.partition(".")[0]
    made = build_description(
        given,
        name=options.name or read_description(given).values.get("name") or stem,
        embed_cubin=_named(options.images),
        output=options.output,
        arch=options.arch,
        ptx=options.ptx,
    )
    print(inspect(made))
    return 0


def _object(options: argparse.Namespace) -> int:
    if not (options.output_obj and options.cubin and options.name):
        raise ValueError("embedding into an object requires --output-obj, --cubin and --name")
    from ..artifacts.embed_object import embed_object

    cubin = embed_object(
        image=options.cubin,
        name=options.name,
        output=options.output_obj,
        source=options.input_obj,
        machine=options.machine,
    )
    print(f"{options.output_obj}: {len(cubin.image)} bytes for {cubin.arch} as {options.name}")
    return 0


def _named(images: Sequence[str]) -> dict[str, Path]:
    """Return images by name: given as ``name=path``, else named by their stems as C identifiers."""
    named: dict[str, Path] = {}
    for text in images:
        match = None if Path(text).exists() else re.fullmatch(r"([A-Za-z_]\w*)=(.+)", text)
        path = Path(match[2] if match else text)
        stem = re.sub(r"\W|^(?=\d)", "_", path.name.partition(".")[0], flags=re.ASCII)
        name = match[1] if match else stem
        if name in named:
            raise ValueError(f"{path} and {named[name]} are both named {name!r}: pass other={path}")
        named[name] = path
    return named
