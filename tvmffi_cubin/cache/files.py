"""Files: stamps and digests, atomic writes, sealed rows, and answers cached by file stamps."""

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
"""The digest and the stamp of a path that does not exist."""

UNSETTLED = "?"
"""The stamp of a file that changed too recently for its stamp to be reliable."""

# A file that changes twice within one tick of its file system's clock keeps its timestamps. Until a
# file is this old (ns), its stamp is not trusted: the next lookup hashes its content.
_SETTLED_NS = 2_000_000_000
# How far a timestamp can lag behind the change it records, at most (ns).
_TICK_NS = 20_000_000
# The header of the ELF note that holds a build ID (sizes of name and content, type, name), and how
# many bytes to search for it at either end of the file.
_BUILD_ID = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"
_NOTES = 4096
_SEAL = b',"seal":"'

Value = Union[None, bool, int, float, str, bytes, "Sequence[Value]", "Mapping[str, Value]"]


def digest_of(value: Value) -> str:
    """Return the digest of a value; raises TypeError if a key cannot hold it."""
    return sha256(encoded(value))


def encoded(value: Value) -> bytes:
    """Return a value's unique encoding as bytes; raises as `digest_of` does."""
    if isinstance(value, str):
        # Verbatim, since a source may be megabytes long; no JSON text begins with an s.
        return b"s" + value.encode("utf-8", "surrogatepass")
    return _json(value).encode()


def _plain(value: Value) -> dict[str, Value]:
    """Return the JSON stand-in for a value that JSON cannot represent."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        # Not copied: an image may have several GiB.
        return {"\0": sha256(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot hash a {type(value).__name__}")


# Equal values have the same text; different values have different texts.
_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain).encode


def sha256(data: bytes | bytearray | memoryview) -> str:
    """Return the SHA-256 digest; the CPU's own instructions make it twice as fast as BLAKE2."""
    return hashlib.sha256(data).hexdigest()


def stamp(path: str) -> str:
    """Return a file's size, times and inode, links followed; `ABSENT` if it does not exist.

    If the stamp is unchanged, so is the file.
    """
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return ABSENT
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ino} {info.st_ctime_ns}"


def trusted(stamp: str) -> str:
    """Return a stamp if it is reliable, else `UNSETTLED`."""
    return stamp if changed_ns(stamp) < time.time_ns() - _SETTLED_NS else UNSETTLED


def changed_ns(stamp: str) -> int:
    """Return the time of the last change in nanoseconds; nobody can set that time."""
    return 0 if stamp == ABSENT else int(stamp.rpartition(" ")[2])


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content; raises OSError."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def build_id(path: str | os.PathLike[str]) -> str:
    """Return the build ID of an ELF file with short reads; an empty string if it has none."""
    with open(path, "rb", buffering=0) as file:
        # Wheel-building tools move the notes of most NVRTC libraries to the end of the file.
        for start in (0, max(os.fstat(file.fileno()).st_size - _NOTES, 0)):
            file.seek(start)
            _, found, rest = file.read(_NOTES).partition(_BUILD_ID)
            if found:
                return rest[:20].hex()
    return ""


# Writing


def cache_folder() -> str:
    """Return the absolute path of the cache folder, which need not exist."""
    # Same result as platformdirs.user_cache_path on Linux, without its 3 ms import.
    usual = f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/tvmffi_cubin"
    return os.path.abspath(os.path.expanduser(config.get("TVMFFI_CUBIN_CACHE_DIR") or usual))


def make_folder(path: str) -> None:
    """Create a folder and its parents, accessible to their user alone; raises OSError."""
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(path, 0o700)


def temporary_name() -> str:
    """Return a unique file name: the process ID and random digits."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


@contextlib.contextmanager
def _in_one_step(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the name of a temporary file to write, which then replaces `path`."""
    temporary = os.path.join(os.path.dirname(path), f".{temporary_name()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def write_atomically(path: str, data: bytes) -> None:
    """Replace a file's content atomically; raises OSError and leaves the target unchanged then."""
    with _in_one_step(path) as temporary, open(temporary, "xb") as file:
        file.write(data)


def copy_atomically(source: Path, target: Path) -> None:
    """Copy `source` to `target` atomically: a process may have the old file mapped."""
    import shutil

    with contextlib.suppress(FileNotFoundError):
        # Copies keep the modification time: it identifies an earlier copy, which is left alone.
        ours, theirs = os.stat(source), os.stat(target, follow_symlinks=False)
        if (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns):
            return
    with _in_one_step(target) as temporary:
        shutil.copy2(source, temporary)


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file, or a folder and its contents; whatever cannot be removed stays."""
    try:
        os.unlink(path)
    except OSError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


# Rows in a JSON file that can tell whether it is intact


def read_sealed(path: str) -> dict[str, Any]:
    """Return the content of a sealed file; raises OSError, or ValueError if it is damaged."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, os.fstat(descriptor).st_size)  # half the system calls of open()
    finally:
        os.close(descriptor)
    body, mark, rest = data.rpartition(_SEAL)
    if hashlib.sha256(body + mark).hexdigest().encode() + b'"}' != rest:
        raise ValueError(f"{path} does not match its checksum")
    content: dict[str, Any] = json.loads(data)
    return content


def write_sealed(path: str, content: Mapping[str, Any]) -> None:
    """Replace a file with a JSON object whose last member is a digest of all that precedes it."""
    body = json.dumps(content, separators=(",", ":")).encode()[:-1] + _SEAL
    make_folder(os.path.dirname(path))
    write_atomically(path, body + hashlib.sha256(body).hexdigest().encode() + b'"}')


def read_rows(path: str) -> list[Any]:
    """Return the rows of a file, newest first; none if it is missing or damaged."""
    try:
        return list(read_sealed(path)["rows"])
    except (OSError, ValueError, LookupError):
        return []


def put_row(path: str, row: Sequence[Any], *, most: int) -> None:
    """Add a row to a file, replacing an older one with the same first item; raises OSError."""
    rows = [row, *(x for x in read_rows(path) if x[0] != row[0])]
    write_sealed(path, {"rows": rows[:most]})


# Facts about files (a compiler's version, a library's digest): determined once, cached by stamps

# By question: the files, their stamps, and the answer.
_answers: dict[str, tuple[list[str], list[str], Any]] = {}


def remember(question: str, ask: Callable[[], tuple[Any, Sequence[str | os.PathLike[str]]]]) -> Any:
    """Return the answer to a question, from memory or disk while the files behind it are unchanged.

    `ask` returns the answer, as JSON values, and the absolute paths of those files and folders.
    """
    if (kept := _answers.get(question)) and kept[1] == [*map(stamp, kept[0])]:
        return kept[2]
    # The lookup that follows checks that nobody else can write there.
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
    # Ask again about files that just changed; if only a stamp is unsettled, other processes ask.
    if age > _TICK_NS:
        _answers[question] = files, known, answer
    if age > _SETTLED_NS and mode == "on":
        with contextlib.suppress(OSError):
            put_row(memo, ([files, known], answer), most=4)
    return answer
