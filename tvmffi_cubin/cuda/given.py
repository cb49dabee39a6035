"""`GivenImage`: device code that a caller hands over, as bytes, as a `Cubin` or in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..kernels.cubin import Cubin
from ..kernels.image import check_regular, looks_like_ptx

_RUNTIME = "cudadevrt"


class GivenImage(NamedTuple):
    """Device code that was compiled elsewhere, whatever it is.

    `name` is what messages call it: its path, or the argument that it was. What follows `data` is
    what the caller's `Cubin` says; else empty.
    """

    name: str
    data: bytes
    arch: str = ""
    lowered_names: Mapping[str, str] = MappingProxyType({})
    signatures: Mapping[str, str] = MappingProxyType({})

    @property
    def is_ptx(self) -> bool:
        """Whether it is PTX, by its content."""
        return looks_like_ptx(self.data)


def read_given(what: str, value: Any) -> GivenImage:
    """Return what a caller gave as bytes, a Cubin or the path of a file.

    Messages call it `what`, and a file by its path.
    """
    if isinstance(value, Cubin):
        return GivenImage(what, value.image, value.arch, value.lowered_names, value.signatures)
    if isinstance(value, bytes | bytearray | memoryview):
        return GivenImage(what, bytes(value))
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{what} is bytes, a Cubin or a path, got {type(value).__name__}")
    if isinstance(value, str) and "\n" in value:
        raise ValueError(f"{what} is text and no path of a file: give it as bytes, text.encode()")
    try:
        check_regular(value)
        with open(value, "rb") as file:
            return GivenImage(os.fspath(value), file.read())
    except OSError as error:
        raise OSError(error.errno, f"{what}: {error.strerror}", error.filename) from None
    except ValueError as error:
        raise ValueError(f"{what}: {value!r} cannot be a path: {error}") from None


def read_libraries(value: Any) -> tuple[GivenImage, ...]:
    """Return the argument ``device_libraries`` in one form."""
    what = "device_libraries"
    if value is None:
        return ()
    single = isinstance(value, str | bytes | os.PathLike | Cubin | Mapping)
    if single or not isinstance(value, Iterable):
        raise TypeError(
            f"{what} is a sequence of paths, bytes or Cubins, got one {type(value).__name__}; "
            "pass a list"
        )
    given = (_runtime() if isinstance(x, str) and x == _RUNTIME else x for x in value)
    return tuple(read_given(f"{what}[{index}]", item) for index, item in enumerate(given))


def _runtime() -> os.PathLike[str]:
    """Return the path of the device runtime, which kernels that launch kernels need."""
    from .libraries import find_cuda

    return find_cuda().require("cudart").with_name(f"lib{_RUNTIME}.a")
