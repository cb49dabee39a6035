"""The remote cache over S3 and HTTP, on servers that work, that refuse, and that do not mean well.

How long something takes is asserted nowhere: a test that waits for ever fails by that.
"""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cache_builder import BASE, Builder
from remote_servers import folder_server

from tvmffi_cubin.cache import remote as of_remote
from tvmffi_cubin.cache.store import Cache

KEY = "a secret of 16+ bytes"
PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"
OTHER, THIRD = "cd" * 32, "ef" * 32

pytest.importorskip("aiohttp", reason="fsspec needs aiohttp for HTTP")


@pytest.fixture
def remote(monkeypatch, tmp_path):
    """Set the remote: a URL, and how long to wait for it."""
    (tmp_path / "key").write_text(KEY)
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv(f"{PREFIX}_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("no_proxy", "127.0.0.1,::1")

    def set_to(url, budget="60"):
        monkeypatch.setenv(PREFIX, url)
        monkeypatch.setenv(f"{PREFIX}_BUDGET", budget)

    return set_to


@pytest.fixture
def builds(tmp_path):
    """Says whether a machine, as a new process, builds a key; uploads are done then."""

    def call(machine, *base_keys):
        of_remote._sharing.cache_clear()
        runs = []
        for base_key in base_keys or (BASE,):
            builder = Builder()
            Cache(tmp_path / machine).obtain(base_key, builder, is_shared=True)
            runs.append(bool(builder.runs))
            assert (made := of_remote.sharing()) is None or made.finish(60)
        return runs if base_keys else runs[0]

    return call


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.fixture
def server(remote):
    with folder_server() as found:
        remote(found.url)
        yield found


# HTTP


def test_over_http_a_miss_a_hit_and_an_upload_are_two_requests_each(server, builds, monkeypatch):
    from fsspec.config import conf

    monkeypatch.setitem(conf, "http", {"client_kwargs": {"headers": {"Authorization": "Bearer x"}}})
    assert builds("first")
    # Looked up; looked up again as others may have built it; entry, record.
    assert server.requests == {("GET", 404): 2, ("PUT", 201): 2}
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer x"] * 4
    server.requests.clear()
    assert not builds("second")
    assert server.requests == {("GET", 200): 2}
    server.requests.clear()
    assert not builds("second")
    assert not server.requests


# The second build is looked up, and not offered: the server is left alone for a while. One that
# gives nothing is not asked again.
@pytest.mark.parametrize(
    ("method", "status", "text", "asked"),
    [
        ("PUT", 403, f"cannot be written; where that is meant, set {PREFIX}_MODE=read", (3, 1)),
        ("GET", 503, "did not answer as it should", (1, 0)),
    ],
)
def test_a_server_that_refuses_is_told_once(server, builds, caplog, method, status, text, asked):
    server.refusals[method] = status
    with caplog.at_level(logging.DEBUG, "tvmffi_cubin"):
        assert builds("first", BASE, OTHER) == [True, True]
    (told,) = warnings(caplog)
    assert text in told
    assert str(status) in told
    assert (server.count("GET"), server.count("PUT")) == asked


@pytest.mark.parametrize("kind", ["slow", "garbage", "down"])
def test_whatever_a_server_does_the_build_goes_on_without_it(
    server, remote, builds, monkeypatch, caplog, kind
):
    monkeypatch.setenv(f"{PREFIX}_MODE", "read")
    server.body, server.is_slow = b"garbage", kind == "slow"
    remote(server.url, budget="0.3" if kind == "slow" else "10")
    if kind == "down":
        server.close()
    assert builds("first", BASE, OTHER, THIRD) == [True] * 3
    assert len(warnings(caplog)) == 1
    # Once, with what a second try for a connection that broke adds.
    assert len(server.headers) <= 12
    assert (kind == "down") == (server.headers == [])


# Processes

BUILD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from cache_builder import BASE, Builder
from tvmffi_cubin.cache.store import Cache
print(Cache(Path(sys.argv[2])).obtain(BASE, Builder(), is_shared=True).level)
"""


def run_process(tmp_path, name, code=BUILD):
    """Run a process that obtains the key; nothing but the interpreter's end ends it."""
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
    command += [str(Path(__file__).parent), str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout.strip(), done.stderr


def test_a_process_that_ends_at_once_has_uploaded_and_says_nothing(server, tmp_path):
    assert run_process(tmp_path, "first") == (0, "cache", "")
    assert run_process(tmp_path, "second") == (0, "remote", "")


# S3


@pytest.fixture(scope="module")
def s3_server():
    pytest.importorskip("s3fs", reason="fsspec needs s3fs for S3")
    server_of = pytest.importorskip("moto.server", reason="moto is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    with pytest.MonkeyPatch.context() as patch:
        # Those of who runs this.
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, "/dev/null")
        patch.setenv("AWS_ACCESS_KEY_ID", "someone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "something")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture
def bucket(s3_server, remote, monkeypatch):
    from fsspec.config import conf

    name = f"bucket-{os.urandom(4).hex()}"
    import boto3

    boto3.client("s3", endpoint_url=s3_server).create_bucket(Bucket=name)
    monkeypatch.setitem(conf, "s3", {"client_kwargs": {"endpoint_url": s3_server}})
    monkeypatch.setenv("FSSPEC_S3", json.dumps({"client_kwargs": {"endpoint_url": s3_server}}))
    remote(f"s3://{name}/folder")
    return name


def test_over_s3_one_machine_takes_what_another_builds(bucket, remote, builds, s3_server, caplog):
    import boto3

    assert builds("first")
    listed = boto3.client("s3", endpoint_url=s3_server).list_objects_v2(Bucket=bucket)["Contents"]
    assert f"folder/v2/records/{BASE}" in {item["Key"] for item in listed}
    assert not builds("second")
    remote("s3://nowhere-at-all/folder")
    assert builds("first", OTHER, THIRD) == [True, True]
    assert "The specified bucket does not exist" in warnings(caplog)[0]
