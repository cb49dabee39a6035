"""The content hash: different fields, different digests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.cache.key import Key

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.binary(max_size=6)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
fields = st.dictionaries(st.sampled_from(["a", "b", "ab"]), values, max_size=3)


def digest(pairs, purpose="test"):
    key = Key(purpose)
    for label, value in dict(pairs).items():
        key.add(label, value)
    return key.hexdigest()


def typed(value):
    """The value with its type, so that True, 1 and 1.0 differ, and a list and a tuple do not."""
    if isinstance(value, (list, tuple)):
        return ("sequence", *map(typed, value))
    if isinstance(value, dict):
        return ("mapping", *sorted((name, repr(typed(item))) for name, item in value.items()))
    return type(value).__name__, repr(value)


def content(pairs):
    kept = ((a, b) for a, b in pairs.items() if not isinstance(b, (list, tuple, dict)) or b)
    return sorted((a, repr(typed(b))) for a, b in kept)


@given(fields, fields)
def test_digests_are_equal_exactly_where_the_fields_are(first, second):
    assert (digest(first) == digest(second)) == (content(first) == content(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": "bc"}, {"ab": "c"}),
        ({"a": ["b", "c"]}, {"a": ["bc"]}),
        ({"a": [["b"], "c"]}, {"a": [["b", "c"]]}),
        ({"a": "1"}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": "x"}, {"a": b"x"}),
        ({"a": None}, {"a": ""}),
        ({"a": "a\udcff"}, {"a": "a"}),
    ],
)
def test_look_alikes_differ(first, second):
    assert digest(first) != digest(second)


def test_purposes_differ_and_order_does_not_count():
    assert digest({}, "entry") != digest({}, "base")
    first = Key("test").add("a", {"x": 1, "y": 2}).add("b", 2)
    assert first.hexdigest() == Key("test").add("b", 2).add("a", {"y": 2, "x": 1}).hexdigest()
    assert first.hexdigest(without=["a"]) == Key("test").add("b", 2).hexdigest()


@pytest.mark.parametrize("value", [{1, 2}, object(), [object()], {"a": {1: 2, "1": 2}}, 1j])
def test_a_value_without_an_unambiguous_encoding_is_refused_by_name(value):
    with pytest.raises(TypeError, match="'flags'"):
        Key("test").add("flags", value)
