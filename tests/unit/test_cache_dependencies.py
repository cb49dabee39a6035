"""The cache: what is built again because a file that a build read, or missed, has changed."""

import logging
import os
import time

import pytest
from cache_builder import BASE, Builder, look_up, recorded

from tvmffi_cubin.cache import files
from tvmffi_cubin.cache.store import Cache


@pytest.fixture
def header(tmp_path):
    path = tmp_path / "x.h"
    path.write_text("one")
    return path


@pytest.fixture
def settled(monkeypatch):
    """Trust stamps at once, as if the files of the test were old."""
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))


# Dependencies


def test_a_changed_header_builds_again_and_the_old_content_is_still_known(cache, header):
    builder = Builder(dependencies=(str(header),))
    first = cache.obtain(BASE, builder)
    header.write_text("other")
    assert look_up(cache) is None
    second = cache.obtain(BASE, builder)
    assert second.path != first.path
    header.write_text("one")
    assert cache.obtain(BASE, builder).path == first.path
    assert builder.runs == 2


def test_a_header_that_was_only_touched_is_a_hit_and_is_hashed_once(
    cache, header, settled, monkeypatch
):
    builder = Builder(dependencies=(str(header),))
    cache.obtain(BASE, builder)
    os.utime(header, ns=(1, 1))
    assert look_up(cache)
    monkeypatch.setattr("tvmffi_cubin.cache.record.file_digest", lambda path: pytest.fail("hashed"))
    assert look_up(cache)


def test_an_unchanged_header_is_not_read(cache, header, settled, monkeypatch):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    monkeypatch.setattr("tvmffi_cubin.cache.record.file_digest", lambda path: pytest.fail("hashed"))
    assert look_up(cache)


@pytest.mark.parametrize("text", ["two", "longer"])
def test_a_header_changed_with_its_time_kept_builds_again(cache, header, settled, text):
    cache.obtain(BASE, Builder(dependencies=(str(header),)))
    info = os.stat(header)
    header.write_text(text)
    os.utime(header, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert look_up(cache) is None


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_path_that_appears_builds_again(cache, tmp_path, kind):
    early = tmp_path / "early"
    cache.obtain(BASE, Builder(absent=(str(early),)))
    assert look_up(cache)
    early.write_text("") if kind == "file" else early.mkdir()
    assert look_up(cache) is None


def test_files_of_the_build_folder_are_no_dependencies(cache):
    def make(directory):
        product = Builder(dependencies=("vec.cc", f"{directory}/generated.h"))(directory)
        (directory / "generated.h").write_text("")
        return product

    cache.obtain(BASE, make)
    assert recorded(cache)[0][2] == []


def test_files_under_a_root_may_lie_elsewhere(tmp_path):
    for place in ("here", "there"):
        folder = tmp_path / place / "cuda" / "include"
        folder.mkdir(parents=True)
        (folder / "x.h").write_text("same")
    here, there = (
        Cache(
            tmp_path / "cache",
            roots={"$CUDA": f"{tmp_path}/{place}/cuda", "$OUTER": f"{tmp_path}/{place}"},
        )
        for place in ("here", "there")
    )
    builder = Builder(dependencies=(f"{tmp_path}/here/cuda/include/x.h",))
    made = here.obtain(BASE, builder)
    assert recorded(here)[0][2] == ["$CUDA/include/x.h"]
    assert look_up(there).path == made.path
    (tmp_path / "there/cuda/include/x.h").write_text("else")
    assert look_up(there) is None
    assert look_up(Cache(tmp_path / "cache")) is None


def test_a_file_under_a_root_that_a_link_leads_to_is_of_the_root_by_its_real_path_too(tmp_path):
    # gcc 12 writes the shorter of a system header's path and its real path into the depfile.
    (tmp_path / "lib" / "include").mkdir(parents=True)
    (tmp_path / "lib" / "include" / "x.h").write_text("same")
    (tmp_path / "lib64").symlink_to("lib")
    cache = Cache(tmp_path / "cache", roots={"$CUDA": f"{tmp_path}/lib64/include"})
    read = tuple(f"{tmp_path}/{folder}/include/x.h" for folder in ("lib", "lib64"))
    cache.obtain(BASE, Builder(dependencies=read))
    assert recorded(cache)[0][2] == ["$CUDA/x.h"]


def test_a_dependency_through_a_link_and_back_is_the_file_that_was_read(tmp_path, cache):
    (tmp_path / "far/inner").mkdir(parents=True)
    (tmp_path / "far/x.h").write_text("read")
    (tmp_path / "x.h").write_text("not read")
    (tmp_path / "link").symlink_to(tmp_path / "far/inner")
    cache.obtain(BASE, Builder(dependencies=(f"{tmp_path}/link/../x.h",)))
    (tmp_path / "x.h").write_text("changed")
    assert look_up(cache)
    (tmp_path / "far/x.h").write_text("changed")
    assert look_up(cache) is None


def test_a_header_that_changes_during_the_build_serves_this_call_only(cache, header, caplog):
    caplog.set_level(logging.INFO, "tvmffi_cubin")

    def make(directory):
        header.write_text("changed while the compiler ran")
        future = time.time_ns() + 10**9
        os.utime(header, ns=(future, future))
        return Builder(dependencies=(str(header),))(directory)

    assert cache.obtain(BASE, make).so.read_bytes() == b"so"
    assert look_up(cache) is None
    assert f"{header} changed while it was read" in caplog.text


def test_a_header_that_the_caller_has_just_written_is_no_change(cache, header):
    for number in range(5):
        base = f"{number:02x}" * 32
        header.write_text(str(number))
        made = cache.obtain(base, Builder(dependencies=(str(header),)))
        assert look_up(cache, base).path == made.path


def test_ever_new_contents_do_not_grow_the_record_for_ever(cache, header):
    for number in range(20):
        header.write_text(str(number))
        cache.obtain(BASE, Builder(dependencies=(str(header),)))
    assert len(recorded(cache)) == 16
    assert look_up(cache)
