"""`embed_object`: put an image into an object file, for the code in it that declares the image."""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path

from ..errors import BuildError, ImageError
from ..functions.assembly import image_text
from ..host import process
from ..host.build import write_files
from ..host.tools import find_binutil
from ..kernels.cubin import Cubin, read_image, take_image
from ..kernels.elf import Elf
from ..launches.form import identifier
from ..launches.values import told

_MACHINES = {62: "x86_64", 183: "aarch64"}


def embed_object(
    *, image: Path, name: str, output: Path, source: Path | None = None, machine: str | None = None
) -> Cubin:
    """Write an object that contains an image; return the image.

    If the code of `source` declares the image, only that code sees it: two objects of one library
    may each have their own. Otherwise everything linked with the object can use it. Without
    `source`, the object, for `machine`, contains only the image.
    """
    identifier("--name", name)
    cubin = read_image(take_image("--cubin", image))
    if output.exists() and output.samefile(image):
        raise ValueError(f"{output} is the image itself; pass another output file")
    data = f"__tvm_ffi__cubin_{name}"
    symbols = (data, f"{data}_end", f"__tvmffi_cubin_image_{name}")
    machine, is_declared = _look(source, name, symbols) if source else (machine, False)
    machine = machine or platform.machine()
    with tempfile.TemporaryDirectory(prefix="tvmffi_cubin-") as path:
        folder = Path(path)
        write_files(folder, {"image": cubin.image, "image.s": image_text(name, "image", cubin)})
        _run(folder, machine, "as", "-o", "image.o", "image.s")
        made = "image.o"
        if source:
            made = "whole.o"
            _run(folder, machine, "ld", "-r", "-o", made, os.path.abspath(source), "image.o")
        if is_declared:
            _run(folder, machine, "objcopy", *(f"--localize-symbol={x}" for x in symbols), made)
        os.makedirs(output.parent, exist_ok=True)
        output.write_bytes((folder / made).read_bytes())
    return cubin


def _look(source: Path, name: str, symbols: tuple[str, ...]) -> tuple[str, bool]:
    """Return an object's processor, and whether its code declares one of an image's symbols."""
    with told(str(source)):
        file = Elf(source.read_bytes())
        machine = _MACHINES.get(file.machine)
        if machine is None or not file.is_object:
            raise ImageError("it is not a compiled object (.o) for x86_64 or aarch64")
        found = [x for x in file.symbols(having=name) if x.name in symbols]
        if not all(x.is_undefined for x in found):
            raise ImageError(
                f"it already has an image {name!r}: pass the object as the compiler wrote it"
            )
    return machine, bool(found)


def _run(folder: Path, machine: str, tool: str, *arguments: str) -> None:
    """Run a binutils tool, the one for another processor if the object is for that."""
    name = tool if machine == platform.machine() else f"{machine}-linux-gnu-{tool}"
    status, said = process.run([find_binutil(name), *arguments], folder=folder)
    if status:
        raise BuildError(f"{name} failed with exit status {status}: {said.strip()}")
