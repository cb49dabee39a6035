"""Lengths of time as people write and read them."""

from __future__ import annotations

import pytest

from tvmffi_cubin.age_text import age_text, read_age


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 30 * 86_400), ("12 h", 12 * 3600), (" 45m ", 2700), ("2w", 14 * 86_400), ("0s", 0)],
)
def test_an_age_has_a_unit(text, seconds):
    assert read_age(text, what="--older-than") == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "3 years", "1e3s", "9" * 99 + "d"])
def test_other_texts_are_errors_that_say_what_is_wanted(text):
    with pytest.raises(ValueError, match=r"^--older-than '.*': wanted a whole number .* as 30d$"):
        read_age(text, what="--older-than")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (0.9, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (9 * 86_400, "9 d")],
)
def test_ages_for_people(seconds, text):
    assert age_text(seconds) == text
