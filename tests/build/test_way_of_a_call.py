"""A call enters the functions that docs/design.md lists, in that order, and no look-up twice."""

import re
import sys
from pathlib import Path

import pytest

import tvmffi_cubin as tc

PAGE = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
SOURCE = 'extern "C" __global__ void way(float* x) { x[0] = 1; }'


def listed(which: str) -> list[str]:
    """Return the functions of a way, as the page has it."""
    text = PAGE.partition("**The way of a call.**")[2].partition("\n\n")[0]
    hit, miss = text.partition("A miss")[::2]
    chain = (hit if which == "hit" else miss).partition(", with")[0]
    return re.findall(r"`([\w.]+)`", chain)


def entered(call) -> list[str]:
    """Return which of the page's functions a call enters, in this thread."""
    known = {*listed("hit"), *listed("miss")}
    found: list[str] = []

    def note(frame, event, _):
        if event == "call":
            module = frame.f_globals.get("__name__", "").removeprefix("tvmffi_cubin.")
            if (name := f"{module}.{frame.f_code.co_name}") in known:
                found.append(name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))


def test_a_miss_and_a_hit_go_the_way_that_the_page_shows(cache):
    tc.load_inline("warm", SOURCE.replace("way", "warm"), arch="sm_90")  # the launcher's body

    def call():
        tc.load_inline("way", SOURCE, arch="sm_90")

    assert entered(call) == listed("miss")
    assert entered(call) == listed("hit")
