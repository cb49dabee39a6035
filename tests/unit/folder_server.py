"""An HTTP server for the tests of the remote cache."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FolderServer:
    """Objects by path over plain HTTP.

    `refusals` are statuses that a method is answered with, `body` is what every GET is answered
    with; an answer that `is_slow` never ends.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: Counter[tuple[str, int]] = Counter()
        self.refusals: dict[str, int] = {}
        self.headers: list[dict[str, str]] = []
        self.body: bytes | None = None
        self.is_slow = False
        self.over = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/cache"

    def count(self, method: str) -> int:
        return sum(count for (name, _), count in self.requests.items() if name == method)

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = server.objects.get(self.path, server.body)
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
                if server.is_slow:
                    server.over.wait()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        return Handler
