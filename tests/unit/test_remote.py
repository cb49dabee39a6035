"""The remote as the environment names it; what is impossible is said, with the remedy."""

import sys

import pytest
from cache_builder import BASE, Builder

import tvmffi_cubin as tc
from tvmffi_cubin.cache import remote
from tvmffi_cubin.cache.remote import configured
from tvmffi_cubin.cache.store import Cache

KEY = "0123456789abcdef"
PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"


@pytest.fixture
def settings(monkeypatch, tmp_path):
    monkeypatch.setenv(PREFIX, f"file://{tmp_path}/remote")
    monkeypatch.setenv(f"{PREFIX}_KEY", KEY)
    return monkeypatch


def test_the_url_the_key_and_the_defaults(settings, tmp_path):
    found = configured()
    assert found == remote.Remote(f"{tmp_path}/remote", KEY.encode(), 1.0, writes=True)


def test_a_key_file_is_read_without_the_end_of_its_line(settings, tmp_path):
    settings.delenv(f"{PREFIX}_KEY")
    (tmp_path / "key").write_bytes(b"\xff" * 20 + b"\n")
    settings.setenv("HOME", str(tmp_path))
    settings.setenv(f"{PREFIX}_KEY_FILE", "~/key")
    assert configured().key == b"\xff" * 20


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_KEY", "", "no key: .* openssl rand"),
        ("_KEY", KEY[1:], "has 15 bytes, wanted 16; make one with"),
        ("_MODE", "write", "_MODE is 'write'; set it to 'readwrite' or 'read'"),
        ("_BUDGET", "soon", "_BUDGET is 'soon'; set it to how many seconds"),
        ("_BUDGET", "0", "_BUDGET is '0'"),
        ("_BUDGET", "nan", "_BUDGET is 'nan'"),
        ("_BUDGET", "inf", "_BUDGET is 'inf'"),
        (
            "",
            "nosuch://user:word@host/folder",
            "is nosuch://host/folder: Protocol not known.*; set it",
        ),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_built(settings, tmp_path, name, value, message):
    settings.setenv(PREFIX + name, value)
    builder = Builder()
    with pytest.raises(tc.CacheError, match=message):
        Cache(tmp_path / "cache").obtain(BASE, builder, is_shared=True)
    assert builder.runs == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory: .*; make one with"),
        (b"short\n" + b" " * 50, "key has 5 bytes"),
        ("folder", "Is a directory"),
    ],
)
def test_a_key_file_that_is_none_is_named(settings, tmp_path, content, message):
    settings.delenv(f"{PREFIX}_KEY")
    if content == "folder":
        (tmp_path / "key").mkdir()
    elif content is not None:
        (tmp_path / "key").write_bytes(content)
    settings.setenv(f"{PREFIX}_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(tc.CacheError, match=message):
        configured()


def test_a_key_that_others_can_write_is_refused(settings, tmp_path):
    settings.delenv(f"{PREFIX}_KEY")
    (tmp_path / "key").write_text(KEY)
    (tmp_path / "key").chmod(0o620)
    settings.setenv(f"{PREFIX}_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(tc.CacheError, match="others can write .*chmod go-w"):
        configured()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:word@host:80/a", "https://host:80/a"),
        ("https://user:w@rd@host/a", "https://host/a"),
        ("https://user:wo/rd@host/a", "https://host/a"),
        ("https://host:80/a@b", "https://host:80/a@b"),
        ("chain::s3://user:word@bucket", "chain::s3://bucket"),
    ],
)
def test_what_people_see_has_no_password(url, shown):
    assert remote.without_secrets(url) == shown


def test_a_missing_fsspec_is_named_with_what_installs_it(settings, tmp_path):
    settings.setitem(sys.modules, "fsspec", None)
    settings.setenv(PREFIX, "s3://bucket/folder")
    with pytest.raises(tc.ToolchainError, match=r"pip install 'tvmffi-cubin\[remote\]'"):
        Cache(tmp_path / "cache").obtain(BASE, Builder(), is_shared=True)
