"""Build every CUDA file of some folders as a mixed source and by nvcc, and compare both.

    python benchmarks/corpus.py FOLDER... [--arch sm_90a] [--include FOLDER] [--flag FLAG]

Each file is one row: whether nvcc and this package build it, in how many seconds, and whether the
kernels are the same, by their symbols and their parameters' sizes. Nothing of the folders is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import tvmffi_cubin as tc
from tvmffi_cubin.cuda.nvcc import locate

Kernels = dict[str, tuple[int, ...]]


class Built(NamedTuple):
    """What a compiler made of a file: its kernels, None where it refuses; and how long it took."""

    kernels: Kernels | None
    seconds: float
    error: str = ""


def kernels_of(images: list[bytes]) -> Kernels:
    """Return the sizes of the parameters of each kernel in some images."""
    cubins = [tc.inspect(image) for image in images]
    return {kernel.name: kernel.param_sizes for found in cubins for kernel in found.kernels}


def by_nvcc(nvcc: str, file: Path, arch: str, flags: list[str]) -> Built:
    """Compile the device part of a file by nvcc."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made.cubin")
        command = [nvcc, "-cubin", f"-arch={arch}", *flags, str(file), "-o", str(made)]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            return Built(None, seconds, first_error(done.stderr))
        return Built(kernels_of([made.read_bytes()]), seconds)


def by_us(file: Path, arch: str, flags: list[str], includes: list[str]) -> Built:
    """Build a file to an object, in a cache of its own."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        try:
            path = tc.build(
                file.stem,
                sources=[str(file)],
                output=str(Path(folder, f"{file.stem}.o")),
                arch=arch,
                extra_cuda_cflags=flags,
                extra_include_paths=includes,
            )
        except (tc.BuildError, tc.CompileError, ValueError) as error:
            return Built(None, time.perf_counter() - start, first_error(str(error)))
        seconds = time.perf_counter() - start
        try:
            return Built(kernels_of([Path(path).read_bytes()]), seconds)
        except tc.ImageError:  # of a file without kernels
            return Built({}, seconds)


def first_error(text: str) -> str:
    """Return the first line of a log that says what is wrong."""
    lines = text.strip().split("\n")
    return next((line for line in lines if "error" in line), lines[0])[:160]


def main() -> int:
    """Print a row for each file, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--flag", action="append", default=["-std=c++17"])
    given = parser.parse_args()
    nvcc = str(locate())
    files = sorted(
        x
        for folder in given.folders
        for x in ([folder] if folder.is_file() else folder.rglob("*.cu"))
    )
    includes = [f"-I{folder}" for folder in given.include]
    built, same = [0, 0], 0
    print("| file | nvcc, s | here, s | kernels | |\n|---|---|---|---|---|")
    for file in files:
        theirs = by_nvcc(nvcc, file, given.arch, [*given.flag, *includes])
        ours = by_us(file, given.arch, given.flag, given.include)
        built[0] += theirs.kernels is not None
        built[1] += theirs.kernels is not None and ours.kernels is not None
        is_same = theirs.kernels is not None and theirs.kernels == ours.kernels
        same += is_same
        verdict = "same" if is_same else "other" if ours.kernels is not None else ours.error
        seconds = f"{theirs.seconds:.1f} | {ours.seconds:.1f}"
        print(f"| {file} | {seconds} | {len(ours.kernels or ())} | {verdict} |", flush=True)
    print(f"\n{len(files)} files; nvcc builds {built[0]}, of these here {built[1]}, same {same}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
