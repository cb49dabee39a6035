"""A call enters the functions and rooms that docs/design.md lists, in that order."""

import re
import sys
from pathlib import Path

import tvmffi_cubin as tc

PAGE = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
SOURCE = 'extern "C" __global__ void way(float* x) { x[0] = 1; }'


def listed(which: str) -> list[str]:
    """Return the functions of a way, as the page has it."""
    text = PAGE.partition("**The way of a call.**")[2].partition("\n\n")[0]
    hit, miss = text.partition("A miss")[::2]
    chain = (hit if which == "hit" else miss).partition(", with")[0]
    return re.findall(r"`([\w.]+)`", chain)


def rooms() -> tuple[list[str], list[str]]:
    """Return the rooms that a hit enters, and those that a miss does, as the page has them."""
    hit, more = PAGE.partition("**Rooms.**")[2].partition("\n\n")[0].split("before the last")
    names, others = re.findall(r"`(\w+)/`", hit), re.findall(r"`(\w+)/`", more)
    return names, [*names[:-1], *others, names[-1]]


def entered(call) -> tuple[list[str], list[str]]:
    """Return which of the page's functions a call enters, and which rooms, in this thread."""
    known = {*listed("hit"), *listed("miss")}
    found: list[str] = []
    rooms: dict[str, None] = {}

    def note(frame, event, _):
        if event == "call":
            package, _, module = frame.f_globals.get("__name__", "").partition(".")
            if (name := f"{module}.{frame.f_code.co_name}") in known:
                found.append(name)
            if package == "tvmffi_cubin" and "." in module:
                rooms[module.partition(".")[0]] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found, [*rooms]


def test_a_miss_and_a_hit_go_the_way_that_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    tc.load_inline("warm", SOURCE.replace("way", "warm"), arch="sm_90")  # the launcher's body

    def call():
        tc.load_inline("way", SOURCE, arch="sm_90")

    hit, miss = rooms()
    assert entered(call) == (listed("miss"), miss)
    assert entered(call) == (listed("hit"), hit)
