"""``tvmffi-cubin embed``: images to a module of typed functions, or one into an object file."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..formats.description import Description

_EPILOG = """\
a module: tvmffi-cubin embed k.cubin -o libk.so --function saxpy \\
              --params "float a, const float* x, float* y, int n" \\
              --grid "ceil_div(n, 256)" --block 256 --arg n=x.numel
          Options after a --function are that function's. Without any, every kernel is one.
an object: tvmffi-cubin embed --input-obj a.o --output-obj b.o --cubin k.cubin --name k
          as python -m tvm_ffi.utils.embed_cubin does.
"""
_LAUNCH = (
    ("--kernel", "kernel", "KERNEL", "the kernel, where its name is not the function's"),
    ("--params", "params", "LIST", "the parameters as C++ declares them"),
    ("--grid", "grid", "EXPR[,EXPR]", "the number of blocks: numbers or expressions"),
    ("--block", "block", "EXPR[,EXPR]", "the threads of a block"),
    ("--cluster", "cluster", "EXPR[,EXPR]", "the blocks of a cluster"),
    ("--dynamic-smem-bytes", "dynamic_smem_bytes", "EXPR", "dynamic shared memory of a block"),
    ("--arg", "args", "NAME=EXPR", "a parameter that callers do not pass; may be repeated"),
    ("--strided", "strided", "NAME", "a tensor that need not be contiguous; may be repeated"),
    ("--when", "when", "CONDITION", "a condition on the arguments"),
    ("--image", "image", "NAME", "the image that has the kernel, where there are several"),
)
_DIMENSIONS = ("grid", "block", "cluster")


class _Function(argparse.Action):
    """Begins a function: its name, and the fields of its launch."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.functions = {**namespace.functions, values: {}}


class _Field(argparse.Action):
    """A field of the launch of the function that was named last."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        if not namespace.functions:
            parser.error(f"{option} belongs to a function: name that before it, with --function")
        fields = list(namespace.functions.values())[-1]
        if self.dest == "args":
            name, equals, value = values.partition("=")
            if not equals:
                parser.error(f"{option} {values!r}: wanted NAME=EXPRESSION")
            fields.setdefault("args", {})[name.strip()] = _plain(value)
        elif self.dest == "strided":
            fields.setdefault("strided", []).append(values)
        elif self.dest in _DIMENSIONS:
            fields[self.dest] = [_plain(part) for part in _split(values)]
        else:
            fields[self.dest] = _plain(values) if self.dest == "dynamic_smem_bytes" else values


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what follows the command's name."""
    parser.epilog, parser.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("images", nargs="*", metavar="[NAME=]IMAGE", help="a cubin, a fatbin or PTX, for a module")
    help_ = "the module to make: libk.so, or k.o"
    add("-o", "--output", type=Path, metavar="FILE", help=help_)
    add("--arch", action="append", help="what PTX is assembled for, as of compile")
    help_ = "keep PTX as text, which the driver compiles"
    add("--ptx", choices=("assemble", "keep"), help=help_)
    help_ = "JSON that describes functions, how they launch, and images; or a table of TVM's"
    add("--functions", dest="file", type=Path, metavar="FILE", help=help_)
    help_ = "a function to export; may be repeated"
    add("--function", dest="functions", action=_Function, default={}, metavar="NAME", help=help_)
    for option, dest, metavar, help_ in _LAUNCH:
        add(option, dest=dest, action=_Field, metavar=metavar, help=help_)
    add("--name", metavar="NAME", help="what EMBED_CUBIN declares; of a module: its name")
    add = parser.add_argument_group("into an object file").add_argument
    help_ = "the object that the compiler made; default: an empty one"
    add("--input-obj", metavar="FILE", type=Path, help=help_)
    add("--output-obj", metavar="FILE", type=Path, help="the object to write")
    add("--cubin", metavar="IMAGE", type=Path, help="the image")
    help_ = "of an empty one: x86_64 or aarch64; default: this processor"
    add("--machine", metavar="NAME", help=help_)
    add("--verbose", "-v", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    if options.output_obj or options.input_obj or options.cubin:
        return _object(options)
    if not (options.images or options.file) or options.output is None:
        options.parser.error("give an image and -o, or --cubin, --output-obj and --name")
    from ..artifacts.inspect_file import inspect
    from ..cuda.arch import split
    from ..formats.description import Description
    from ..formats.load import build_description
    from ..launches.form import read_function

    named = _named(options.images)
    description = _described(options.file) if options.file else Description()
    if not (named or description.images):
        raise ValueError(f"{options.file} names no image: give one beside it, as in k.cubin")
    functions = dict(description.functions)
    for name, fields in options.functions.items():
        if name in functions:
            raise ValueError(f"--function {name}: there is a function of that name already")
        functions[name] = read_function(fields, where=f"--function {name}")
    made = build_description(
        replace(description, functions=functions),
        name=options.name or description.name or options.output.name.partition(".")[0],
        embed_cubin=named or None,
        output=options.output,
        arch=None if options.arch is None else split(",".join(options.arch)),
        ptx=options.ptx,
    )
    print(inspect(made))
    return 0


def _object(options: argparse.Namespace) -> int:
    if not (options.output_obj and options.cubin and options.name):
        options.parser.error("an object needs --output-obj, --cubin and --name")
    if options.images or options.output or options.functions or options.file:
        options.parser.error("an object takes no functions: they are for a module")
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


def _described(file: Path) -> Description:
    from ..formats.description import Description, parse_json, read_description
    from ..formats.tvm import is_table, read_table

    # What a shell hands over, <(...), can be read once.
    name, data = os.fspath(file), file.read_bytes()
    if name.endswith(".tvm_meta.json") or (b"arg_types" in data and is_table(parse_json(data))):
        try:
            return Description(functions=read_table(data).launches())
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return read_description(name, data, os.path.abspath(file))


def _named(images: Sequence[str]) -> dict[str, Path]:
    """Return images by name: given as ``name=path``, or called by their stems as C can have it."""
    named: dict[str, Path] = {}
    for text in images:
        match = None if Path(text).exists() else re.fullmatch(r"([A-Za-z_]\w*)=(.+)", text)
        path = Path(match[2] if match else text)
        stem = re.sub(r"\W|^(?=\d)", "_", path.name.partition(".")[0], flags=re.ASCII)
        name = match[1] if match else stem
        if name in named:
            raise ValueError(f"{path} and {named[name]} are both {name!r}: write other={path}")
        named[name] = path
    return named


def _plain(text: str) -> int | str:
    return int(text) if text.strip().isdecimal() else text


def _split(text: str) -> list[str]:
    """Split at commas that are in no parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
