"""What an image, or a module with its images, consists of: as text for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import elf, fatbin, ptx
from ..cubin import Cubin, Kernel, Parameter
from ..image_kind import ELF, FATBIN
from .kernel_table import kernel_facts, kernel_table

__all__ = ["Part", "Report", "report"]

_MANIFEST = b"__tvm_ffi__tvmffi_cubin_manifest"
_EM_CUDA = 190


@dataclass(frozen=True)
class Part:
    """One image: what it is, its kernels, and why they are not known where they are not."""

    title: str
    facts: Mapping[str, Any]
    kernels: tuple[Kernel, ...] = ()
    problem: str = ""

    def text(self) -> str:
        """Return it as people read it."""
        table = kernel_table(self.kernels) if self.kernels else "It has no kernels."
        return f"{self.title}\n{self.problem or table}"

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values = {**self.facts, "kernels": [kernel_facts(kernel) for kernel in self.kernels]}
        return {**values, "problem": self.problem} if self.problem else values


@dataclass(frozen=True)
class Report:
    """A file: a line about it, and its images; one that is an image itself has no other parts."""

    title: str
    facts: Mapping[str, Any]
    parts: tuple[Part, ...] = ()
    itself: Part | None = field(default=None)
    parts_name: str = "members"

    def text(self) -> str:
        """Return it as people read it."""
        if self.itself is not None:
            return self.itself.text()
        return "\n\n".join((self.title, *(part.text() for part in self.parts)))

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        if self.itself is not None:
            return self.itself.values()
        return {**self.facts, self.parts_name: [part.values() for part in self.parts]}


def report(path: Path) -> Report:
    """Read a file: a cubin, a fatbin, PTX, or a module that this package built.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It is none of these, or damaged.
    """
    data = path.read_bytes()
    try:
        if data.startswith(FATBIN):
            return _fatbin_report(path, data)
        if ptx.looks_like_ptx(data):
            return _ptx_report(path, data)
        is_host_elf = data.startswith(ELF) and data[18:20] != bytes([_EM_CUDA, 0])
        if is_host_elf and path.suffix == ".so":
            return _module_report(path, data)
        parsed = elf.parse(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    facts = {"kind": "cubin", "arch": parsed.arch, "bytes": len(data)}
    title = f"{path}: {len(data)} bytes for {parsed.arch}"
    return Report(title, facts, itself=Part(title, facts, parsed.kernels))


def _ptx_report(path: Path, data: bytes) -> Report:
    parsed = ptx.parse(data)
    version = ".".join(map(str, parsed.version))
    title = f"{path}: {len(data)} bytes of PTX {version} for {parsed.target} and newer"
    facts = {
        "kind": "ptx",
        "arch": f"compute_{parsed.target.removeprefix('sm_')}",
        "ptx_version": version,
        "bytes": len(data),
    }
    return Report(title, facts, itself=Part(title, facts, parsed.kernels))


def _fatbin_report(path: Path, data: bytes) -> Report:
    members = fatbin.read(data)
    arch = ", ".join(member.arch for member in members)
    title = f"{path}: {len(data)} bytes, a fatbin for {arch or 'nothing: it is empty'}"
    facts = {"kind": "fatbin", "arch": arch, "bytes": len(data)}
    return Report(title, facts, tuple(map(_member_part, members)))


def _member_part(member: fatbin.Member) -> Part:
    facts: dict[str, Any] = {
        "kind": member.kind,
        "arch": member.arch,
        "bytes": member.size,
        "stored_bytes": len(member.stored),
        "compression": member.compression,
    }
    title = f"{member.arch}: {member.kind}, {member.size} bytes"
    if member.compression:
        title += f", {len(member.stored)} in {member.compression}"
    try:
        image = member.data()
        if member.kind == "ptx":
            facts["ptx_version"] = ".".join(map(str, ptx.parse(image).version))
            title += f", version {facts['ptx_version']}"
        return Part(title, facts, Cubin(image, member.arch, kind=member.kind).kernels)
    except ValueError as error:
        return Part(title, facts, problem=str(error))


def _module_report(path: Path, data: bytes) -> Report:
    from ..entry import MANIFEST

    # Loading a library runs its code: only one of this package's is loaded to be asked.
    if _MANIFEST not in data and not (path.parent / MANIFEST).is_file():
        raise ValueError(
            "no module of this package that says what is in it: a wrapper's images are written "
            "down beside it, in the folder that it was built in"
        )
    from ..module import load_module

    manifest = load_module(path).manifest
    images = manifest.get("images", {})
    functions = {name: facts["signature"] for name, facts in manifest["functions"].items()}
    title = "\n  ".join((f"{path}: {len(data)} bytes, {len(images)} embedded", *functions.values()))
    facts = {"kind": "module", "bytes": len(data), "functions": functions}
    parts = [part for name, row in images.items() for part in _image_parts(name, row)]
    return Report(title, facts, tuple(parts), parts_name="images")


def _image_parts(name: str, facts: Mapping[str, Any]) -> list[Part]:
    """Return an embedded image, member by member where it has several."""
    rows = facts.get("members") or [facts]
    return [
        Part(
            f"image {name}, {row['arch']}: {row['kind']}, {row['bytes']} bytes",
            {"name": name, **{key: row[key] for key in ("kind", "arch", "bytes")}},
            tuple(_kernel(symbol, usage) for symbol, usage in row["kernels"].items()),
        )
        for row in rows
    ]


def _kernel(symbol: str, facts: Mapping[str, Any]) -> Kernel:
    """Return a kernel as a manifest has it: sizes of parameters, no offsets."""
    return Kernel(
        name=symbol,
        params=tuple(Parameter(i, 0, size) for i, size in enumerate(facts["params"])),
        registers=facts["registers"],
        static_smem_bytes=facts["static_smem_bytes"],
        local_bytes=facts["local_bytes"],
        max_threads=facts["max_threads"],
    )
