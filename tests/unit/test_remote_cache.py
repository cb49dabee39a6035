"""The remote cache in a folder that machines share."""

import os

import pytest
from cache_builder import BASE, Builder
from remote_kit import KEY, Machine, finish_uploads, new_process, warnings

from tvmffi_cubin.errors import BuildError

PREFIX = "TVMFFI_CUBIN_CACHE_REMOTE"
OTHER = "cd" * 32


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """The remote: a folder."""
    monkeypatch.setenv(PREFIX, str(tmp_path / "remote"))
    monkeypatch.setenv(f"{PREFIX}_KEY", KEY)
    monkeypatch.setenv(f"{PREFIX}_BUDGET", "60")
    return tmp_path / "remote"


@pytest.fixture
def machines(tmp_path, remote):
    def machine(name):
        new_process()
        return Machine(tmp_path / name)

    yield machine
    finish_uploads()


def objects(remote, kind):
    return sorted(path for path in remote.rglob("*") if path.is_file() and kind in path.parts)


def test_what_one_machine_builds_another_takes_whole(machines, remote):
    first = machines("first")
    assert first.builds(facts={"a": 1})
    made = first.cache.find(BASE)
    second = machines("second")
    assert not second.builds()
    taken = second.cache.find(BASE)
    assert taken.facts == {"a": 1}
    assert {p.name: p.read_bytes() for p in taken.path.iterdir()} == {
        p.name: p.read_bytes() for p in made.path.iterdir()
    }
    assert {str(path.relative_to(remote)) for path in remote.rglob("*") if path.is_file()} == {
        f"v2/records/{BASE}",
        f"v2/entries/{made.key[:2]}/{made.key}",
    }


def test_what_is_taken_holds_for_the_files_here(machines, tmp_path):
    header = tmp_path / "x.h"
    header.write_text("one")
    product = {"dependencies": (str(header),)}
    assert machines("first").builds(b"one", **product)
    header.write_text("two")
    assert machines("second").builds(b"two", **product)
    third = machines("third")
    for text in ("one", "two"):
        header.write_text(text)
        assert not third.builds(**product)
        assert third.cache.find(BASE).so.read_bytes() == text.encode()


def test_what_fails_or_changed_meanwhile_is_not_shared(machines, remote, tmp_path):
    header = tmp_path / "x.h"

    def make(directory):
        header.write_text("changed")
        return Builder(dependencies=(str(header),))(directory)

    machine = machines("first")
    machine.obtain(make)

    def fail(directory):
        raise BuildError("no", directory=str(directory))

    with pytest.raises(BuildError):
        machine.obtain(fail, OTHER)
    finish_uploads()
    assert not remote.exists()


def test_a_remote_that_is_only_read_gets_nothing(machines, remote, monkeypatch):
    monkeypatch.setenv(f"{PREFIX}_MODE", "read")
    assert machines("first").builds()
    assert not remote.exists()


@pytest.mark.parametrize("which", ["records", "entries"])
@pytest.mark.parametrize("harm", ["empty", "half", "changed", "unsigned"])
def test_what_was_harmed_is_built_again_told_and_mended(machines, remote, caplog, harm, which):
    assert machines("first").builds()
    (path,) = objects(remote, which)
    data = path.read_bytes()
    half = len(data) // 2
    changed = data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
    harms = {"empty": b"", "half": data[:half], "changed": changed, "unsigned": b"\x7fELF"}
    path.write_bytes(harms[harm])
    assert machines("second").builds()
    (told,) = warnings(caplog)
    assert f"remote cache {remote} holds what cannot be verified: it is " in told
    assert not machines("third").builds()


def test_what_was_signed_with_another_key_is_not_taken(machines, monkeypatch, caplog):
    assert machines("first").builds()
    monkeypatch.setenv(f"{PREFIX}_KEY", "another secret of 16 bytes")
    assert machines("second").builds()
    assert "signed with another key" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can be somebody else")
def test_a_folder_that_cannot_be_written_is_told_once(machines, remote, caplog):
    remote.write_text("no folder")
    machine = machines("first")
    assert machine.builds()
    assert machine.builds(b"two", OTHER)
    (told,) = warnings(caplog)
    assert f"remote cache {remote} cannot be written; where that is meant" in told
