"""Servers for the tests of the remote cache: one that works, and some that do not mean well."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FolderServer:
    """Objects by path over plain HTTP; `refusals` are statuses that a method is answered with."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: Counter[tuple[str, int]] = Counter()
        self.refusals: dict[str, int] = {}
        self.headers: list[dict[str, str]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/cache"

    def count(self, method: str) -> int:
        return sum(count for (name, _), count in self.requests.items() if name == method)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = server.objects.get(self.path)
                self.answer(server.refusals.get("GET", 404 if body is None else 200), body or b"")

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = server.refusals.get("PUT", 201)
                if status == 201:
                    server.objects[self.path] = body
                self.answer(status, b"")

            def answer(self, status: int, body: bytes) -> None:
                server.requests[self.command, status] += 1
                server.headers.append(dict(self.headers))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        return Handler


@contextlib.contextmanager
def folder_server() -> Iterator[FolderServer]:
    server = FolderServer()
    try:
        yield server
    finally:
        server.close()


class SocketServer:
    """Accepts connections and does with each what it is told; counts them."""

    def __init__(self, behave: Callable[[socket.socket], None]) -> None:
        self.behave = behave
        self.connections = 0
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.server = threading.Thread(target=self._serve, daemon=True)
        self.server.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/cache"

    def close(self) -> None:
        self.over.set()
        # Before it is closed: the next server's socket may get its number, and its connections.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.server.join()
        self.listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.behave(connection)


@contextlib.contextmanager
def socket_server(behave: Callable[[socket.socket], None]) -> Iterator[SocketServer]:
    server = SocketServer(behave)
    try:
        yield server
    finally:
        server.close()
