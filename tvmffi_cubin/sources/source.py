"""`Source`: one source text, and the file that it was read from, if any."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = ["DEVICE_IMAGE", "Source"]

DEVICE_IMAGE = "kernels"
"""The name under which the image of the device sources is embedded."""

# Without one of these a CUDA source is host code. What launches may include its kernels.
_DEVICE_WORDS = ("__global__", "__device__", "__constant__", "<<<")
_DEVICE_HEADERS = ('.cuh"', ".cuh>", '.cu"', ".cu>")


class Source(NamedTuple):
    """One source.

    Attributes
    ----------
    text : str
        What is compiled.
    path : str or None
        The file that it was read from, absolute; None for text that came as an argument.
    real_folder : str or None
        Where that file is a symbolic link: the folder that it leads to.
    label : str
        What messages call it where it has no path, such as ``"cuda_sources[1]"``.
    """

    text: str
    path: str | None = None
    real_folder: str | None = None
    label: str = ""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path or self.label

    @property
    def folder(self) -> str | None:
        """Where its quoted includes are searched first; None for text without a file."""
        return None if self.path is None else os.path.dirname(self.path)

    @property
    def further_folders(self) -> tuple[str, ...]:
        """Where its quoted includes are searched last: beside the file that a link leads to."""
        if self.real_folder is None or self.real_folder == self.folder:
            return ()
        return (self.real_folder,)

    @property
    def may_be_device(self) -> bool:
        """Whether it may be for NVRTC, going by its own text alone."""
        return any(word in self.text for word in (*_DEVICE_WORDS, *_DEVICE_HEADERS))
