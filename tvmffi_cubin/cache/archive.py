"""Entries that travel: as a folder for others to look through, and in a tar file.

All yield for each entry its name, and what is wrong with it where it did not arrive.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .files import remove
from .publish import adopt, cleared, make_directory
from .upkeep import Listed, contents


def export_layer(entries: Sequence[Listed], layer: Path) -> Iterator[tuple[str, str]]:
    """Copy entries to a folder for ``TVMFFI_CUBIN_CACHE_PATH``, which everybody may then read."""
    layer = layer.absolute()
    layer.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        problem = ""
        try:
            folder = make_directory(os.fspath(layer))
            with cleared(folder):
                shutil.copytree(entry.path, folder, dirs_exist_ok=True)
                adopt(os.fspath(layer), folder)
        except (shutil.Error, ValueError) as error:
            problem = str(error)
        yield entry.name, problem
    remove(layer / "tmp")
    layer.chmod(0o755)
    for name in ("entries", "history", "records"):
        for parent, _, files in os.walk(layer / name):
            os.chmod(parent, 0o755)
            for file in files:
                os.chmod(f"{parent}/{file}", 0o644)


def export(entries: Sequence[Listed], output: Path) -> Iterator[tuple[str, str]]:
    """Write a tar file of such a folder, which is there once the last was taken from this."""
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as folder:
        layer, archive = Path(folder, "layer"), Path(folder, "archive")
        yield from export_layer(entries, layer)
        with tarfile.open(archive, "w") as tar:
            tar.add(layer, arcname=".")
        archive.replace(output)


def import_(source: Path, root: str) -> Iterator[tuple[str, str]]:
    """Put the entries of a tar file into a cache folder, each once it was verified.

    A ValueError where it is no tar file, or is damaged.
    """
    folder = make_directory(root)
    try:
        with tarfile.open(source) as tar:
            tar.extractall(folder, filter="data")
        for entry in contents(folder, "entry"):
            problem = ""
            try:
                adopt(root, entry.path)
            except ValueError as error:
                problem = str(error)
            yield entry.name[:12], problem
    except tarfile.TarError as error:
        raise ValueError(f"{source} is no archive of entries, or is damaged: {error}") from None
    finally:
        remove(folder)
