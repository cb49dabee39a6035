"""The packages that read sources: where they are, and what they are."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from . import toolchain
from .errors import ToolchainError
from .key import Key, file_digest

__all__ = ["files", "identity", "version_of", "versions"]

_PARSERS = ("tree_sitter", "tree_sitter_cuda")


def files() -> tuple[str, ...]:
    """Return a file of each package, by which a change of it is seen.

    Raises
    ------
    ToolchainError
        One is not installed.
    """
    return _files(tuple(sys.path))


@lru_cache(maxsize=8)
def _files(paths: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for package in _PARSERS:
        # Python's own search looks into the folders of all packages first.
        places = (f"{path}/{package}/__init__.py" for path in paths if path)
        file = next((x for x in places if os.access(x, os.F_OK)), None)
        if file is None and (folder := toolchain.package_dir(package)) is not None:
            file = f"{folder}/__init__.py"
        if file is None:
            raise ToolchainError(
                f"{package}, which reads sources, is missing; "
                f"run: pip install {package.replace('_', '-')}"
            )
        found.append(file)
    return tuple(found)


def versions() -> str:
    """Return what reads sources, for people.

    Raises
    ------
    ToolchainError
        A package is not installed.
    """
    files()
    return ", ".join(f"{package} {_version(package)}" for package in _PARSERS)


def identity() -> str:
    """Return what reads sources, for keys; slow."""
    return " ".join(map(_version, _PARSERS))


def _version(package: str) -> str:
    version = version_of(package.replace("_", "-"))
    if not version:
        # On the path, and not installed: known by its code.
        folder = toolchain.package_dir(package)
        libraries: list[Path] = sorted(folder.glob("*.so")) if folder is not None else []
        digests = [file_digest(os.fspath(library)) for library in libraries]
        version = Key("parser").add("code", digests).hexdigest()
    return version


def version_of(distribution: str) -> str:
    """Return the version of an installed package; empty where it is not installed."""
    # What is remembered: the import alone takes as long as a hundred hits.
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
