"""``tvmffi-cubin embed``: an image to a module of typed functions, or into an object file."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["add_to"]

_TEXT = "make a module (.so) of images, with no source; or put an image into an object file"
_EPILOG = """\
a module: tvmffi-cubin embed k.cubin -o libk.so --function saxpy \\
              --params "float a, const float* x, float* y, int n" \\
              --grid "ceil_div(n, 256)" --block 256 --arg n=x.numel
          Options after a --function are that function's. Without any, every kernel is one.
an object: tvmffi-cubin embed --input-obj a.o --output-obj b.o --cubin k.cubin --name k
          as python -m tvm_ffi.utils.embed_cubin does; what is there under the name is replaced.
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

_MODULE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("--arch", {"action": "append"}, "what PTX is assembled for, as of compile"),
    ("--ptx", {"choices": ("assemble", "keep")}, "keep PTX as text, which the driver compiles"),
)
_OBJECT: tuple[tuple[str, str, Callable[[str], object], str], ...] = (
    ("--input-obj", "FILE", Path, "the object that the compiler made; default: an empty one"),
    ("--output-obj", "FILE", Path, "the object to write"),
    ("--cubin", "IMAGE", Path, "the image"),
    ("--machine", "NAME", str, "of an empty one: x86_64 or aarch64; default: this processor"),
)


class _Once(argparse.Action):
    """A value of which a second would silently take the place."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option} is given twice: a module is made of one such file")
        setattr(namespace, self.dest, values)


class _Field(argparse.Action):
    """A field of the launch of the function that was named last."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        functions = getattr(namespace, "functions", None) or []
        if not functions:
            parser.error(f"{option} belongs to a function: name that before it, with --function")
        functions[-1][1].append((self.dest, values))


class _Function(argparse.Action):
    """Begins a function."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.functions = [*(namespace.functions or []), (values, [])]


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    parser = commands.add_parser(
        "embed", help=_TEXT, description=_TEXT, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "images", nargs="*", metavar="[NAME=]IMAGE", help="a cubin, a fatbin or PTX, for a module"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the module to make: libk.so, or k.o"
    )
    for option, kind, help_ in _MODULE:
        parser.add_argument(option, help=help_, **kind)
    help_ = "JSON that describes functions, how they launch, and images; or a table of TVM's"
    parser.add_argument(
        "--functions", dest="file", type=Path, action=_Once, metavar="FILE", help=help_
    )
    help_ = "a function to export; may be repeated"
    parser.add_argument(
        "--function", dest="functions", action=_Function, metavar="NAME", help=help_
    )
    for option, dest, metavar, help_ in _LAUNCH:
        parser.add_argument(
            option,
            dest=dest,
            action=_Field,
            metavar=metavar,
            help=help_,
            default=argparse.SUPPRESS,
        )
    into = parser.add_argument_group("into an object file")
    for option, metavar, type_, help_ in _OBJECT:
        into.add_argument(option, metavar=metavar, type=type_, help=help_)
    into.add_argument("--verbose", "-v", action="store_true", help=argparse.SUPPRESS)
    help_ = "what EMBED_CUBIN declares; of a module: its name"
    parser.add_argument("--name", metavar="NAME", help=help_)
    parser.set_defaults(run=_run, parser=parser)


def _run(options: argparse.Namespace) -> int:
    into_object = (options.input_obj, options.output_obj, options.cubin)
    if any(into_object):
        return _object(options)
    if options.machine:
        options.parser.error("--machine is for an object without --input-obj")
    if not (options.images or options.file) or options.output is None:
        options.parser.error("give an image and -o, or --cubin, --output-obj and --name")
    from ..cuda.arch import split
    from ..embed_module import embed_module

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            made = embed_module(
                options.images,
                output=options.output,
                name=options.name,
                file=options.file,
                functions=options.functions or (),
                arch=None if options.arch is None else split(",".join(options.arch)),
                ptx=options.ptx,
            )
        finally:
            # A field that is not known may be why it fails.
            for warning in caught:
                print(f"{options.parser.prog}: warning: {warning.message}", file=sys.stderr)
    print(made)
    return 0


def _object(options: argparse.Namespace) -> int:
    if not (options.output_obj and options.cubin and options.name):
        options.parser.error("an object needs --output-obj, --cubin and --name")
    if options.images or options.output or options.functions or options.file:
        options.parser.error("an object takes no functions: they are for a module")
    if options.arch or options.ptx:
        options.parser.error("an object gets its image as it is: --arch and --ptx are for a module")
    if options.machine and options.input_obj:
        options.parser.error("--machine is for an object without --input-obj")
    from ..embed_file import embed_file

    image = embed_file(
        image=options.cubin,
        name=options.name,
        output=options.output_obj,
        source=options.input_obj,
        machine=options.machine,
    )
    print(f"{options.output_obj}: {len(image.data)} bytes for {image.cubin.arch} as {image.name}")
    return 0
