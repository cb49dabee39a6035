"""``tvmffi-cubin compile``: a CUDA source file to a cubin, PTX or a fatbin."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..arch import split
from ..cubin import KINDS
from ..kernel_table import kernel_table

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    text = "compile a CUDA source to a cubin, PTX or a fatbin with NVRTC"
    parser = commands.add_parser("compile", help=text, description=text)
    parser.add_argument("file", type=Path, metavar="FILE", help="the CUDA source")
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
        choices=KINDS,
        help="what is made; relocatable cubins and LTO-IR are yet to be linked (default: cubin)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Here, not above: the other commands work where NVRTC does not.
    from .. import nvrtc
    from ..source_files import source_text

    source = source_text(str(options.file), options.file.read_bytes())
    if not source.strip():
        raise ValueError(f"{options.file} is empty; write CUDA C++ in it")
    cubin = nvrtc.compile(
        source,
        name=str(options.file),
        arch=None if options.arch is None else split(",".join(options.arch)),
        options=options.options,
        name_expressions=options.name_expressions,
        include_paths=options.include_paths,
        source_include=True,
        target_type=options.target_type,
    )
    suffix = "cubin" if cubin.kind == "relocatable" else cubin.kind
    output = options.output or options.file.with_suffix(f".{suffix}")
    _write(output, cubin.image, source=options.file)
    print(f"{output}: {len(cubin.image)} bytes for {cubin.arch}")
    if cubin.kind == "ltoir":
        print("It is LTO-IR, yet to be linked.")
    else:
        print(kernel_table(cubin.kernels) if cubin.kernels else "It has no kernels.")
    return 0


def _write(output: Path, image: bytes, *, source: Path) -> None:
    from ..atomic import write_atomically

    if output.is_dir():
        example = output / source.with_suffix(".cubin").name
        raise ValueError(f"{output} is a folder; name the file to write, such as {example}")
    if not output.parent.is_dir():
        raise ValueError(f"{output}: its folder does not exist; make it first")
    try:
        if output.exists() and output.samefile(source):
            raise ValueError(f"{output} is the source itself; name another file with -o")
        if output.exists() and not output.is_file():
            # Renaming a file over /dev/null or a pipe would remove that.
            output.write_bytes(image)
        else:
            write_atomically(str(output), image)
    except OSError as error:
        # The name in it may be that of a temporary file.
        raise OSError(error.errno, error.strerror, str(output)) from None
