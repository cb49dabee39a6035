"""`inspect`: what a file consists of, read without loading or running it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ImageError
from ..kernels import fatbin, ptx
from ..kernels.cubin import KINDS, Cubin
from ..kernels.image import check_regular, is_host_elf, read_image, take_image
from .artifact import read_artifact
from .inspection import InspectedFunction, InspectedImage, Inspection, Params

_KINDS = (*KINDS, "fatbin")
_WANTED = "wanted is an image, or an object or shared object with images"


def inspect(source: str | os.PathLike[str] | bytes | Cubin) -> Inspection:
    """Say what a file consists of, without loading or running it.

    Parameters
    ----------
    source : path, bytes or Cubin
        A shared object or an object with its images, a cubin, a fatbin or PTX.

    Returns
    -------
    Inspection
        Functions, parameters, images, kernels and what they use; ``print`` shows it as text.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is none of these, or damaged; the message says what.
    TypeError
        `source` is something else.
    """
    if isinstance(source, str | os.PathLike):
        check_regular(source)
        name, data = os.fspath(source), Path(source).read_bytes()
    else:
        name, data = type(source).__name__, take_image("what inspect takes", source).image
    try:
        if is_host_elf(data):
            return _host_file(name, data)
        image = _image(data)
    except ValueError as error:
        raise ImageError(f"{name}: {error}") from None
    return Inspection(name, image.kind, len(data), (image,))


def _host_file(source: str, data: bytes) -> Inspection:
    artifact = read_artifact(data)
    manifest = artifact.manifest
    embedded = [(where.name, artifact.image(where)) for where in artifact.embedded]
    images = [_readable(name, image) for name, image in embedded]
    images += _files(manifest)
    images += [_readable(name, image) for name, image in fatbin.in_host_file(data)]
    functions = tuple(_functions(manifest, artifact.exports))
    if not (manifest or images or functions):
        raise ImageError(
            "it carries nothing of this package or of tvm-ffi: no image, no manifest, no function"
        )
    return Inspection(
        source=source,
        kind="object" if artifact.is_object else "module",
        size=len(data),
        images=tuple(images),
        functions=functions,
        versions=manifest.get("versions", {}),
        bound=_bound(manifest.get("bound", ())),
    )


def _image(data: bytes, name: str = "") -> InspectedImage:
    cubin = read_image(Cubin(data, ""), wanted=_KINDS, or_else=_WANTED)
    members = tuple(map(_member, fatbin.read(data))) if cubin.kind == "fatbin" else ()
    by_name = {kernel.name: kernel for x in reversed(members) for kernel in x.kernels}
    return InspectedImage(
        kind=cubin.kind,
        arch=cubin.arch,
        size=len(data),
        name=name,
        kernels=tuple(by_name.values()) if members or cubin.kind == "ltoir" else cubin.kernels,
        members=members,
        ptx_version=ptx.version(data) if cubin.kind == "ptx" else "",
    )


def _readable(name: str, data: bytes) -> InspectedImage:
    try:
        return _image(data, name)
    except ImageError as error:
        return InspectedImage("unknown", "", len(data), name, problem=str(error))


def _member(member: fatbin.Member) -> InspectedImage:
    found = InspectedImage(member.kind, member.arch, member.size, compression=member.compression)
    try:
        image = member.data()
        version = ptx.version(image) if member.kind == "ptx" else ""
        kernels = Cubin(image, member.arch, kind=member.kind).kernels
        return found._replace(kernels=kernels, ptx_version=version)
    except ImageError as error:
        return found._replace(problem=str(error))


def _files(manifest: Mapping[str, Any]) -> Iterator[InspectedImage]:
    for name, facts in manifest.get("images", {}).items():
        if "file" in facts:
            problem = f"It is {facts['file']}, which is read when a kernel of it is launched."
            yield InspectedImage("file", "", 0, name, problem=problem)


def _functions(
    manifest: Mapping[str, Any], exports: tuple[str, ...]
) -> Iterator[InspectedFunction]:
    generated = manifest.get("functions", {})
    for name, facts in generated.items():
        launches = [x for one in facts.get("instances", [facts]) for x in one["launches"]]
        yield InspectedFunction(
            name=name,
            signature=facts["signature"],
            doc=facts.get("doc", ""),
            params=_bound(facts["params"]),
            # What it launches first, whatever the order of the fields.
            launches=tuple({"kernel": x["kernel"], "image": x["image"], **x} for x in launches),
            bound=_bound(facts.get("bound", ())),
        )
    for name in exports:
        if name not in generated:
            yield InspectedFunction(name, name, is_generated=False)


def _bound(rows: Iterable[Any]) -> Params:
    return tuple((name, type_) for name, type_, *_ in rows)
