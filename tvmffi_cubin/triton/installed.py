"""`Installed`: the Triton that is installed, as far as it is used here."""

from __future__ import annotations

import importlib
import importlib.util
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..errors import ToolchainError

__all__ = ["OLDEST", "Installed", "check_version", "installed"]

OLDEST = (3, 6)
"""The oldest version whose kernels are known to be launched as described here."""


@dataclass(frozen=True)
class Installed:
    """The parts of Triton that compile a function without a GPU.

    Attributes
    ----------
    version : str
        Such as ``"3.6.0"``.
    compiler, jit, errors : module
        ``triton.compiler``, ``triton.runtime.jit`` and ``triton.errors``.
    target : type
        ``GPUTarget``.
    knobs : module
        ``triton.knobs``.
    """

    version: str
    compiler: ModuleType
    jit: ModuleType
    errors: ModuleType
    target: Any
    knobs: ModuleType

    def source_class(self, fn: Any) -> Any:
        """Return the class of what the compiler takes for a function."""
        if not getattr(fn, "is_gluon", bool)():
            return self.compiler.ASTSource
        return importlib.import_module("triton.experimental.gluon._runtime").GluonASTSource


def installed() -> Installed:
    """Import Triton.

    Raises
    ------
    ToolchainError
        It is not installed, cannot be imported, or is too old.
    """
    if importlib.util.find_spec("triton") is None:
        raise ToolchainError(
            "Triton is not installed (it is needed to compile a Triton function, not to load or "
            "launch one): run: pip install triton"
        )
    try:
        package = importlib.import_module("triton")
    except Exception as error:
        raise ToolchainError(f"Triton cannot be imported: {error}") from error
    version = str(getattr(package, "__version__", "unknown"))
    check_version(version)
    try:
        return Installed(
            version,
            importlib.import_module("triton.compiler"),
            importlib.import_module("triton.runtime.jit"),
            importlib.import_module("triton.errors"),
            importlib.import_module("triton.backends.compiler").GPUTarget,
            importlib.import_module("triton.knobs"),
        )
    except (ImportError, AttributeError) as error:
        raise ToolchainError(
            f"Triton {version} is not laid out as the versions that are known here: {error}; a "
            "newer tvmffi-cubin may know it"
        ) from error


def check_version(version: str) -> None:
    """Refuse versions that are too old.

    Raises
    ------
    ToolchainError
        It is one of them.
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        raise ToolchainError(
            f"Triton {version} is installed, {'.'.join(map(str, OLDEST))} or newer is wanted; run: "
            "pip install --upgrade triton"
        )
