"""`module_key`: all that decides what is built of a request, as one key."""

from __future__ import annotations

import os
from typing import Protocol

from ..cache.key import Key
from ..host.tools import native_cpu
from .request import Request

__all__ = ["module_key"]


class _Tools(Protocol):
    @property
    def options(self) -> tuple[str, ...]: ...

    def add_to(self, key: Key) -> None: ...


def module_key(request: Request, archs: tuple[str, ...], tools: _Tools) -> Key:
    """Return the key of a module: of everything but the content of the files that a build finds.

    Raises
    ------
    ToolchainError
        A part of the CUDA wheels that is needed is not installed.
    """
    from .. import __version__

    key = Key("module").add("package", __version__)
    key.add("machine", os.uname().machine)
    key.add("archs", archs)
    request.add_to(key)
    tools.add_to(key)
    key.add("cpu", native_cpu((*tools.options, *request.host_flags)))
    return key
