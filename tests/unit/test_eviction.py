"""What a full cache gives up: what was used least recently, and no more than it has to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.eviction import least_used, unused_since
from tvmffi_cubin.inventory import Item

NOW = 1000.0
# Some at the same time, some at times that are yet to come.
TIMES = st.sampled_from([0.0, 1.0, 500.0, 999.0, NOW, 1001.0, 5000.0])
NUMBERS = st.lists(st.tuples(st.integers(0, 100), TIMES, st.booleans()), max_size=12)


def items_of(rows: list[tuple[int, float, bool]]) -> tuple[list[Item], set[str]]:
    items = [
        Item("entry", f"/c/entries/{number:02}", size, used)
        for number, (size, used, _) in enumerate(rows)
    ]
    return items, {item.name for item, row in zip(items, rows, strict=True) if row[2]}


def age(item: Item) -> float:
    return NOW - min(item.used, NOW)


@given(NUMBERS, st.integers(-50, 1300))
def test_what_goes_is_the_least_recently_used_and_just_enough(rows, excess):
    items, in_use = items_of(rows)
    gone = least_used(items, excess=excess, in_use=in_use, now=NOW)
    stays = [item for item in items if item not in gone and item.name not in in_use]
    freed = sum(item.size for item in gone)
    assert not in_use.intersection(item.name for item in gone)
    assert len(set(gone)) == len(gone)
    # Enough, or there is nothing else.
    assert freed >= excess or not stays
    # No more than that.
    assert not gone or freed - gone[-1].size < excess
    # Nothing stays that was used before what goes.
    assert all(age(a) >= age(b) for a in gone for b in stays)
    assert [age(item) for item in gone] == sorted(map(age, gone), reverse=True)


@given(NUMBERS, st.integers(0, 1300), st.randoms())
def test_all_that_look_at_the_same_choose_the_same(rows, excess, random):
    items, in_use = items_of(rows)
    first = least_used(items, excess=excess, in_use=in_use, now=NOW)
    random.shuffle(items)
    assert least_used(items, excess=excess, in_use=in_use, now=NOW) == first


@given(NUMBERS, TIMES)
def test_what_was_not_used_since_goes_whatever_its_size(rows, moment):
    items, in_use = items_of(rows)
    gone = unused_since(items, moment=moment, in_use=in_use, now=NOW)
    assert {item.name for item in gone} == {
        item.name for item in items if min(item.used, NOW) < moment and item.name not in in_use
    }
