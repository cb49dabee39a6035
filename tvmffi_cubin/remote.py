"""`Remote`: the second level of the cache that machines share, as the environment names it."""

from __future__ import annotations

import math
import os
import re
import stat
from dataclasses import dataclass, field

from . import config
from .envelope import LEAST_KEY
from .errors import CacheError
from .folder import OTHERS
from .sealed import read_regular

__all__ = ["Remote", "configured", "problem_text", "secret", "without_secrets"]

_URL = "TVMFFI_CUBIN_CACHE_REMOTE"
_KEY = "TVMFFI_CUBIN_CACHE_REMOTE_KEY"
_KEY_FILE = "TVMFFI_CUBIN_CACHE_REMOTE_KEY_FILE"
_MODE = "TVMFFI_CUBIN_CACHE_REMOTE_MODE"
_BUDGET = "TVMFFI_CUBIN_CACHE_REMOTE_BUDGET"

_MOST_KEY = 4096
_MOST_BUDGET = 3600
_MAKE_KEY = f"make one with: (umask 077; openssl rand -hex 32 > FILE), and set {_KEY_FILE}=FILE"

# A password may have an @ in it, or a slash: then what seems to be a port is none.
_LOGIN = re.compile(r"(?<=//)(?:[^/]*|[^/@]*:(?!\d*/).*)@")

_MOST_TEXT = 300

_MODES = {"readwrite": True, "read": False}


@dataclass(frozen=True)
class Remote:
    """Where entries are shared, and with whom.

    Attributes
    ----------
    url : str
        A URL of fsspec's, such as ``s3://bucket/folder``, or the path of a folder.
    key : bytes
        The secret that what is there is signed with.
    budget : float
        How many seconds one call may wait for it.
    writes : bool
        Whether what is built here is put there.
    """

    url: str
    key: bytes = field(repr=False)
    budget: float = 1.0
    writes: bool = True


def without_secrets(url: str) -> str:
    """Return a URL, for people, without the name and the password that may be in it."""
    return _LOGIN.sub("", url)


def problem_text(url: str, error: Exception) -> str:
    """Return what went wrong with a URL in one line, of what a library or a server says of it."""
    text = str(error) or repr(error)
    for login in _LOGIN.findall(url):
        for secret in (login, login[:-1], login[:-1].partition(":")[2]):
            text = text.replace(secret, "") if secret else text
    text = "".join(x if x.isprintable() else " " for x in text[: 2 * _MOST_TEXT])
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."


def configured() -> Remote | None:
    """Return the remote that the environment names, None where it names none.

    Raises
    ------
    CacheError
        If a variable has an impossible value, or there is no key.
    """
    url = config.get(_URL)
    if url is None:
        return None
    if url.startswith(("http://", "https://")) and ("?" in url or "#" in url):
        raise CacheError(
            f"{_URL} is a URL with a query or a fragment, and objects' names follow it; give it "
            "without; headers can be set in fsspec's configuration"
        )
    if not url.partition("://")[2 if "://" in url else 0].strip("/"):
        raise CacheError(f"{_URL} is {url!r}, which names no place; add a host, bucket or folder")
    mode = config.get(_MODE) or ""
    if mode not in _MODES:
        raise CacheError(f"{_MODE} is {mode!r}; set it to 'readwrite' or 'read'")
    return Remote(url.rstrip("/"), _key(), _budget(), _MODES[mode])


def _key() -> bytes:
    key = secret()
    if key is None:
        raise CacheError(
            f"{_URL} is set and no key: what lies where others can write is only taken when it is "
            f"signed; {_MAKE_KEY} on every machine"
        )
    return key


def secret() -> bytes | None:
    """Return the secret that the environment names, None where it names none.

    Raises
    ------
    CacheError
        It cannot be read, or is none.
    """
    text, path = config.get(_KEY), config.get(_KEY_FILE)
    if text and path:
        raise CacheError(f"{_KEY} and {_KEY_FILE} are both set; unset one of them")
    if path:
        key, named = _read_key(os.path.expanduser(path)), f"the key in {path} ({_KEY_FILE})"
    elif text:
        key, named = text.strip().encode("utf-8", "surrogateescape"), f"the key in {_KEY}"
    else:
        return None
    if not LEAST_KEY <= len(key) <= _MOST_KEY:
        raise CacheError(
            f"{named} has {len(key)} bytes, wanted {LEAST_KEY} to {_MOST_KEY}; {_MAKE_KEY}"
        )
    return key


def _read_key(path: str) -> bytes:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) and mode & OTHERS:
            raise CacheError(
                f"{_KEY_FILE}: others can write {path} (its mode is {stat.S_IMODE(mode):04o}), and "
                f"whose key it is can run code here; chmod go-w {path}, if it is yours"
            )
        return read_regular(path).strip()
    except ValueError as error:
        raise CacheError(f"{_KEY_FILE} is {path!r}: {error}; {_MAKE_KEY}") from None
    except OSError as error:
        raise CacheError(f"{_KEY_FILE}: {error}; {_MAKE_KEY}") from None


def _budget() -> float:
    text = config.get(_BUDGET) or ""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= _MOST_BUDGET:
        raise CacheError(
            f"{_BUDGET} is {text!r}; set it to how many seconds a call may wait, such as 1.0, at "
            f"most {_MOST_BUDGET}"
        )
    return seconds
