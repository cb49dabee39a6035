"""`Inspection`: what is in an image, or in a module with its images; plain data, text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..kernels.cubin import Kernel
from ..kernels.demangle import demangle, function_name
from .kernel_table import kernel_table

Params = tuple[tuple[str, str], ...]
"""Names and C++ types of parameters."""


class InspectedImage(NamedTuple):
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
    compression : str
        Of a member of a fatbin: the name of its compression, empty where there is none.
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
    compression: str = ""
    ptx_version: str = ""
    problem: str = ""

    def text(self) -> str:
        """Return it as people read it."""
        title = f"{self.kind} {self.ptx_version}".rstrip()
        title += f" for {self.arch}" if self.arch else ""
        title += f", {self.size} bytes" if self.size else ""
        title += f", compressed as {self.compression}" if self.compression else ""
        lines = [f"{self.name}: {title}" if self.name else title]
        if self.members:
            members = (x._replace(name=self.name).text() for x in self.members)
            return "\n\n".join((*lines, *members))
        if self.kernels:
            lines.append(kernel_table(self.kernels))
        elif self.kind in ("ltoir", "relocatable"):
            lines.append("It is yet to be linked.")
        elif not self.problem:
            lines.append("It has no kernels.")
        return "\n".join((*lines, *filter(None, [self.problem])))


class InspectedFunction(NamedTuple):
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
    params: Params = ()
    launches: tuple[Mapping[str, Any], ...] = ()
    bound: Params = ()
    is_generated: bool = True

    def text(self) -> str:
        """Return it as people read it."""
        lines = self.signature.splitlines()
        lines += [f"    {line}" for line in self.doc.splitlines()]
        lines += [f"    launches {_launch_text(launch)}" for launch in self.launches]
        lines += [f"    bound: {_declared(self.bound)}"] if self.bound else []
        return "\n".join(lines)


class Inspection(NamedTuple):
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
    versions: Mapping[str, str] = {}
    bound: Params = ()

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
            return self.images[0]._replace(name=self.source).text()
        lines = [f"{self.source}: {self.kind}, {self.size} bytes"]
        made = ", ".join(f"{name} {version}" for name, version in self.versions.items() if version)
        lines += [f"made by {made}"] if made else []
        lines += [f"bound for every kernel: {_declared(self.bound)}"] if self.bound else []
        lines += [line for function in self.functions for line in function.text().splitlines()]
        return "\n\n".join(("\n  ".join(lines), *(f"image {x.text()}" for x in self.images)))

    def values(self) -> dict[str, Any]:
        """Return it as JSON values, by the names of its attributes."""
        values: dict[str, Any] = _plain(self)
        return values

    def __str__(self) -> str:
        return self.text()


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return {"demangled": demangle(value.name), **_plain(value._asdict())}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        fields = getattr(value, "_asdict", None)
        return _plain(fields()) if fields else [_plain(item) for item in value]
    return value


def _launch_text(launch: Mapping[str, Any]) -> str:
    shape = "" if "grid" in launch or "block" in launch else "in the shape that the caller gives"
    rest = (
        f"{key}={_value_text(value)}"
        for key, value in launch.items()
        if key not in ("kernel", "image", "params")
    )
    kernel = function_name(str(launch["kernel"])).display
    return " ".join(filter(None, (kernel, shape, ", ".join(rest))))


def _declared(params: Params) -> str:
    return ", ".join(f"{type_} {name}" for name, type_ in params)


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        text = ", ".join(map(_value_text, value))
        return text if len(value) == 1 else f"({text})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value_text(x)}" for key, x in value.items()) + "}"
    return str(value)
