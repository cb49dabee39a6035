"""`Inspection`: what is in an image, or in a module with its images; plain data with two views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .kernel_table import kernel_facts, kernel_table
from .kernels.cubin import Kernel
from .kernels.demangle import demangle, take_apart

__all__ = ["InspectedFunction", "InspectedImage", "Inspection"]


@dataclass(frozen=True, kw_only=True)
class InspectedImage:
    """One image: a file by itself, embedded in one, or a member of a fatbin.

    Attributes
    ----------
    kind : str
        As of a `Cubin`: ``"cubin"``, ``"relocatable"``, ``"ltoir"``, ``"ptx"`` or ``"fatbin"``; or
        ``"file"``, one that a module reads when it launches, see `ImageFile`.
    arch : str
        As of a `Cubin`; empty where the image does not say.
    size : int
        Bytes of the image.
    name : str
        What it is embedded as; empty where it is not.
    kernels : tuple of Kernel
        Its kernels; a fatbin's are those of its members.
    members : tuple of InspectedImage
        A fatbin's images.
    stored_size, compression
        Of a member of a fatbin: the bytes that it takes there, and the name of its compression.
    ptx_version : str
        Of PTX, such as ``"8.8"``.
    problem : str
        Why its kernels are not known, or not all of them; empty where they are.
    """

    kind: str
    arch: str
    size: int
    name: str = ""
    kernels: tuple[Kernel, ...] = ()
    members: tuple[InspectedImage, ...] = ()
    stored_size: int | None = None
    compression: str = ""
    ptx_version: str = ""
    problem: str = ""

    @property
    def title(self) -> str:
        """The image in a line."""
        if self.kind == "file":
            return f"image {self.name}, in a file of its own"
        stored = f", {self.stored_size} in {self.compression}" if self.compression else ""
        version = f", version {self.ptx_version}" if self.ptx_version else ""
        arch = f"{self.arch}: " if self.arch else ""
        text = f"{arch}{self.kind}, {self.size} bytes{stored}{version}"
        return f"image {self.name}, {text}" if self.name else text

    def text(self, title: str = "") -> str:
        """Return it as people read it, under a line of another's or its own."""
        if self.members:
            parts = [self._named(member).text() for member in self.members]
            return "\n\n".join(filter(None, (title, *parts)))
        if self.kernels or not self.problem:
            table = kernel_table(self.kernels) if self.kernels else self._none
            return "\n".join(filter(None, (title or self.title, table, self.problem)))
        return f"{title or self.title}\n{self.problem}"

    @property
    def _none(self) -> str:
        if self.kind == "ltoir":
            return "It is LTO-IR, yet to be linked."
        return "It has no kernels."

    def _named(self, member: InspectedImage) -> InspectedImage:
        from dataclasses import replace

        return replace(member, name=self.name)

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values: dict[str, Any] = {"name": self.name} if self.name else {}
        values |= {"kind": self.kind, "arch": self.arch, "bytes": self.size}
        if self.stored_size is not None:
            values |= {"stored_bytes": self.stored_size, "compression": self.compression}
        if self.ptx_version:
            values["ptx_version"] = self.ptx_version
        if self.kind == "fatbin":
            values["members"] = [member.values() for member in self.members]
        else:
            values["kernels"] = [kernel_facts(kernel) for kernel in self.kernels]
        return {**values, "problem": self.problem} if self.problem else values


@dataclass(frozen=True, kw_only=True)
class InspectedFunction:
    """A function that a module exports.

    Attributes
    ----------
    name : str
        Its name.
    signature : str
        As C++ would declare it, a line for each instance; the name alone for one written in C++.
    doc : str
        Its docstring.
    params : tuple of (str, str)
        Names and C++ types.
    launches : tuple of mapping
        For each kernel launched its symbol, its image, and the fields of its `Launch` as they were
        written, where they are not as they are by default. Of several instances, all of theirs.
    bound : tuple of (str, str)
        Names and C++ types of the parameters that callers do not see, see `Bound`.
    is_generated : bool
        Whether its launcher was generated; else it is written in C++, and no more is known.
    """

    name: str
    signature: str
    doc: str = ""
    params: tuple[tuple[str, str], ...] = ()
    launches: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    bound: tuple[tuple[str, str], ...] = ()
    is_generated: bool = True

    def text(self) -> str:
        """Return it as people read it."""
        lines = self.signature.splitlines()
        lines += [f"    {line}" for line in self.doc.splitlines()]
        lines += [f"    launches {_launch_text(launch)}" for launch in self.launches]
        lines += [f"    bound: {_declared(self.bound)}"] if self.bound else []
        return "\n".join(lines)

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "signature": self.signature,
            "doc": self.doc,
            "params": [list(param) for param in self.params],
            "launches": [dict(launch) for launch in self.launches],
            "bound": [list(param) for param in self.bound],
            "generated": self.is_generated,
        }


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a file, or an image in memory, consists of.

    Attributes
    ----------
    source : str
        The file's path, or what it is instead.
    kind : str
        ``"module"``, a shared object; ``"object"``, one that is yet to be linked; else an image,
        of the kind that `images` has.
    size : int
        Its bytes.
    images : tuple of InspectedImage
        The embedded images; of an image that alone.
    functions : tuple of InspectedFunction
        What a module exports.
    versions : mapping of str to str
        What a module was made with; empty where it does not say.
    bound : tuple of (str, str)
        Of a module the parameters that are bound for all its kernels, as of a function.
    """

    source: str
    kind: str
    size: int
    images: tuple[InspectedImage, ...] = ()
    functions: tuple[InspectedFunction, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    bound: tuple[tuple[str, str], ...] = ()

    @property
    def has_images(self) -> bool:
        """Whether it carries images, and is none itself."""
        return self.kind in ("module", "object")

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of all images."""
        return tuple(kernel for image in self.images for kernel in image.kernels)

    def text(self) -> str:
        """Return it as people read it, as ``tvmffi-cubin inspect`` prints it."""
        if not self.has_images:
            (image,) = self.images
            return image.text(f"{self.source}: {self.size} bytes{_image_words(image)}")
        made = ", ".join(f"{name} {version}" for name, version in self.versions.items() if version)
        embedded = [image for image in self.images if image.kind != "file"]
        lines = [f"{self.source}: {self.size} bytes, {len(embedded)} embedded"]
        lines += [f"made by {made}"] if made else []
        lines += [f"bound for every kernel: {_declared(self.bound)}"] if self.bound else []
        lines += [line for function in self.functions for line in function.text().splitlines()]
        return "\n\n".join(("\n  ".join(lines), *(image.text() for image in self.images)))

    def values(self) -> dict[str, Any]:
        """Return it as JSON values, as ``tvmffi-cubin inspect --json`` prints it."""
        if not self.has_images:
            return self.images[0].values()
        return {
            "kind": self.kind,
            "bytes": self.size,
            "functions": {function.name: function.values() for function in self.functions},
            "images": [image.values() for image in self.images],
            "versions": dict(self.versions),
            "bound": [list(param) for param in self.bound],
        }

    def __str__(self) -> str:
        return self.text()


def _image_words(image: InspectedImage) -> str:
    if image.kind == "ptx":
        target = image.arch.replace("compute_", "sm_")
        return f" of PTX {image.ptx_version} for {target} and newer"
    if image.kind == "fatbin":
        return f", a fatbin for {image.arch or 'nothing: it is empty'}"
    if image.kind == "ltoir":
        return " of LTO-IR"
    unlinked = ", yet to be linked" if image.kind == "relocatable" else ""
    return f" for {image.arch}{unlinked}"


def _launch_text(launch: Mapping[str, Any]) -> str:
    shape = "" if "grid" in launch or "block" in launch else "in the shape that the caller gives"
    rest = (
        f"{key}={_value_text(value)}"
        for key, value in launch.items()
        if key not in ("kernel", "image", "params")
    )
    kernel = take_apart(demangle(str(launch["kernel"]))).display
    return " ".join(filter(None, (kernel, shape, ", ".join(rest))))


def _declared(params: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{type_} {name}" for name, type_ in params)


def _value_text(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        return _value_text(value[0])
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key}: {_value_text(item)}" for key, item in value.items())
        for name, fields in value.items() if len(value) == 1 else ():
            if name[:1].isupper() and isinstance(fields, str):
                return f"{name}({fields})"
            if name[:1].isupper() and isinstance(fields, Mapping):
                return f"{name}({', '.join(f'{k}={_value_text(v)}' for k, v in fields.items())})"
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"({', '.join(map(_value_text, value))})"
    return str(value)
