"""Text of the tables of images that lie in files, and of what their kernels are passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .c_text import c_string, template
from .function import KernelRef

__all__ = ["declared_text", "file_export", "file_text"]


def file_text(files: Mapping[str, str]) -> list[str]:
    """Return the lines that define images, by name and path."""
    lines = []
    for name, path in files.items():
        lines += [
            f"ImageFile file_{name} = {{{c_string(path)}, LoadFileKernel}};",
            f'constexpr const void* facts_{name}[] = {{nullptr, nullptr, "", ""}};',
            f"EmbeddedImage image_{name} = {{facts_{name}, {c_string(name)}, {{}}, {{}}, "
            f"&file_{name}}};",
        ]
    return lines


def declared_text(kernels: Sequence[KernelRef]) -> str:
    """Return the tables of what kernels are passed; one has the number of its kernel."""
    lines = []
    for number, ref in enumerate(kernels):
        if ref.least_params is None:
            continue
        sizes = ", ".join(f"{param.size}u" for param in ref.kernel.params) or "0u"
        count = len(ref.kernel.params)
        lines += [
            f"constexpr uint32_t sizes_{number}[] = {{{sizes}}};",
            f"constexpr DeclaredParams declared_{number} = {{sizes_{number}, {count}, "
            f"{ref.least_params}, {'true' if ref.by_part else 'false'}}};",
        ]
    return "".join(f"{line}\n" for line in lines)


def file_export() -> str:
    """Return the entry that says where files lie."""
    return template("image_file_export.cc.in").template
