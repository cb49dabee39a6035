"""Files: stamps and digests, writing in one step, sealed rows, and answers remembered by stamps."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from .. import config

ABSENT = "-"
"""Stands for the digest and the stamp of a path that does not exist."""

UNSETTLED = "?"
"""Stands for the stamp of a file that is too young for its stamp to mean anything."""

# A file changed again within one tick of its file system's clock keeps its times. The stamp of a
# file this young, in nanoseconds, is not trusted: its content is hashed at the next look-up.
_SETTLED_NS = 2_000_000_000
# How much earlier than it was made a change may be dated, at most.
_TICK_NS = 20_000_000
# The ELF note that holds a build ID (sizes of name and content, type, name), and where it is found:
# among the first or the last bytes.
_BUILD_ID = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"
_NOTES = 4096
_SEAL = b',"seal":"'

Value = Union[None, bool, int, float, str, bytes, "Sequence[Value]", "Mapping[str, Value]"]


def digest_of(value: Value) -> str:
    """Return the digest of a value; a TypeError where it is none that a key may have."""
    return sha256(encoded(value))


def encoded(value: Value) -> bytes:
    """Return a value as bytes, which no other has; raises as `digest_of`."""
    if isinstance(value, str):
        # As it is, since a source may have megabytes; no JSON begins with an s.
        return b"s" + value.encode("utf-8", "surrogatepass")
    return _json(value).encode()


def _plain(value: Value) -> dict[str, Value]:
    """Return what stands in JSON for a value that JSON has not."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        # An image may have several GiB: it is not copied.
        return {"\0": sha256(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot hash a {type(value).__name__}")


# One text for equal values; of two that differ no two.
_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain).encode


def sha256(data: bytes | bytearray | memoryview) -> str:
    """Return a digest: by CPUs' own instructions, which make it twice as fast as BLAKE2."""
    return hashlib.sha256(data).hexdigest()


def stamp(path: str) -> str:
    """Return size, times and inode of the file behind all links, `ABSENT` where there is none.

    Unchanged text, unchanged file.
    """
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return ABSENT
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ino} {info.st_ctime_ns}"


def trusted(stamp: str) -> str:
    """Return a stamp where it can be relied on, else `UNSETTLED`."""
    return stamp if changed_ns(stamp) < time.time_ns() - _SETTLED_NS else UNSETTLED


def changed_ns(stamp: str) -> int:
    """Return when the last change was, in nanoseconds; nobody can set that time."""
    return 0 if stamp == ABSENT else int(stamp.rpartition(" ")[2])


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content; raises OSError."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def build_id(path: str | os.PathLike[str]) -> str:
    """Return the build ID of an ELF file, by short reads; nothing where it has none."""
    with open(path, "rb", buffering=0) as file:
        # The tools that wheels are made with move the notes of most NVRTCs behind all else.
        for start in (0, max(os.fstat(file.fileno()).st_size - _NOTES, 0)):
            file.seek(start)
            _, found, rest = file.read(_NOTES).partition(_BUILD_ID)
            if found:
                return rest[:20].hex()
    return ""


# Writing


def cache_folder() -> str:
    """Return the absolute path of the cache folder, which need not exist."""
    # The same answer as platformdirs.user_cache_path on Linux, without the 3 ms of its import.
    usual = f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/tvmffi_cubin"
    return os.path.abspath(os.path.expanduser(config.get("TVMFFI_CUBIN_CACHE_DIR") or usual))


def make_folder(path: str) -> None:
    """Make a folder for its user alone, with those above it; raises OSError."""
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):  # made meanwhile by another
            os.mkdir(path, 0o700)


def temporary_name() -> str:
    """Return a file name that nobody else uses: the process that made it, and random digits."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


@contextlib.contextmanager
def _in_one_step(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a file to write, which then takes the place of another."""
    temporary = os.path.join(os.path.dirname(path), f".{temporary_name()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def write_atomically(path: str, data: bytes) -> None:
    """Replace a file's content in one step; raises OSError, and the target is as it was then."""
    with _in_one_step(path) as temporary, open(temporary, "xb") as file:
        file.write(data)


def copy_atomically(source: Path, target: Path) -> None:
    """Put a copy of `source` at `target`, in one step: a process may have the old file mapped."""
    import shutil

    with contextlib.suppress(FileNotFoundError):
        # The modification time is carried over: an earlier copy is known by it, and left alone.
        ours, theirs = os.stat(source), os.stat(target, follow_symlinks=False)
        if (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns):
            return
    with _in_one_step(target) as temporary:
        shutil.copy2(source, temporary)


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file, or a folder with all that is in it; what cannot be removed stays."""
    try:
        os.unlink(path)
    except OSError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


# Rows in a JSON file that says whether it is whole


def read_sealed(path: str) -> dict[str, Any]:
    """Return the content of a sealed file; raises OSError, ValueError where it is damaged."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, os.fstat(descriptor).st_size)  # in half the calls of a file's
    finally:
        os.close(descriptor)
    body, mark, rest = data.rpartition(_SEAL)
    if hashlib.sha256(body + mark).hexdigest().encode() + b'"}' != rest:
        raise ValueError(f"{path} is not what was written")
    content: dict[str, Any] = json.loads(data)
    return content


def write_sealed(path: str, content: Mapping[str, Any]) -> None:
    """Replace a file by a JSON object whose last member is a digest of all before it."""
    body = json.dumps(content, separators=(",", ":")).encode()[:-1] + _SEAL
    make_folder(os.path.dirname(path))
    write_atomically(path, body + hashlib.sha256(body).hexdigest().encode() + b'"}')


def read_rows(path: str) -> list[Any]:
    """Return the rows of a file, newest first; none where it is missing or damaged."""
    try:
        return list(read_sealed(path)["rows"])
    except (OSError, ValueError, LookupError):
        return []


def put_row(path: str, row: Sequence[Any], *, most: int) -> None:
    """Put a row into a file, in the place of an older one that begins the same; raises OSError."""
    rows = [row, *(x for x in read_rows(path) if x[0] != row[0])]
    write_sealed(path, {"rows": rows[:most]})


# What files are (a compiler's version, a library's digest): asked once, remembered by their stamps

# By question: the files, their stamps, and the answer.
_answers: dict[str, tuple[list[str], list[str], Any]] = {}


def remember(question: str, ask: Callable[[], tuple[Any, Sequence[str | os.PathLike[str]]]]) -> Any:
    """Return the answer to a question, from memory or disk while the files behind it are unchanged.

    `ask` returns it, as JSON values, and the absolute paths of those files and folders.
    """
    if (kept := _answers.get(question)) and kept[1] == [*map(stamp, kept[0])]:
        return kept[2]
    # That nobody else may write there is seen to by the look-up that follows.
    memo = f"{cache_folder()}/identity/{digest_of(question)}.json"
    mode = config.get("TVMFFI_CUBIN_CACHE")
    for (files, known), answer in read_rows(memo) if mode != "off" else ():
        if known == [*map(stamp, files)]:
            _answers[question] = files, known, answer
            return answer
    began = time.time_ns()
    answer, found = ask()
    files = [os.fspath(path) for path in found]
    known = [*map(stamp, files)]
    age = began - max(map(changed_ns, known), default=0)
    # What changed since is asked about again; what may change and keep its stamp, by others.
    if age > _TICK_NS:
        _answers[question] = files, known, answer
    if age > _SETTLED_NS and mode == "on":
        with contextlib.suppress(OSError):
            put_row(memo, ([files, known], answer), most=4)
    return answer
