"""The remote cache: what the environment names; a folder, HTTP and S3, servers that mean no well.

How long something takes is asserted nowhere: a test that waits for ever fails by that.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up
from folder_server import FolderServer

import tvmffi_cubin as tc
from tvmffi_cubin.cache import remote
from tvmffi_cubin.cache.remote import configured
from tvmffi_cubin.cache.store import Cache

KEY = "0123456789abcdef"
PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"
OTHER, THIRD = "cd" * 32, "ef" * 32


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    """A folder is the remote, and no call waits for it too short."""
    monkeypatch.setenv(PREFIX, f"file://{tmp_path}/remote")
    (tmp_path / "key").write_text(f"{KEY}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(f"{PREFIX}_KEY_FILE", "~/key")
    monkeypatch.setenv(f"{PREFIX}_BUDGET", "60")
    monkeypatch.setenv("no_proxy", "127.0.0.1,::1")
    remote._sharing.cache_clear()
    yield monkeypatch
    with contextlib.suppress(tc.CacheError):  # some tests name no usable one
        finish_uploads()


def finish_uploads():
    if made := remote.sharing():
        made.finish(60)


@pytest.fixture
def builds(tmp_path):
    """Says whether a machine, as a new process, builds keys; uploads are done then."""

    def call(machine, *base_keys, content=b"so", **product):
        remote._sharing.cache_clear()
        runs = []
        for base_key in base_keys or (BASE,):
            builder = Builder(content, **product)
            Cache(tmp_path / machine).obtain(base_key, builder, is_shared=True)
            runs.append(bool(builder.runs))
            finish_uploads()
        return runs if base_keys else runs[0]

    return call


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


# The environment


def test_the_url_the_key_and_the_defaults(settings, tmp_path):
    settings.delenv(f"{PREFIX}_BUDGET")
    wanted = remote.Remote(f"{tmp_path}/remote", KEY.encode(), 1.0, writes=True)
    assert configured() == wanted


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_KEY_FILE", "", "has 0 bytes, expected at least 16.* openssl rand"),
        ("_KEY_FILE", "/nowhere/key", "No such file or directory: .*; create one with"),
        ("_MODE", "write", "_MODE must be 'readwrite' or 'read', got 'write'"),
        ("_BUDGET", "soon", "_BUDGET must be the number of seconds .*, got 'soon'"),
        ("", "nosuch://user:word@host/folder", "is nosuch://host/folder: Protocol not known"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_built(settings, tmp_path, name, value, message):
    settings.setenv(PREFIX + name, value)
    builder = Builder()
    with pytest.raises(tc.CacheError, match=message):
        Cache(tmp_path / "cache").obtain(BASE, builder, is_shared=True)
    assert builder.runs == 0


def test_a_missing_fsspec_is_named_with_what_installs_it(settings, tmp_path):
    settings.setitem(sys.modules, "fsspec", None)
    settings.setenv(PREFIX, "s3://bucket/folder")
    with pytest.raises(tc.CacheError, match=r"pip install 'tvmffi-cubin\[remote\]'"):
        Cache(tmp_path / "cache").obtain(BASE, Builder(), is_shared=True)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:wo/r@d@host:80/a", "https://host:80/a"),
        ("chain::s3://user:word@bucket", "chain::s3://bucket"),
    ],
)
def test_what_people_see_has_no_password(url, shown):
    assert remote.without_secrets(url) == shown


# A folder


@pytest.fixture
def shared(tmp_path) -> Path:
    return tmp_path / "remote"


def objects(shared: Path) -> set[str]:
    return {str(path.relative_to(shared)) for path in shared.rglob("*") if path.is_file()}


def test_what_one_machine_builds_another_takes_whole(builds, shared, tmp_path):
    assert builds("first", facts={"a": 1})
    assert not builds("second")
    made, taken = (look_up(Cache(tmp_path / name)) for name in ("first", "second"))
    assert taken.facts == {"a": 1}
    assert {p.name: p.read_bytes() for p in taken.path.iterdir()} == {
        p.name: p.read_bytes() for p in made.path.iterdir()
    }
    assert objects(shared) == {f"v2/records/{BASE}", f"v2/entries/{made.path.name}"}


def test_what_is_taken_holds_for_the_files_here(builds, tmp_path):
    header = tmp_path / "x.h"
    product = {"dependencies": (str(header),)}
    for machine, text in (("first", "one"), ("second", "two")):
        header.write_text(text)
        assert builds(machine, content=text.encode(), **product)
    for text in ("one", "two"):
        header.write_text(text)
        assert not builds("third", **product)
        assert look_up(Cache(tmp_path / "third")).so.read_bytes() == text.encode()


def test_what_fails_or_changed_meanwhile_is_not_shared(shared, tmp_path):
    header = tmp_path / "x.h"

    def make(directory):
        header.write_text("changed")
        return Builder(dependencies=(str(header),))(directory)

    def fail(directory):
        raise tc.BuildError("no", directory=str(directory))

    cache = Cache(tmp_path / "first")
    cache.obtain(BASE, make, is_shared=True)
    with pytest.raises(tc.BuildError):
        cache.obtain(OTHER, fail, is_shared=True)
    finish_uploads()
    assert not shared.exists()


def test_a_remote_that_is_only_read_gets_nothing(builds, shared, settings):
    settings.setenv(f"{PREFIX}_MODE", "read")
    assert builds("first")
    assert not shared.exists()


@pytest.mark.parametrize("which", ["records", "entries"])
@pytest.mark.parametrize("harm", ["half", "changed", "key"])
def test_what_was_harmed_is_built_again_told_and_mended(
    builds, shared, tmp_path, caplog, harm, which
):
    assert builds("first")
    (path,) = (shared / name for name in objects(shared) if which in name)
    data = path.read_bytes()
    half = len(data) // 2
    if harm == "key":
        (tmp_path / "key").write_text("another secret of 16 bytes")
    else:
        changed = data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
        path.write_bytes({"half": data[:half], "changed": changed}[harm])
    assert builds("second")
    (told,) = warnings(caplog)
    assert f"remote cache {shared} returned data that cannot be verified: it is " in told
    assert not builds("third")


# HTTP


@pytest.fixture
def server(settings):
    pytest.importorskip("aiohttp", reason="fsspec needs aiohttp for HTTP")
    with contextlib.closing(FolderServer()) as found:
        settings.setenv(PREFIX, found.url)
        yield found


def test_over_http_a_miss_a_hit_and_an_upload_are_two_requests_each(server, builds, settings):
    from fsspec.config import conf

    settings.setitem(conf, "http", {"client_kwargs": {"headers": {"Authorization": "Bearer x"}}})
    assert builds("first")
    # Looked up; looked up again as others may have built it; entry, record.
    assert server.requests == {("GET", 404): 2, ("PUT", 201): 2}
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer x"] * 4
    server.requests.clear()
    assert not builds("second")
    assert server.requests == {("GET", 200): 2}


# The second build is looked up, and not offered: the server is left alone for a while. One that
# gives nothing is not asked again.
@pytest.mark.parametrize(
    ("method", "status", "text", "asked"),
    [
        ("PUT", 403, f"cannot be written (if intended, set {PREFIX}_MODE=read)", (3, 1)),
        ("GET", 503, "cannot be read", (1, 0)),
    ],
)
def test_a_server_that_refuses_is_told_once(server, builds, caplog, method, status, text, asked):
    server.refusals[method] = status
    assert builds("first", BASE, OTHER) == [True, True]
    (told,) = warnings(caplog)
    assert text in told
    assert str(status) in told
    assert (server.count("GET"), server.count("PUT")) == asked


@pytest.mark.parametrize("kind", ["slow", "garbage", "down"])
def test_whatever_a_server_does_the_build_goes_on_without_it(
    server, builds, settings, caplog, kind
):
    settings.setenv(f"{PREFIX}_MODE", "read")
    settings.setenv(f"{PREFIX}_BUDGET", "0.3" if kind == "slow" else "10")
    server.body, server.is_slow = b"garbage", kind == "slow"
    if kind == "down":
        server.close()
    assert builds("first", BASE, OTHER, THIRD) == [True] * 3
    assert len(warnings(caplog)) == 1
    # Once, with what a second try for a connection that broke adds.
    assert len(server.headers) <= 12


# Nothing but the interpreter's end ends it.
BUILD = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from cache_builder import BASE, Builder
from tvmffi_cubin.cache.store import Cache
print(Cache(Path(sys.argv[2])).obtain(BASE, Builder(), is_shared=True).level)
"""


@pytest.mark.usefixtures("server")
def test_a_process_that_ends_at_once_has_uploaded_and_says_nothing(tmp_path):
    for name, level in (("first", "cache"), ("second", "remote")):
        command = [sys.executable, "-W", "error::ResourceWarning", "-c", BUILD]
        command += [str(Path(__file__).parent), str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert (done.stdout.strip(), done.stderr) == (level, "")


# S3


@pytest.fixture
def bucket(settings):
    """A bucket's URL at a server here, whoever runs this."""
    pytest.importorskip("s3fs", reason="fsspec needs s3fs for S3")
    server_of = pytest.importorskip("moto.server", reason="moto is not installed")
    import boto3
    from fsspec.config import conf

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        settings.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        settings.setenv(name, "/dev/null")
    settings.setenv("AWS_ACCESS_KEY_ID", "someone")
    settings.setenv("AWS_SECRET_ACCESS_KEY", "something")
    settings.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    options = {"client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
    settings.setitem(conf, "s3", options)
    settings.setenv("FSSPEC_S3", json.dumps(options))
    bucket = boto3.resource("s3", **options["client_kwargs"]).create_bucket(Bucket="bucket")
    yield bucket
    server.stop()


def test_over_s3_one_machine_takes_what_another_builds(bucket, settings, builds, caplog):
    settings.setenv(PREFIX, "s3://bucket/folder")
    assert builds("first")
    assert f"folder/v2/records/{BASE}" in {item.key for item in bucket.objects.all()}
    assert not builds("second")
    settings.setenv(PREFIX, "s3://nowhere-at-all/folder")
    assert builds("first", OTHER, THIRD) == [True, True]
    assert "The specified bucket does not exist" in warnings(caplog)[0]
