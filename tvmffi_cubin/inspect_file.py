"""`inspect`: what a file consists of, read without loading or running it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .artifact import Artifact, EmbeddedBytes, open_artifact, read_artifact
from .inspection import InspectedFunction, InspectedImage, Inspection
from .kernels import fatbin, ptx
from .kernels.cubin import KINDS, Cubin, Kernel
from .kernels.image import check_regular, is_host_elf, read_image

__all__ = ["inspect"]

_KINDS = (*KINDS, "fatbin")
_WANTED = "wanted is an image, or an object or shared object with images"
# Enough of an ELF file's header to tell what it is.
_HEAD = 64


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
    if isinstance(source, Cubin):
        return _inspect_bytes("Cubin", source.image)
    if isinstance(source, bytes | bytearray | memoryview):
        return _inspect_bytes("bytes", bytes(source))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"inspect takes a path, bytes or a Cubin, got {type(source).__name__}: of a module "
            "that is loaded give its path"
        )
    path = os.fspath(source)
    check_regular(path)
    with open(path, "rb") as file:
        head = file.read(_HEAD)
        if not is_host_elf(head):
            return _inspect_bytes(str(path), head + file.read())
    try:
        with open_artifact(path) as artifact:
            return _artifact(str(path), artifact)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _inspect_bytes(source: str, data: bytes) -> Inspection:
    if is_host_elf(data):
        try:
            return _artifact(source, read_artifact(data))
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None
    image = _image(data, source)
    return Inspection(source=source, kind=image.kind, size=len(data), images=(image,))


def _image(data: bytes, source: str, *, name: str = "") -> InspectedImage:
    """Return an image; raises ValueError where it is none or cannot be read."""
    cubin = read_image(Cubin(data, "", name=source), wanted=_KINDS, or_else=_WANTED)
    members: tuple[InspectedImage, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    try:
        if cubin.kind == "fatbin":
            members = tuple(map(_member, fatbin.read(data)))
            by_name = {k.name: k for member in reversed(members) for k in member.kernels}
            kernels = tuple(by_name.values())
        elif cubin.kind != "ltoir":
            kernels = cubin.kernels
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    return InspectedImage(
        kind=cubin.kind,
        arch=cubin.arch,
        size=len(data),
        name=name,
        kernels=kernels,
        members=members,
        ptx_version=ptx.version(data) if cubin.kind == "ptx" else "",
    )


def _member(member: fatbin.Member) -> InspectedImage:
    version, problem, kind = "", "", member.kind
    kernels: tuple[Kernel, ...] = ()
    try:
        image = member.data()
        if kind == "ptx":
            version = ptx.version(image)
        kernels = Cubin(image, member.arch, kind=kind).kernels
    except ValueError as error:
        problem = str(error)
    return InspectedImage(
        kind=kind,
        arch=member.arch,
        size=member.size,
        kernels=kernels,
        stored_size=len(member.stored),
        compression=member.compression,
        ptx_version=version,
        problem=problem,
    )


def _artifact(source: str, artifact: Artifact) -> Inspection:
    manifest = artifact.manifest
    by_nvcc = [_readable(data, name) for name, data in fatbin.in_host_file(artifact.content)]
    if not (manifest or artifact.embedded or artifact.exports or by_nvcc):
        raise ValueError(
            "it carries nothing of this package or of tvm-ffi: no image, no manifest, no function"
        )
    try:
        functions = tuple(_functions(manifest, artifact.exports))
        versions = {str(k): str(v) for k, v in manifest.get("versions", {}).items()}
        bound = _bound(manifest.get("bound", ()))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"its manifest is not as this version writes it: {error!r}") from None
    return Inspection(
        source=source,
        kind="object" if artifact.is_object else "module",
        size=len(artifact.content),
        images=(
            *(_embedded(artifact, where) for where in artifact.embedded),
            *_files(manifest),
            *by_nvcc,
        ),
        functions=functions,
        versions=versions,
        bound=bound,
    )


def _files(manifest: Mapping[str, Any]) -> Iterator[InspectedImage]:
    for name, facts in manifest.get("images", {}).items():
        if "file" in facts:
            problem = f"It is {facts['file']}, which is read when a kernel of it is launched."
            yield InspectedImage(kind="file", arch="", size=0, name=name, problem=problem)


def _embedded(artifact: Artifact, where: EmbeddedBytes) -> InspectedImage:
    return _readable(artifact.image(where), where.name)


def _readable(data: bytes, name: str) -> InspectedImage:
    try:
        return _image(data, name, name=name)
    except ValueError as error:
        return InspectedImage(
            kind="unknown", arch="", size=len(data), name=name, problem=str(error)
        )


def _functions(
    manifest: Mapping[str, Any], exports: tuple[str, ...]
) -> Iterator[InspectedFunction]:
    generated = manifest.get("functions", {})
    for name, facts in generated.items():
        yield InspectedFunction(
            name=name,
            signature=str(facts["signature"]),
            doc=str(facts.get("doc", "")),
            params=tuple((str(x), str(type_)) for x, type_ in facts["params"]),
            launches=tuple(x for one in facts.get("instances", [facts]) for x in _launches(one)),
            bound=_bound(facts.get("bound", ())),
        )
    for name in exports:
        if name not in generated:
            yield InspectedFunction(name=name, signature=name, is_generated=False)


def _bound(rows: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(type_)) for name, type_, *_ in rows)


def _launches(facts: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for launch in facts["launches"]:
        own = {"kernel": str(launch["kernel"]), "image": str(launch["image"])}
        yield {**own, **launch, **own}
