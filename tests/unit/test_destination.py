"""Where `output` and `build_directory` put a copy, and what is refused before anything is built."""

import errno
import os
from pathlib import Path

import pytest

from tvmffi_cubin.errors import CacheError
from tvmffi_cubin.inline.place import destination


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


def put(built, output, directory=None):
    place = destination(output, directory)
    place.check()
    return place.put(built)


@pytest.mark.parametrize(
    ("output", "directory", "wanted"),
    [
        ("libk.so", None, "libk.so"),
        (Path("libk.so"), None, "libk.so"),
        ("./libk.so", None, "libk.so"),
        ("sub/libk.so", None, "sub/libk.so"),
        ("libk.so", "made/deep", "made/deep/libk.so"),
        ("sub/libk.so", "made", "made/sub/libk.so"),
        (None, "made", "made/vec.so"),
        ("a b'$\u00e4.so", None, "a b'$\u00e4.so"),
    ],
)
def test_a_copy_goes_where_the_arguments_say(here, built, output, directory, wanted):
    (here / "sub").mkdir()
    made = put(built, output, directory)
    assert made == str(here / wanted)
    assert Path(made).read_bytes() == b"built"
    assert os.listdir(os.path.dirname(made)).count(os.path.basename(made)) == 1
    assert not [name for name in os.listdir(os.path.dirname(made)) if name.endswith(".tmp")]


def test_an_absolute_path_is_taken_as_it_is(here, built, tmp_path):
    assert put(built, tmp_path / "x.so") == str(tmp_path / "x.so")


def test_a_parent_behind_a_symbolic_link_is_the_file_system_s_own(here, built, tmp_path):
    (tmp_path / "far" / "inner").mkdir(parents=True)
    (here / "link").symlink_to(tmp_path / "far" / "inner")
    put(built, "link/../x.so")
    assert (tmp_path / "far" / "x.so").read_bytes() == b"built"


@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        ("none/libk.so", errno.ENOENT, "output's folder is missing; make it first"),
        ("file/libk.so", errno.ENOTDIR, "output's folder is no folder"),
        ("folder", errno.EISDIR, "output is a folder; name a file"),
    ],
)
def test_a_place_that_cannot_take_a_file_is_an_os_error_with_the_path(here, output, code, text):
    (here / "file").write_text("")
    (here / "folder").mkdir()
    with pytest.raises(OSError, match=text) as caught:
        destination(output, None).check()
    assert caught.value.errno == code
    assert caught.value.filename.startswith(str(here / output.split("/")[0]))


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_named(here):
    (here / "sub").mkdir(mode=0o555)
    with pytest.raises(PermissionError, match="cannot be written"):
        destination("sub/libk.so", None).check()


def test_a_place_that_goes_away_meanwhile_is_an_os_error_with_the_target(here, built):
    place = destination("libk.so", None)
    place.check()
    (here / "libk.so").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        place.put(built)
    assert caught.value.filename == str(here / "libk.so")
    assert os.listdir(here) == ["libk.so"]


def test_a_build_directory_that_cannot_be_made_is_a_cache_error_with_the_remedy(here, built):
    (here / "file").write_text("")
    with pytest.raises(CacheError, match="pass a build_directory that can be written"):
        put(built, None, "file/deep")


@pytest.mark.parametrize("output", ["", "sub/", "a\0b.so", ".so", "sub/.hidden.so", "-x.so"])
def test_what_names_no_file_is_refused(here, output):
    with pytest.raises(ValueError, match="output"):
        destination(output, None)


@pytest.mark.parametrize("output", [3, b"libk.so", ["libk.so"]])
def test_an_output_is_a_path(output):
    with pytest.raises(TypeError, match="output is a str or a path"):
        destination(output, None)


def test_two_folders_are_one_too_many(here):
    with pytest.raises(ValueError, match="leave build_directory out"):
        destination(str(here / "x.so"), "out")


def test_a_file_that_is_linked_is_not_overwritten(here):
    (here / "x.o").write_text("")
    with pytest.raises(ValueError, match="is one of the sources"):
        destination("x.o", None).refuse([str(here / "x.o")])
