"""What `cache_info` and the log say of look-ups."""

from __future__ import annotations

import logging

import pytest
from file_kit import write

import tvmffi_cubin as tc
from tvmffi_cubin.cache.store import counts, events


@pytest.fixture
def info(here, monkeypatch, caplog):
    """A cache of the test's own, counted from now on; returns `cache_info`."""
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(here / "cache"))
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")
    write("f.c", "#include <x.h>\nint f(void) { return X; }\n")
    write("inc/x.h", "#define X 1\n")
    counts.clear()
    events.clear()
    return tc.cache_info


def built(name: str = "seen", **options) -> str:
    return tc.build(name, **{"sources": "f.c", "extra_include_paths": ["inc"]} | options)


def test_a_build_that_was_wanted_without_a_look_up_says_so(info, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "off")
    built()
    assert [x.reason for x in info().events] == ["TVMFFI_CUBIN_CACHE=off: nothing is looked up"]


def test_hits_misses_and_builds_are_counted(info, here):
    found = info()
    assert (found.folder, found.mode, found.events) == (str(here / "cache"), "on", ())
    for _ in range(3):
        built()
    found = info()
    assert (found.hits, found.misses, found.builds, found.remote_hits) == (2, 1, 1, 0)
    assert [(x.name, x.outcome) for x in found.events] == [
        *(("seen", "built"), ("seen", "hit"), ("seen", "hit")),
    ]
    assert "2 hits, 1 misses: 1 built" in str(found)
    assert "seen: built" in str(found)


def test_a_miss_says_which_field_differs_from_the_nearest_entry(info, caplog):
    built()
    built(extra_cflags=["-O1"])
    built(extra_cflags=["-O3"])
    assert info().events[-1].reason == (
        "nothing was built with these inputs: compared with the nearest entry, extra_cflags is "
        "'-O3', was '-O1'"
    )
    assert "extra_cflags is '-O3', was '-O1'" in caplog.text


def test_a_build_that_fails_is_an_event(info):
    write("f.c", "int f(void) { return y; }\n")
    with pytest.raises(tc.BuildError):
        built()
    event = info().events[-1]
    assert (event.outcome, info().misses, info().builds) == ("failed", 1, 0)


def test_hits_of_layers_and_of_the_process_s_own_folder_are_told(info, here, monkeypatch):
    built()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(here / "cache"))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(here / "other"))
    built()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    built("more")
    built("more")
    assert [x.outcome for x in info().events] == ["built", "layer", "built", "private"]
    assert (info().layers, info().mode, info().hits) == ((str(here / "cache"),), "read", 2)


def test_where_nothing_may_be_built_a_miss_is_an_error_that_says_what_differs(info, monkeypatch):
    built(extra_cflags=["-O1"])
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "require")
    built(extra_cflags=["-O1"])
    with pytest.raises(tc.CacheError, match="extra_cflags is '-O3', was '-O1'"):
        built(extra_cflags=["-O3"])
    assert [x.outcome for x in info().events] == ["built", "hit", "failed"]
