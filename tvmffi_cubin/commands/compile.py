"""``tvmffi-cubin compile``: CUDA source files to a cubin, PTX or a fatbin."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..arch import split
from ..cubin import KINDS
from ..kernel_table import kernel_table

__all__ = ["add_to"]

TYPES = (*KINDS, "fatbin")


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "compile CUDA sources to a cubin, PTX or a fatbin with NVRTC"
    parser = commands.add_parser("compile", help=text, description=text)
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="the CUDA source; several are separate units, linked to one image",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="IMAGE",
        help="default: FILE with the suffix of what is made: .cubin, .ltoir, .ptx or .fatbin",
    )
    parser.add_argument(
        "--arch",
        action="append",
        help="such as sm_90a, or compute_90 for PTX; several, repeated or separated by commas, "
        "give a fatbin; default: that of the current device",
    )
    parser.add_argument(
        "-I",
        dest="include_paths",
        action="append",
        default=[],
        metavar="FOLDER",
        help="search FOLDER for headers; may be repeated",
    )
    parser.add_argument(
        "-e",
        "--name-expression",
        dest="name_expressions",
        action="append",
        default=[],
        metavar="NAME",
        help='a template instance to compile, such as "fill<float, 4>"; may be repeated',
    )
    parser.add_argument(
        "--option",
        dest="options",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option for NVRTC, as in --option=-use_fast_math; may be repeated",
    )
    parser.add_argument(
        "--target-type",
        default="cubin",
        choices=TYPES,
        help="what is made; relocatable cubins and LTO-IR are yet to be linked (default: cubin)",
    )
    parser.add_argument(
        "--depfile",
        type=Path,
        metavar="DEPFILE",
        help="write the headers that the sources may include to DEPFILE, as a make rule",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Here, not above: the other commands work where NVRTC does not.
    from ..compile_files import compile_files, headers, make_rule

    first = options.files[0]
    paths = {"options": options.options, "include_paths": options.include_paths}
    cubin = compile_files(
        options.files,
        arch=None if options.arch is None else split(",".join(options.arch)),
        name_expressions=options.name_expressions,
        target_type=options.target_type,
        **paths,
    )
    suffix = "cubin" if cubin.kind == "relocatable" else cubin.kind
    output = options.output or first.with_suffix(f".{suffix}")
    for file in options.files:
        _refuse_source(output, file)
    _write(output, cubin.image, source=first)
    if options.depfile is not None:
        read = (*map(str, options.files), *headers(options.files, **paths))
        rule = make_rule(str(output), read).encode("utf-8", "surrogateescape")
        _write(options.depfile, rule, source=first)
    print(f"{output}: {len(cubin.image)} bytes for {cubin.arch}")
    if cubin.kind == "ltoir":
        print("It is LTO-IR, yet to be linked.")
    else:
        print(kernel_table(cubin.kernels) if cubin.kernels else "It has no kernels.")
    return 0


def _refuse_source(output: Path, source: Path) -> None:
    if output.exists() and output.samefile(source):
        raise ValueError(f"{output} is the source itself; name another file with -o")


def _write(output: Path, image: bytes, *, source: Path) -> None:
    from ..atomic import write_atomically

    if output.is_dir():
        example = output / source.with_suffix(".cubin").name
        raise ValueError(f"{output} is a folder; name the file to write, such as {example}")
    if not output.parent.is_dir():
        raise ValueError(f"{output}: its folder does not exist; make it first")
    try:
        if output.exists() and not output.is_file():
            # Renaming a file over /dev/null or a pipe would remove that.
            output.write_bytes(image)
        else:
            write_atomically(str(output), image)
    except OSError as error:
        # The name in it may be that of a temporary file.
        raise OSError(error.errno, error.strerror, str(output)) from None
