"""Files by suffix, read once: paths, kinds, and what of them is in a key."""

import os
from pathlib import Path

import pytest

from tvmffi_cubin.cache.key import Key
from tvmffi_cubin.inline.files import read_files
from tvmffi_cubin.inline.request import make_request


def key(**files):
    made = Key("test")
    make_request("m", files=read_files(**files)).add_to(made)
    return made.hexdigest()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names, content="x"):
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_a_suffix_says_what_a_file_is(here):
    names = ["a.cu", "b.cpp", "c.cc", "d.cxx", "e.c", "f.o", "g.obj", "h.a", "i.so"]
    touch(*names, "j.cubin", "k.fatbin", "l.ptx")
    files = read_files(sources=[*names, "j.cubin", "k.fatbin", "l.ptx"])
    assert [Path(x.path).name for x in files.cuda] == ["a.cu"]
    assert [Path(x.path).name for x in files.cxx] == ["b.cpp", "c.cc", "d.cxx"]
    assert [Path(x.path).name for x in files.c] == ["e.c"]
    assert [Path(x.path).name for x in files.binaries] == ["f.o", "g.obj", "h.a", "i.so"]
    assert [x.is_shared for x in files.binaries] == [False, False, False, True]
    assert [*files.images] == ["j", "k", "l"]


def test_paths_are_absolute_and_links_are_kept(here):
    touch("real/k.cu")
    os.symlink("real", "linked")
    os.symlink("real/k.cu", "k.cu")
    plain, through, link = (
        read_files(sources=name).cuda[0] for name in ("real/k.cu", "linked/k.cu", "k.cu")
    )
    assert (plain.path, plain.further_folders) == (str(here / "real/k.cu"), ())
    assert (through.path, through.further_folders) == (str(here / "linked/k.cu"), ())
    assert (link.path, link.further_folders) == (str(here / "k.cu"), (str(here / "real"),))


def test_text_counts_with_its_path_and_binaries_without(here):
    touch("a/f.cc", "b/f.cc", "a/f.o", "b/f.o", "a/f.so", "b/f.so")
    assert key(sources="a/f.cc") != key(sources="b/f.cc")
    assert key(sources="a/f.o") == key(sources="b/f.o")
    assert key(sources="a/f.so") != key(sources="b/f.so")
    assert key(sources="a/f.cc") == key(cpp_files=[here / "a" / "f.cc"])


def test_content_counts(here):
    touch("f.cu", "f.o", content="one")
    before = [key(sources=name) for name in ("f.cu", "f.o")]
    touch("f.cu", "f.o", content="two")
    after = [key(sources=name) for name in ("f.cu", "f.o")]
    assert len({*before, *after}) == 4


def test_bytes_that_are_no_text_are_told_apart_in_c(here):
    Path("f.c").write_bytes(b"\xe9")
    first = key(sources="f.c")
    Path("f.c").write_bytes(b"\xe8")
    assert key(sources="f.c") != first


def test_a_mark_at_the_beginning_of_a_cu_file_is_left_out(here):
    Path("k.cu").write_bytes(b"\xef\xbb\xbftext")
    assert read_files(sources="k.cu").cuda[0].text == "text"
