"""`RemoteFiles`: bytes by path on a file system of fsspec's, each access with a deadline.

What may wait does so in threads that no process waits for: in an event loop where fsspec's file
system has one (S3, HTTP), whose accesses are cancelled at the deadline, else in a few threads.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ctypes
import io
import os
import stat
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from .atomic import write_atomically
from .daemon_threads import DaemonThreads
from .deadline import Deadline
from .errors import CacheError, ToolchainError
from .remote import without_secrets

__all__ = ["RemoteFiles"]

_T = TypeVar("_T")

_MOST_THREADS = 4
_CHUNK = 1 << 20


class RemoteFiles:
    """The files under one URL. Making it imports fsspec and waits for nothing.

    It does not survive a fork.

    Parameters
    ----------
    url : str
        fsspec's.

    Raises
    ------
    CacheError
        The URL is none.
    ToolchainError
        A package for it is missing.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._threads = DaemonThreads(_MOST_THREADS)
        self._kind = _kind(url)
        self._guard = threading.Lock()
        self._opening: Future[_Files] | None = None

    def get(self, path: str, *, limit: int, deadline: Deadline) -> bytes | None:
        """Return the content of a file, None where there is none.

        Raises
        ------
        TimeoutError
            The deadline passed.
        ValueError
            There are more than `limit` bytes.
        Exception
            Whatever else the file system raises.
        """
        files = self._files(deadline)
        try:
            data = _wait(files.get(path, limit + 1), deadline)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if len(data) > limit:
            raise ValueError(f"{path} has more than {limit} bytes")
        return data

    def put(self, path: str, data: bytes, *, deadline: Deadline) -> None:
        """Write a file, as a whole where the file system can; what is there is replaced.

        Raises
        ------
        TimeoutError
            The deadline passed.
        Exception
            Whatever else the file system raises.
        """
        _wait(self._files(deadline).put(path, data), deadline)

    def _files(self, deadline: Deadline) -> _Files:
        with self._guard:
            opening = self._opening
            if opening is None or (opening.done() and opening.exception()):
                opening = self._opening = self._threads.submit(self._open)
        try:
            return opening.result(deadline.left())
        except concurrent.futures.TimeoutError:
            raise TimeoutError("opening it took too long") from None

    def _open(self) -> _Files:
        from fsspec.asyn import AsyncFileSystem

        # Not by fsspec's `url_to_fs`, to which "::" separates file systems: addresses have it, too.
        options = self._kind._get_kwargs_from_urls(self._url)
        root = self._kind._strip_protocol(self._url)
        if not issubclass(self._kind, AsyncFileSystem):
            fs = self._kind(**options, skip_instance_cache=True)
            is_local = self._kind.__name__ == "LocalFileSystem"
            return (_LocalFiles if is_local else _PlainFiles)(fs, root, self._threads)
        # Without a loop of fsspec's, that is.
        fs = self._kind(**options, skip_instance_cache=True, asynchronous=True)
        kind = _HttpFiles if hasattr(fs, "encode_url") else _LoopFiles
        files = kind(fs, root, self._threads)
        # Never closed, at no process's end: that would wait for the loop, and in a forked child,
        # which has no such thread, it would end the connections of its parent.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(files))
        return files


class _Files(Protocol):
    def get(self, path: str, most: int) -> Future[bytes]: ...

    def put(self, path: str, data: bytes) -> Future[None]: ...


class _PlainFiles:
    """Those of a file system that blocks."""

    def __init__(self, fs: Any, root: str, threads: DaemonThreads) -> None:
        self.fs = fs
        self.root = root
        self.threads = threads

    def get(self, path: str, most: int) -> Future[bytes]:
        return self.threads.submit(self.read, f"{self.root}/{path}", most)

    def put(self, path: str, data: bytes) -> Future[None]:
        return self.threads.submit(self.write, f"{self.root}/{path}", data)

    def read(self, path: str, most: int) -> bytes:
        with self.fs.open(path, "rb") as file:
            data: bytes = file.read(most)
        return data

    def write(self, path: str, data: bytes) -> None:
        self.fs.makedirs(os.path.dirname(path), exist_ok=True)
        self.fs.pipe_file(path, data)


class _LocalFiles(_PlainFiles):
    """Those of a folder, which may be one that machines share: all in it is as open as that."""

    def read(self, path: str, most: int) -> bytes:
        with open(path, "rb") as file:
            return file.read(most)

    def write(self, path: str, data: bytes) -> None:
        os.makedirs(self.root, exist_ok=True)
        mode = stat.S_IMODE(os.stat(self.root).st_mode)
        folder = self.root
        # Whatever the umask: it may be several users' folder, and all in it is signed.
        for name in os.path.relpath(os.path.dirname(path), folder).split("/"):
            folder = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                os.mkdir(folder)
                os.chmod(folder, mode)
        write_atomically(path, data, durable=True, mode=mode & 0o666, is_exact=True)


class _LoopFiles:
    """Those of a file system whose methods are coroutines."""

    def __init__(self, fs: Any, root: str, threads: DaemonThreads) -> None:
        self.fs = fs
        self.root = root
        self.loop = asyncio.new_event_loop()
        # For names that are looked up; asyncio's own would be waited for at the end of the process.
        self.loop.set_default_executor(threads)
        threading.Thread(target=self.loop.run_forever, name="tvmffi_cubin", daemon=True).start()

    def get(self, path: str, most: int) -> Future[bytes]:
        return self.run(self.read(f"{self.root}/{path}", most))

    def put(self, path: str, data: bytes) -> Future[None]:
        return self.run(self.write(f"{self.root}/{path}", data))

    def run(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def read(self, path: str, most: int) -> bytes:
        try:
            file = await self.fs.open_async(path, "rb")
        except NotImplementedError:
            data: bytes = await self.fs._cat_file(path, start=0, end=most)
            return data
        try:
            return await _read(file.read, most)
        finally:
            body = getattr(file, "r", None)
            if body is not None:
                body.close()

    async def write(self, path: str, data: bytes) -> None:
        await self.fs._pipe_file(path, data)


class _HttpFiles(_LoopFiles):
    """Those of a server: one request each, and PUT, where fsspec would ask first, and POST."""

    def __init__(self, fs: Any, root: str, threads: DaemonThreads) -> None:
        # As all else that the machine runs, and s3fs: by the proxy of HTTPS_PROXY, if any.
        fs.client_kwargs = {"trust_env": True, **fs.client_kwargs}
        super().__init__(fs, root, threads)

    async def read(self, path: str, most: int) -> bytes:
        session = await self.fs.set_session()
        # A body that grows when it is decompressed would have no limit.
        options = _with_header(self.fs.kwargs, "Accept-Encoding", "identity")
        async with session.get(self.fs.encode_url(path), **options) as response:
            if response.status in (404, 410):
                raise FileNotFoundError(path)
            response.raise_for_status()
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise ValueError(f"{path} came compressed, which nobody asked for")
            return await _read(response.content.read, most)

    async def write(self, path: str, data: bytes) -> None:
        session = await self.fs.set_session()
        url = self.fs.encode_url(path)
        # Of bytes of a MiB aiohttp warns.
        async with session.put(url, data=io.BytesIO(data), **self.fs.kwargs) as response:
            response.raise_for_status()


def _kind(url: str) -> Any:
    """Return fsspec's class for a URL."""
    place = without_secrets(url)
    try:
        import fsspec
    except ImportError:
        raise ToolchainError(
            f"TVMFFI_CUBIN_CACHE_REMOTE is {place}, and fsspec is not installed; run: "
            "pip install 'tvmffi-cubin[remote]'"
        ) from None
    protocol = url.partition("://")[0] if "://" in url else "file"
    try:
        return fsspec.get_filesystem_class(protocol)
    except ValueError as error:
        raise CacheError(
            f"TVMFFI_CUBIN_CACHE_REMOTE is {place}: {error}; set it to an address of fsspec's, "
            "such as s3://bucket/folder or https://host/folder, or to a folder"
        ) from None
    except ImportError as error:
        raise ToolchainError(f"TVMFFI_CUBIN_CACHE_REMOTE is {place}: {error}") from None


def _wait(future: Future[_T], deadline: Deadline) -> _T:
    try:
        return future.result(deadline.left())
    except concurrent.futures.TimeoutError:
        if future.done():
            raise
        future.cancel()
        raise TimeoutError("no answer in time") from None


async def _read(read: Callable[[int], Coroutine[Any, Any, bytes]], most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := await read(min(most, _CHUNK))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _with_header(options: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    return {**options, "headers": {**options.get("headers", {}), name: value}}
