"""Sources: what a CUDA text contains, and which compiler each text is for.

Takes texts (`Source`); gives their kernels with parameters, functions, definitions, launches and
includes (`facts.read`), a request's sources sorted (`sort.sort_sources`), and the two sides of a
mixed source. It compiles nothing and never refuses a text: what is wrong in one is the compiler's
to say.
"""

from __future__ import annotations

import os
from typing import NamedTuple

DEVICE_IMAGE = "kernels"
"""The name under which the image of the device sources is embedded."""

# Without one of these a CUDA source is host code. What launches may include its kernels.
_DEVICE_WORDS = ("__global__", "__device__", "__constant__", "<<<")
_DEVICE_HEADERS = ('.cuh"', ".cuh>", '.cu"', ".cu>")


class Source(NamedTuple):
    """One source."""

    text: str
    path: str | None = None  # absolute; None for text that came as an argument
    label: str = ""  # what messages call it without a path, such as "cuda_sources[1]"

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path or self.label

    @property
    def file(self) -> str:
        """What a build calls it, if it has no path."""
        suffix = "cpp" if self.label.startswith("cpp") else "cu"
        return f"{self.label.replace('[', '_').rstrip(']')}.{suffix}"

    @property
    def folder(self) -> str | None:
        """Where its quoted includes are searched first; None for text without a file."""
        return None if self.path is None else os.path.dirname(self.path)

    @property
    def may_be_device(self) -> bool:
        """Whether it may be for NVRTC, going by its own text alone."""
        return any(word in self.text for word in (*_DEVICE_WORDS, *_DEVICE_HEADERS))
