"""This package's own files are in every key as they were imported, and are seen to change."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tvmffi_cubin import generators, identity
from tvmffi_cubin.generators import change_since, generator_identity, identity_for_build, others
from tvmffi_cubin.stamp import FILE_CLOCK


def now_later_than_files() -> int:
    """Return the kernel's time once what was written up to now is older."""
    written = time.time_ns()
    while (now := time.clock_gettime_ns(FILE_CLOCK)) <= written:
        pass
    return now


class Package:
    """A package of one generator and some headers, as a process imports it."""

    def __init__(self, folder: Path, monkeypatch):
        self.code = folder / "scan.py"
        self.header = folder / "include" / "tvmffi_cubin" / "gate.h"
        self.inner = self.header.parent / "launcher" / "hot.cc"
        self.inner.parent.mkdir(parents=True)
        for path in (self.code, self.header, self.inner):
            path.write_text("1")
        monkeypatch.setattr(generators, "include_dir", lambda: folder / "include")
        monkeypatch.setattr(generators, "__file__", str(folder / "generators.py"))
        self.set = monkeypatch.setattr
        self.start()

    def start(self) -> None:
        """Be a new process."""
        identity.forget()
        self.set(generators, "_imported", generators._Look.take(now_later_than_files()))
        self.set(generators, "_looks", {})
        self.set(generators, "_NONCE", os.urandom(16))


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    return Package(tmp_path / "package", monkeypatch)


FILES = ["code", "header", "inner"]


@pytest.mark.parametrize("name", FILES)
def test_the_content_of_each_file_counts_and_its_time_does_not(name, package):
    first = generator_identity()
    file = getattr(package, name)
    file.write_text("2")
    package.start()
    assert generator_identity() != first
    file.write_text("1")
    package.start()
    assert generator_identity() == first


def test_a_further_header_counts(package):
    first = generator_identity()
    (package.header.parent / "new.h").write_text("")
    package.start()
    assert generator_identity() != first


def test_a_build_has_the_identity_of_a_look_up_while_nothing_changes(package):
    assert identity_for_build() == generator_identity()
    assert not change_since(generator_identity())


@pytest.mark.parametrize("name", FILES)
def test_where_a_file_changes_in_a_process_its_builds_are_its_own(name, package):
    first = generator_identity()
    getattr(package, name).write_text("2")
    mixed = identity_for_build()
    assert generator_identity() == first != mixed == identity_for_build()
    assert change_since(first)
    package.start()
    assert generator_identity() not in (first, mixed)
    getattr(package, name).write_text("3")
    assert identity_for_build() != mixed


def test_a_file_that_is_what_it_was_again_may_have_been_used_meanwhile(package):
    first = generator_identity()
    package.header.write_text("2")
    package.header.write_text("1")
    assert change_since(first)
    assert identity_for_build() != first


def test_a_change_during_a_build_is_seen_also_where_there_was_one_before(package):
    package.header.write_text("2")
    now_later_than_files()
    mixed = identity_for_build()
    assert not change_since(mixed)
    package.inner.write_text("2")
    assert change_since(mixed)


def test_what_was_written_as_the_import_began_may_not_be_what_was_imported(package, monkeypatch):
    written = os.stat(package.code).st_mtime_ns
    monkeypatch.setattr(generators, "_imported", generators._Look.take(written))
    assert identity_for_build() != generator_identity()


def test_files_that_change_before_they_are_hashed_are_no_build_s(package):
    package.header.write_text("2")
    known = generator_identity()
    assert change_since(known)
    assert identity_for_build() != known


def test_files_of_a_time_that_is_yet_to_come_are_told_with_the_remedy(package, monkeypatch):
    assert change_since(generator_identity()) == ""
    package.header.write_text("2")
    assert "start the process again" in change_since(generator_identity())
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    told = f"{package.header} was written at a time that is yet to come: set the clock"
    assert change_since(generator_identity()) == told


def test_only_files_of_the_identity_need_not_be_recorded(package):
    known = generator_identity()
    new = package.header.parent / "new.h"
    new.write_text("")
    paths = [str(package.header), str(new), "/usr/include/stdio.h", str(package.inner)]
    assert others(paths, known) == (str(new), "/usr/include/stdio.h")
    assert others(paths, "another") == tuple(paths)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_linked_into_another_environment_is_what_it_was(name, package, tmp_path):
    known = generator_identity()
    file = getattr(package, name)
    os.link(file, tmp_path / "elsewhere")
    assert identity_for_build() == known
    assert not change_since(known)
    # An edit of the same size that keeps the time, too, which no installer makes.
    was = os.stat(file)
    file.write_text("2")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert identity_for_build() != known
    assert "start the process again" in change_since(known)
