"""``tvmffi-cubin compile``: CUDA source files to a cubin, PTX or a fatbin."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..artifacts.inspection import inspect
from ..cuda import nvrtc
from ..cuda.arch import split
from ..device.compile import compile_device
from ..inline.files import read_source
from ..inline.headers import device_headers
from ..inline.options import make_request
from ..inline.request import Request, Source, SourceFiles
from ..inline.tools import find_tools
from ..kernels.cubin import KINDS, Cubin

_KINDS = (*KINDS, "fatbin")
_PIPE = Path("-")
_STDIN = Path("/dev/stdin")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, add_list = parser.add_argument, partial(parser.add_argument, action="append", default=[])
    help_ = "the CUDA source, or - for standard input; several are compiled separately and linked"
    add("files", type=Path, nargs="+", metavar="FILE", help=help_)
    help_ = "default: FILE.cubin, FILE.ltoir, ..., or standard output (-) if FILE is -"
    add("-o", "--output", type=Path, metavar="IMAGE", help=help_)
    help_ = "such as sm_90a, or compute_90 for PTX; several (repeated or comma-separated) make "
    help_ += "a fatbin; default: the current device's"
    add("--arch", type=split, action="extend", help=help_)
    help_ = "search FOLDER for headers; may be repeated"
    add_list("-I", dest="include_paths", metavar="FOLDER", help=help_)
    help_ = 'a template instance to compile, such as "fill<float, 4>"; may be repeated'
    add_list("-e", "--name-expression", dest="name_expressions", metavar="NAME", help=help_)
    help_ = "an NVRTC option, as in --option=-use_fast_math; may be repeated"
    add_list("--option", dest="options", metavar="OPTION", help=help_)
    help_ = "what to build; default: from the suffix of IMAGE, else a cubin"
    add("--target-type", choices=_KINDS, help=help_)
    help_ = "write the headers that the sources may include to DEPFILE, as a make rule"
    add("--depfile", type=Path, metavar="DEPFILE", help=help_)


def run(options: argparse.Namespace) -> int:
    files = [_STDIN if x == _PIPE else x for x in options.files]
    output = options.output or (_PIPE if files[0] == _STDIN else None)
    request = make_request(
        "compiled",
        files=SourceFiles(cuda=tuple(map(_source, files))),
        name_expressions=options.name_expressions,
        extra_cuda_cflags=options.options,
        extra_include_paths=options.include_paths,
    )
    said = "" if output is None else output.suffix[1:]
    kind = options.target_type or (said if said in _KINDS else "cubin")
    cubin = _compiled(request, options, kind)
    suffix = "cubin" if cubin.kind == "relocatable" else cubin.kind
    output = output or files[0].with_suffix(f".{suffix}")
    if any(output.exists() and output.samefile(source) for source in files):
        raise ValueError(f"{output} is the source itself; pass another file")
    if output == _PIPE:
        sys.stdout.buffer.write(cubin.image)
    else:
        output.write_bytes(cubin.image)
        print(inspect(replace(cubin, name=str(output))))
    if options.depfile is not None:
        headers = device_headers(request, find_tools(needs_cuda=True), request.files.cuda)
        rule = _rule(str(output), [*map(str, files), *map(os.path.normpath, headers.read)])
        options.depfile.write_bytes(rule.encode("utf-8", "surrogateescape"))
    return 0


def _source(file: Path) -> Source:
    source = read_source(os.path.abspath(file), "cuda")
    # As a file in the current folder, where its headers are.
    return source._replace(path=os.path.abspath("stdin")) if file == _STDIN else source


def _compiled(request: Request, options: argparse.Namespace, kind: str) -> Cubin:
    arch, sources = options.arch, request.files.cuda
    if kind in ("cubin", "fatbin"):
        archs = nvrtc.resolve_archs(arch, options.options)
        cubin = compile_device(request, sources, archs).cubin
        if kind == "fatbin" and cubin.kind != "fatbin":
            return nvrtc.join([cubin])
        return cubin
    if len(sources) > 1:
        raise ValueError(f"{kind} requires a single source file; for several, build a cubin")
    return nvrtc.compile(
        sources[0].text,
        name=sources[0].name,
        arch=arch,
        options=options.options,
        name_expressions=options.name_expressions,
        include_paths=options.include_paths,
        source_include=True,
        target_type=kind,
    )


def _rule(target: str, prerequisites: Sequence[str]) -> str:
    """Return a rule for make and ninja, as compilers write it to a depfile."""
    first, *rest = (
        re.sub(r"([ #])", r"\\\1", x).replace("$", "$$") for x in (target, *prerequisites)
    )
    return " \\\n  ".join((f"{first}:", *rest)) + "\n"
