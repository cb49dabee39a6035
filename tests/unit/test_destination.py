"""Where `output` and `build_directory` put a copy, and what is refused before anything is built."""

import errno
import os
from pathlib import Path

import pytest

from tvmffi_cubin.errors import CacheError
from tvmffi_cubin.inline.place import find_place


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def built(tmp_path):
    path = tmp_path / "entry" / "vec.so"
    path.parent.mkdir()
    path.write_bytes(b"built")
    return path


@pytest.mark.parametrize(
    ("output", "directory", "wanted"),
    [
        ("libk.so", None, "libk.so"),
        (Path("sub/libk.so"), None, "sub/libk.so"),
        ("libk.so", "made/deep", "made/deep/libk.so"),
        ("sub/libk.so", "made", "made/sub/libk.so"),
        (None, "made", "made/vec.so"),
        ("a b'$\u00e4.so", None, "a b'$\u00e4.so"),
    ],
)
def test_a_copy_goes_where_the_arguments_say(here, built, output, directory, wanted):
    (here / "sub").mkdir()
    made = find_place(output, directory).put(built)
    assert made == str(here / wanted)
    assert Path(made).read_bytes() == b"built"
    assert not [name for name in os.listdir(os.path.dirname(made)) if name.endswith(".tmp")]


def test_without_either_there_is_no_copy():
    assert find_place(None, None) is None


@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        ("none/libk.so", errno.ENOENT, "output's folder is missing; make it first"),
        ("folder", errno.EISDIR, "output is a folder; name a file"),
    ],
)
def test_a_place_that_cannot_take_a_file_is_an_os_error_with_the_path(here, output, code, text):
    (here / "folder").mkdir()
    with pytest.raises(OSError, match=text) as caught:
        find_place(output, None)
    assert caught.value.errno == code
    assert caught.value.filename.startswith(str(here / output.split("/")[0]))


def test_a_place_that_goes_away_meanwhile_is_an_os_error_with_the_target(here, built):
    place = find_place("libk.so", None)
    (here / "libk.so").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        place.put(built)
    assert caught.value.filename == str(here / "libk.so")
    assert os.listdir(here) == ["libk.so"]


def test_a_build_directory_that_cannot_be_made_is_a_cache_error_with_the_remedy(here, built):
    (here / "file").write_text("")
    with pytest.raises(CacheError, match="pass a build_directory that can be written"):
        find_place(None, "file/deep").put(built)


@pytest.mark.parametrize("output", ["", "sub/", "a\0b.so", ".so", "sub/.hidden.so", "-x.so"])
def test_what_names_no_file_is_refused(here, output):
    with pytest.raises(ValueError, match="output"):
        find_place(output, None)


def test_arguments_are_paths(here):
    with pytest.raises(TypeError, match="output is a str or a path, got int"):
        find_place(3, None)
    with pytest.raises(TypeError, match="build_directory is a str or a path, got int"):
        find_place(None, 3)
    with pytest.raises(ValueError, match="build_directory holds ''"):
        find_place(None, "")
    with pytest.raises(ValueError, match="leave build_directory out"):
        find_place(str(here / "x.so"), "out")


def test_a_file_that_is_linked_is_not_overwritten(here):
    (here / "x.o").write_text("")
    with pytest.raises(ValueError, match="is one of the sources"):
        find_place("x.o", None).refuse([str(here / "x.o")])
