"""The remote cache: what the environment may name, and a folder that machines share."""

import logging
import sys
from pathlib import Path

import pytest
from cache_builder import BASE, Builder, look_up

import tvmffi_cubin as tc
from tvmffi_cubin.cache import remote
from tvmffi_cubin.cache.remote import configured
from tvmffi_cubin.cache.store import Cache

KEY = "0123456789abcdef"
PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"
OTHER = "cd" * 32


@pytest.fixture
def settings(monkeypatch, tmp_path):
    monkeypatch.setenv(PREFIX, f"file://{tmp_path}/remote")
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(f"{PREFIX}_KEY_FILE", "~/key")
    remote._sharing.cache_clear()
    return monkeypatch


# The environment


def test_the_url_the_key_and_the_defaults(settings, tmp_path):
    wanted = remote.Remote(f"{tmp_path}/remote", KEY.encode(), 1.0, writes=True)
    assert configured() == wanted
    (tmp_path / "key").chmod(0o620)
    with pytest.raises(tc.CacheError, match="others can write .*chmod go-w"):
        configured()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_KEY_FILE", "", "has 0 bytes, wanted 16.* openssl rand"),
        ("_KEY_FILE", "/nowhere/key", "No such file or directory: .*; make one with"),
        ("_MODE", "write", "_MODE is 'write'; set it to 'readwrite' or 'read'"),
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
        ("https://user:word@host:80/a", "https://host:80/a"),
        ("https://host:80/a@b", "https://host:80/a@b"),
        ("chain::s3://user:word@bucket", "chain::s3://bucket"),
    ],
)
def test_what_people_see_has_no_password(url, shown):
    assert remote.without_secrets(url) == shown


# A folder


@pytest.fixture
def shared(settings, tmp_path) -> Path:
    """The remote: a folder."""
    settings.setenv(f"{PREFIX}_BUDGET", "60")
    yield tmp_path / "remote"
    finish_uploads()


def finish_uploads():
    assert (made := remote.sharing()) is None or made.finish(60)


@pytest.fixture
def builds(shared, tmp_path):
    """Says whether a machine, as a new process, builds a key; uploads are done then."""

    def call(machine, content=b"so", base_key=BASE, **product):
        remote._sharing.cache_clear()
        builder = Builder(content, **product)
        entry = Cache(tmp_path / machine).obtain(base_key, builder, is_shared=True)
        finish_uploads()
        assert (entry.level == "remote") == (not builder.runs)
        return bool(builder.runs)

    return call


def objects(shared: Path) -> set[str]:
    return {str(path.relative_to(shared)) for path in shared.rglob("*") if path.is_file()}


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


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
        assert builds(machine, text.encode(), **product)
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
    assert f"remote cache {shared} holds what cannot be verified: it is " in told
    assert not builds("third")
