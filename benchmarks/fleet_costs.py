"""What the steps of a fleet's start cost on this machine: measured, for benchmarks/fleet.py."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROUNDS = 9

SOURCE = """
extern "C" __global__ void saxpy%d(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""


@dataclasses.dataclass(frozen=True)
class Costs:
    """Seconds of one process that has a core to itself, and bytes.

    Attributes
    ----------
    build : float
        From a miss to the published entry: NVRTC, launcher, linking.
    hit : float
        `build_inline` of what the cache folder has.
    take : float
        From a bundle's bytes to the published entry: tag, zstd, digests, fsync, rename.
    pack : float
        From an entry to a bundle's bytes.
    request : float
        One request's own work in the client, on a server without latency.
    entry_bytes, record_bytes : int
        The objects' sizes.
    """

    build: float
    hit: float
    take: float
    pack: float
    request: float
    entry_bytes: int
    record_bytes: int


def measure() -> Costs:
    """Measure a small kernel's module; each round has a source that no cache has seen."""
    with tempfile.TemporaryDirectory(prefix="tvmffi-cubin-fleet-") as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = f"{folder}/cache"
        return _measure(folder)


def _measure(folder: str) -> Costs:
    import tvmffi_cubin as tc
    from tvmffi_cubin import bundle
    from tvmffi_cubin.cache import Cache
    from tvmffi_cubin.dependency_set import read_sets

    key = os.urandom(32)
    salt = int(time.time())

    def build(number: int) -> str:
        name = f"saxpy{salt + number}"
        launch = tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"})
        source = SOURCE % (salt + number)
        return tc.build_inline(name, source, functions={name: launch}, arch="sm_90")

    build(0)  # imports, and the launcher's own object
    builds = [timed(build, number) for number in range(1, ROUNDS + 1)]
    hits = [timed(build, number) for number in range(1, ROUNDS + 1)]
    entry = Path(build(1)).parent
    base_key = json.loads((entry / "manifest.json").read_text())["base_key"]
    (made,) = read_sets(f"{folder}/cache/deps/{base_key}.json")
    about = bundle.Bundle(base_key, made)
    packs = [timed(lambda: bundle.pack(str(entry), about, key=key)) for _ in range(ROUNDS)]
    data = bundle.pack(str(entry), about, key=key)
    record = bundle.pack_sets([made], base_key=base_key, key=key)

    def take(number: int) -> None:
        cache = Cache(Path(folder, f"other{number}"))
        with cache.private_directory() as place:
            bundle.unpack(data, str(place), name=made.entry, key=key)
            cache.adopt(base_key, made, place)

    takes = [timed(take, number) for number in range(ROUNDS)]
    middle = statistics.median
    request = measure_request(record)
    sizes = len(data), len(record)
    return Costs(middle(builds), middle(hits), middle(takes), middle(packs), request, *sizes)


def timed(call: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def measure_request(body: bytes) -> float:
    """Return the seconds of one GET on this machine, over a connection that is open already."""
    from tvmffi_cubin.deadline import Deadline
    from tvmffi_cubin.remote_files import RemoteFiles

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in two packets would wait for the first one's acknowledgement

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    files = RemoteFiles(f"http://127.0.0.1:{server.server_address[1]}")

    def ask() -> None:
        files.get("record", limit=1 << 20, deadline=Deadline(10.0))

    ask()
    found = statistics.median(timed(ask) for _ in range(10 * ROUNDS))
    server.shutdown()
    return found
