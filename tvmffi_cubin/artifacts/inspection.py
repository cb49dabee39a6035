"""`inspect`: the contents of a module, an object or an image, read without loading it; `sass`."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..cuda.libraries import find_program
from ..errors import ImageError, ToolchainError, bare
from ..host.tools import said
from ..kernels import fatbin
from ..kernels.cubin import KINDS, Cubin, Kernel, read_image, regular, take_image
from ..kernels.demangle import demangle, function_name
from ..kernels.elf import is_host_elf
from .artifact import read_artifact

_HEAD = ("kernel", "registers", "shared", "local", "max threads", "parameters")


class Inspection(NamedTuple):
    """What a file or an image contains; ``print`` shows it as text.

    Attributes
    ----------
    source : str
        The file's path, or a description of bytes.
    kind : str
        ``"module"``, a shared object; ``"object"``, to be linked; otherwise the kind of an image,
        see `Cubin.kind`.
    size : int
        Its size in bytes.
    images : tuple of Cubin
        The embedded images, nvcc's as ``.nv_fatbin``; for an image, the image itself.
    manifest : mapping
        A module's description of itself, see `Module.manifest`; empty if another tool built it.
    exports : tuple of str
        The functions that a module exports.
    """

    source: str
    kind: str
    size: int
    images: tuple[Cubin, ...]
    manifest: Mapping[str, Any] = {}
    exports: tuple[str, ...] = ()

    @property
    def functions(self) -> dict[str, Mapping[str, Any]]:
        """What the manifest says about each function, by name; empty for those written in C++."""
        known = self.manifest.get("functions", {})
        return {**known, **{name: {} for name in self.exports if name not in known}}

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of all images."""
        return tuple(kernel for image in self.images for kernel in _kernels(image)[0])

    def text(self) -> str:
        """Return the text that ``tvmffi-cubin inspect`` prints."""
        if self.kind not in ("module", "object"):
            return _image_text(self.images[0])
        lines = [f"{self.source}: {self.kind}, {self.size} bytes"]
        versions = self.manifest.get("versions", {})
        made = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        lines += [f"built with {made}"] if made else []
        lines += _bound_text(self.manifest)
        lines += [line for x in self.functions.items() for line in _function_text(*x)]
        lines += [
            f"image {name}: {facts['file']}, read when one of its kernels is launched"
            for name, facts in self.manifest.get("images", {}).items()
            if "file" in facts
        ]
        return "\n\n".join(("\n  ".join(lines), *(f"image {_image_text(x)}" for x in self.images)))

    def values(self) -> dict[str, Any]:
        """Return the attributes as JSON values, by name."""
        return {**self._asdict(), "images": [_image_values(x) for x in self.images]}

    def __str__(self) -> str:
        return self.text()


@bare
def inspect(source: str | os.PathLike[str] | bytes | Cubin) -> Inspection:
    """Return what a file contains, without loading or running it.

    Parameters
    ----------
    source : path, bytes or Cubin
        A shared object or object with images, a cubin, a fatbin or PTX.

    Raises
    ------
    OSError, TypeError, ValueError
        The source cannot be read, is none of these, or is damaged; the message says which.
    """
    if isinstance(source, str | os.PathLike):
        name, data = os.fspath(source), regular(source).read_bytes()
    else:
        given = source.name if isinstance(source, Cubin) else ""
        name = given or type(source).__name__
        data = take_image("the argument of inspect", source).image
    if not is_host_elf(data):
        image = _image(name, data)
        return Inspection(name, image.kind, len(data), (image,))
    try:
        artifact = read_artifact(data)
        images = [_image(name, bytes(view)) for name, view in artifact.images]
        images += [_image(section, image) for section, image in fatbin.in_host_file(data)]
        if not (artifact.manifest or images or artifact.exports):
            raise ImageError("it has no image, manifest or function of this package or tvm-ffi")
    except ValueError as error:
        raise ImageError(f"{name}: {error}") from None
    kind = "object" if artifact.is_object else "module"
    return Inspection(name, kind, len(data), (*images,), artifact.manifest, artifact.exports)


def sass(cubin: Cubin) -> dict[str, str]:
    """Return the machine code of an image's kernels by symbol; for a fatbin, its newest cubin's."""
    nvdisasm = find_program("nvdisasm")
    if nvdisasm is None:
        raise ToolchainError(
            "cannot find nvdisasm on PATH, in NVIDIA's wheels or in a toolkit; run: "
            "pip install nvidia-cuda-nvdisasm"
        )
    image = [x for x in (cubin.members or (cubin,)) if x.kind == "cubin"]
    if not image:
        raise ValueError(f"{cubin.name or 'the image'} has no machine code: it is {cubin.kind}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image[-1].image)
        file.flush()
        text = said((str(nvdisasm), "-c", file.name), "a newer nvdisasm may read the image")
    sections = re.split(r"^//-+ \.(\S+) +-+$", text, flags=re.MULTILINE)
    found = zip(sections[1::2], sections[2::2], strict=True)
    return {x.removeprefix("text."): y.strip("\n") for x, y in found if x.startswith("text.")}


def _image(name: str, data: bytes) -> Cubin:
    wanted = "expected an image, or an object or shared object with images"
    return read_image(Cubin(data, "", name=name), wanted=(*KINDS, "fatbin"), or_else=wanted)


def _kernels(image: Cubin) -> tuple[tuple[Kernel, ...], str]:
    """Return the kernels of an image and, if there are none, why."""
    try:
        kernels = () if image.kind == "ltoir" else image.kernels
    except ImageError as error:
        return (), str(error)
    is_linked = image.kind not in ("ltoir", "relocatable")
    return kernels, "It has no kernels." if is_linked else "It is not linked yet."


def _image_text(image: Cubin) -> str:
    target = f" for {image.arch}" if image.arch else ""
    title = f"{image.name}: {image.kind}{target}, {len(image.image)} bytes"
    if image.kind == "fatbin":
        members = [_image_text(replace(x, name=image.name)) for x in image.members]
        return "\n\n".join((title, *members, *image.unreadable))
    kernels, problem = _kernels(image)
    return f"{title}\n{_table(kernels) if kernels else problem}"


def _image_values(image: Cubin) -> dict[str, Any]:
    values = {"name": image.name, "kind": image.kind, "arch": image.arch, "size": len(image.image)}
    if image.kind == "fatbin":
        members = [_image_values(x) for x in image.members]
        return {**values, "members": members, "unreadable": [*image.unreadable]}
    kernels = [{"demangled": demangle(x.name), **x._asdict()} for x in _kernels(image)[0]]
    return {**values, "kernels": kernels}


def _function_text(name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    yield from facts.get("signature", name).splitlines()
    yield from (f"    {line}" for line in facts.get("doc", "").splitlines())
    for instance in facts.get("instances", [facts]):
        for launch in instance.get("launches", ()):
            rest = {x: y for x, y in launch.items() if x not in ("kernel", "image", "params")}
            shape = json.dumps(rest) if rest else "with the shape that the caller passes"
            yield f"    launches {function_name(launch['kernel']).display} {shape}"
    yield from (f"    {line}" for line in _bound_text(facts))


def _bound_text(facts: Mapping[str, Any]) -> list[str]:
    bound = ", ".join(f"{type_} {name}" for name, type_, *_ in facts.get("bound", ()))
    return [f"bound: {bound}"] if bound else []


def _table(kernels: Iterable[Kernel]) -> str:
    """Return a table of kernels and what they use, one per line."""
    rows = [_HEAD, *map(_row, kernels)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _row(kernel: Kernel) -> tuple[str, ...]:
    name = function_name(kernel.name)
    sizes = ", ".join(map(str, kernel.param_sizes))
    params = f"{sizes} bytes" if name.params is None and sizes else ", ".join(name.params or ())
    block = kernel.required_block
    uses = (str(kernel.registers), f"{kernel.static_smem_bytes} B", f"{kernel.local_bytes} B")
    return (
        name.display,
        # Unknown for PTX: the driver decides when it compiles.
        *(uses if kernel.registers else ("-", "-", "-")),
        str(kernel.max_threads) if block is None else "x".join(map(str, block)) + " exactly",
        params or "none",
    )
