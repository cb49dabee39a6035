"""Work in the background of a process."""

from __future__ import annotations

import threading

import pytest
from processes import in_fork

from tvmffi_cubin.host.environment import (
    build_environment,
    compiler_environment,
    header_folder_flags,
)
from tvmffi_cubin.later import Begun


def test_work_of_a_name_is_begun_once_and_again_only_where_asked():
    begun: Begun[None] = Begun()
    done: list[int] = []
    begun.begin("one", lambda: done.append(1))
    begun.settle()
    begun.begin("one", lambda: done.append(2))
    begun.begin("other", lambda: done.append(3))
    begun.settle()
    begun.begin("one", lambda: done.append(4), again=True)
    begun.settle()
    assert done == [1, 3, 4]


def test_what_work_begins_in_its_turn_is_waited_for():
    begun: Begun[None] = Begun()
    done: list[int] = []
    begun.begin("one", lambda: begun.begin("two", lambda: done.append(2)))
    begun.settle()
    assert done == [2]


def test_work_that_still_goes_on_is_not_begun_again():
    begun: Begun[bool] = Begun()
    gate = threading.Event()
    begun.begin("one", gate.wait)
    begun.begin("one", lambda: pytest.fail("begun twice"), again=True)
    gate.set()
    begun.settle()
    later = begun.get("one")
    assert later is not None
    assert later.result() is True


def test_work_sees_the_variables_as_they_were_when_it_was_begun(monkeypatch):
    begun: Begun[None] = Begun()
    gate = threading.Event()
    seen: list[tuple[object, ...]] = []

    def look() -> None:
        assert gate.wait(60)
        built = build_environment()
        seen.append((built["CPATH"], header_folder_flags()[-1], compiler_environment()["CPATH"]))

    monkeypatch.setenv("CPATH", "/first")
    begun.begin("one", lambda: begun.begin("two", look) or look())
    monkeypatch.setenv("CPATH", "/second")
    gate.set()
    begun.settle()
    assert seen == [("/first",) * 3] * 2
    assert build_environment()["CPATH"] == "/second"


@pytest.mark.parametrize("moment", ["at work", "beginning"])
def test_a_forked_child_neither_waits_for_its_parents_work_nor_counts_it_as_its_own(moment):
    begun: Begun[bool] = Begun()
    gate = threading.Event()
    done: list[int] = []

    def begin_in_child() -> list[int]:
        begun.begin("one", lambda: done.append(1))
        begun.settle()
        return done

    if moment == "beginning":
        with begun._guard:
            assert in_fork(begin_in_child) == [1]
    else:
        begun.begin("one", gate.wait)
        assert in_fork(begin_in_child) == [1]
        gate.set()
        begun.settle()
