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
labels = st.sampled_from(["a", "b", "ab"])
fields = st.dictionaries(labels, values, max_size=3).map(lambda x: list(x.items()))


def digest(pairs, purpose="test"):
    key = Key(purpose)
    for label, value in pairs:
        key.add(label, value)
    return key.hexdigest()


def typed(value):
    """The value with its type, so that True, 1 and 1.0 differ, and a list and a tuple do not."""
    if isinstance(value, (list, tuple)):
        return ("sequence", *map(typed, value))
    if isinstance(value, dict):
        return ("mapping", *sorted((name, repr(typed(item))) for name, item in value.items()))
    return type(value).__name__, repr(value)


@given(fields, fields)
def test_digests_are_equal_exactly_where_the_fields_are(first, second):
    def content(pairs):
        kept = ((a, b) for a, b in pairs if not isinstance(b, (list, tuple, dict)) or b)
        return sorted((a, repr(typed(b))) for a, b in kept)

    assert (digest(first) == digest(second)) == (content(first) == content(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([("a", "bc")], [("ab", "c")]),
        ([("a", ["b", "c"])], [("a", ["bc"])]),
        ([("a", [["b"], "c"])], [("a", [["b", "c"]])]),
        ([("a", "1")], [("a", 1)]),
        ([("a", 1)], [("a", True)]),
        ([("a", 1)], [("a", 1.0)]),
        ([("a", 0.0)], [("a", -0.0)]),
        ([("a", "x")], [("a", b"x")]),
        ([("a", None)], [("a", "")]),
        ([("a", None)], []),
        ([("a", {"x": "y"})], [("a", ["x", "y"])]),
        ([("a", "s1:x")], [("a", "x")]),
    ],
)
def test_look_alikes_differ(first, second):
    assert digest(first) != digest(second)


def test_the_order_of_a_mapping_does_not_count():
    assert digest([("a", {"x": 1, "y": 2})]) == digest([("a", {"y": 2, "x": 1})])


def test_purposes_differ():
    assert digest([], "entry") != digest([], "base")


@pytest.mark.parametrize("value", [{1, 2}, object(), [object()], {"a": {1: 2}}, 1j])
def test_a_value_without_an_unambiguous_encoding_is_refused_by_name(value):
    key = Key("test").add("a", 1)
    before = key.hexdigest()
    with pytest.raises(TypeError, match="'flags'"):
        key.add("flags", value)
    assert key.hexdigest() == before


def test_a_lone_surrogate_of_a_file_name_is_accepted():
    assert digest([("path", "a\udcff")]) != digest([("path", "a")])


def test_the_order_of_fields_does_not_count_and_some_may_be_left_out():
    first = Key("test").add("a", 1).add("b", 2)
    assert first.hexdigest() == Key("test").add("b", 2).add("a", 1).hexdigest()
    assert first.hexdigest(without=["b"]) == Key("test").add("a", 1).hexdigest()


@pytest.mark.parametrize("label", ["a", "no identifier"])
def test_a_label_is_an_identifier_and_given_once(label):
    with pytest.raises(ValueError, match=label):
        Key("test").add("a", 1).add(label, 2)


def test_people_are_shown_the_first_characters_of_each_field():
    key = Key("test").add("source", "a\nb").add("image", b"abc").add("long", "x" * 300)
    texts = key.add("files", {"x": ["y", None]}).add("hidden", "secret", shown="-").texts()
    assert texts["source"] == "(3 characters) a ..."
    assert texts["image"].startswith("(3 bytes, ")
    assert len(texts["long"]) == 200
    assert (texts["files"], texts["hidden"]) == ("x: y", "-")
