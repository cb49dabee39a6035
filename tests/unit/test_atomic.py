"""Files appear whole: copies for people, and small files that are replaced."""

import os

import pytest

from tvmffi_cubin.cache.files import copy_atomically, write_atomically


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "entry" / "vec.so"
    path.parent.mkdir()
    path.write_bytes(b"new")
    path.chmod(0o755)
    return path


def test_a_copy_replaces_what_is_there_and_is_made_once(source, tmp_path):
    target = tmp_path / "vec.so"
    target.write_bytes(b"old")
    with open(target, "rb") as mapped:
        copy_atomically(source, target)
        assert mapped.read() == b"old"
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"new", 0o755)
    before = target.stat().st_ino
    copy_atomically(source, target)
    assert target.stat().st_ino == before
    target.unlink()
    target.symlink_to(source)
    copy_atomically(source, target)
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("place", ["file/vec.so", "folder", "none/vec.so"])
def test_a_copy_that_cannot_be_made_leaves_nothing_behind(source, tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(OSError):
        copy_atomically(source, tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == ["entry", "file", "folder"]


def test_a_write_that_fails_leaves_the_old_content_and_no_other_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomically(str(path), b"old")

    def fail(*args):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        write_atomically(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.json"]
