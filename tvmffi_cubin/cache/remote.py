"""The remote that the environment names: where it is, its key, and its files by path."""

from __future__ import annotations

import functools
import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple

from .. import config
from ..errors import CacheError, ToolchainError
from .files import write_atomically

_URL = "TVMFFI_CUBIN_CACHE_REMOTE"
_KEY, _KEY_FILE = f"{_URL}_KEY", f"{_URL}_KEY_FILE"
_MODE, _BUDGET = f"{_URL}_MODE", f"{_URL}_BUDGET"
_MAKE_KEY = f"make one with: (umask 077; openssl rand -hex 32 > FILE), and set {_KEY_FILE}=FILE"
# How many bytes a key has at least.
_LEAST_KEY = 16


class Remote(NamedTuple):
    """Where entries are shared, and with whom.

    `url` is one of fsspec's, or the path of a folder; `key` the secret that what is there is signed
    with; `budget` how many seconds one call may wait; `writes` whether what is built is put there.
    """

    url: str
    key: bytes
    budget: float
    writes: bool


def configured() -> Remote | None:
    """Return the remote that the environment names, if any; a CacheError where it is impossible."""
    url = config.get(_URL)
    if url is None:
        return None
    mode, budget = config.get(_MODE) or "readwrite", config.get(_BUDGET) or "1.0"
    if mode not in ("readwrite", "read"):
        raise CacheError(f"{_MODE} is {mode!r}; set it to 'readwrite' or 'read'")
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", budget) or not float(budget):
        raise CacheError(
            f"{_BUDGET} is {budget!r}; set it to how many seconds a call may wait, such as 1.0"
        )
    text, path = config.get(_KEY), config.get(_KEY_FILE)
    if not text and not path:
        raise CacheError(
            f"{_URL} is set and no key: what lies where others can write is only taken when it is "
            f"signed; {_MAKE_KEY} on every machine"
        )
    key = (text or "").encode("utf-8", "surrogateescape").strip()
    if path:
        file = Path(path).expanduser()
        try:
            key = file.read_bytes().strip()
            if file.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise CacheError(f"{_KEY_FILE}: others can write {file}; run: chmod go-w {file}")
        except OSError as error:
            raise CacheError(f"{_KEY_FILE} is {path!r}: {error}; {_MAKE_KEY}") from None
    if len(key) < _LEAST_KEY:
        raise CacheError(f"the remote's key has {len(key)} bytes, wanted {_LEAST_KEY}; {_MAKE_KEY}")
    return Remote(url.removeprefix("file://").rstrip("/"), key, float(budget), mode == "readwrite")


def without_secrets(url: str) -> str:
    """Return a URL, for people, without the name and the password that may be in it."""
    # A password may have an @ in it, or a slash: then what seems to be a port is none.
    return re.sub(r"(?<=//)(?:[^/]*|[^/@]*:(?!\d*/).*)@", "", url)


def check_package(url: str) -> None:
    """Raise ToolchainError where a package for a URL is missing, CacheError where it is none."""
    if "://" not in url:
        return
    place = without_secrets(url)
    try:
        import fsspec

        fsspec.get_filesystem_class(url.partition("://")[0])
    except ImportError as error:
        raise ToolchainError(
            f"{_URL} is {place}: {error}; run: pip install 'tvmffi-cubin[remote]'"
        ) from None
    except ValueError as error:
        raise CacheError(
            f"{_URL} is {place}: {error}; set it to an address of fsspec's, such as "
            "s3://bucket/folder or https://host/folder, or to a folder"
        ) from None


class Storage:
    """The files under one URL; each access blocks."""

    def __init__(self, url: str) -> None:
        self._url = url

    @functools.cached_property
    def _fs(self) -> tuple[Any, str]:
        import fsspec

        kind = fsspec.get_filesystem_class(self._url.partition("://")[0])
        # Not by `url_to_fs`, to which "::" separates file systems: addresses have it, too.
        options = kind._get_kwargs_from_urls(self._url)
        return kind(**options, skip_instance_cache=True), kind._strip_protocol(self._url)

    def get(self, path: str) -> bytes | None:
        """Return the content of a file, None where there is none."""
        try:
            if "://" not in self._url:
                return Path(self._url, path).read_bytes()
            fs, root = self._fs
            data: bytes = fs.cat_file(f"{root}/{path}")
            return data
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole; what is there is replaced."""
        if "://" in self._url:
            fs, root = self._fs
            fs.pipe_file(f"{root}/{path}", data)
        else:
            os.makedirs(os.path.dirname(f"{self._url}/{path}"), exist_ok=True)
            write_atomically(f"{self._url}/{path}", data)
