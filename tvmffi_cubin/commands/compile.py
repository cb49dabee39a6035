"""``tvmffi-cubin compile``: CUDA source files to a cubin, PTX or a fatbin."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..cuda.arch import split
from ..kernel_table import kernel_table
from ..kernels.cubin import KINDS

__all__ = ["add_to"]

TYPES = (*KINDS, "fatbin")
_REPEATED = (
    (("-I",), "include_paths", "FOLDER", "search FOLDER for headers; may be repeated"),
    (
        ("-e", "--name-expression"),
        "name_expressions",
        "NAME",
        'a template instance to compile, such as "fill<float, 4>"; may be repeated',
    ),
    (
        ("--option",),
        "options",
        "OPTION",
        "an option for NVRTC, as in --option=-use_fast_math; may be repeated",
    ),
)


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
    for names, dest, metavar, help_ in _REPEATED:
        parser.add_argument(
            *names, dest=dest, action="append", default=[], metavar=metavar, help=help_
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
    from ..cache.files import write_output
    from ..device.files import compile_files, headers, make_rule

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
    outputs = {"-o": output} | ({"--depfile": options.depfile} if options.depfile else {})
    _check(outputs, options.files)
    write_output(output, cubin.image)
    if options.depfile is not None:
        read = (*map(str, options.files), *headers(options.files, **paths))
        rule = make_rule(str(output), read).encode("utf-8", "surrogateescape")
        write_output(options.depfile, rule)
    print(f"{output}: {len(cubin.image)} bytes for {cubin.arch}")
    if cubin.kind == "ltoir":
        print("It is LTO-IR, yet to be linked.")
    else:
        print(kernel_table(cubin.kernels) if cubin.kernels else "It has no kernels.")
    return 0


def _check(outputs: Mapping[str, Path], sources: Sequence[Path]) -> None:
    """See that each file can be written, before one is; raises ValueError."""
    for option, path in outputs.items():
        for source in sources:
            if path.exists() and path.samefile(source):
                raise ValueError(f"{path} is the source itself; name another file with {option}")
        if path.is_dir():
            example = path / sources[0].with_suffix(".cubin" if option == "-o" else ".d").name
            raise ValueError(f"{path} is a folder; name the file to write, such as {example}")
        if not path.parent.is_dir():
            raise ValueError(f"{path}: its folder does not exist; make it first")
    if len(set(map(os.path.abspath, outputs.values()))) < len(outputs):
        raise ValueError(f"-o and --depfile are both {outputs['-o']}; name two files")
