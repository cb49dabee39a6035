"""A key of labelled fields: what it depends on, and what people see of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.field_key import LONGEST_TEXT, FieldKey

values = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.binary(max_size=6)
fields = st.dictionaries(st.sampled_from("abcdef"), values, max_size=5)


def key(pairs, purpose="test"):
    made = FieldKey(purpose)
    for label, value in pairs.items():
        made.add(label, value)
    return made


def typed(pairs):
    return {label: (type(value), value) for label, value in pairs.items()}


@given(fields, fields)
def test_digests_are_equal_exactly_where_the_fields_are(first, second):
    same = typed(first) == typed(second)
    assert (key(first).hexdigest() == key(second).hexdigest()) == same


@given(fields, fields)
def test_the_fields_that_differ_have_other_digests(first, second):
    one, two = key(first).digests, key(second).digests
    assert set(one) == set(first)
    for label in set(first) & set(second):
        assert (one[label] == two[label]) == (typed(first)[label] == typed(second)[label])


@given(fields)
def test_the_order_of_the_fields_does_not_count(pairs):
    backwards = dict(reversed(list(pairs.items())))
    assert key(pairs).hexdigest() == key(backwards).hexdigest()


def test_purposes_differ():
    assert key({}, "one").hexdigest() != key({}, "two").hexdigest()


def test_fields_can_be_left_out():
    one, two = key({"a": 1, "b": 2}), key({"a": 1, "b": 3})
    assert one.hexdigest(without={"b"}) == two.hexdigest(without={"b"}) == key({"a": 1}).hexdigest()


@pytest.mark.parametrize("empty", [[], (), {}])
def test_an_empty_sequence_or_mapping_is_no_field(empty):
    assert key({"a": 1, "b": empty}).hexdigest() == key({"a": 1}).hexdigest()
    assert set(key({"a": 1, "b": empty}).digests) == {"a"}


@pytest.mark.parametrize("value", [None, "", b"", False, 0])
def test_nothing_and_false_are_fields(value):
    assert key({"a": value}).hexdigest() != key({}).hexdigest()


@pytest.mark.parametrize("label", ["", "two words", "line\nbreak"])
def test_a_label_is_an_identifier(label):
    with pytest.raises(ValueError, match="no identifier"):
        FieldKey("test").add(label, 1)


def test_a_label_is_there_once():
    with pytest.raises(ValueError, match="'a'.* two of it"):
        FieldKey("test").add("a", 1).add("a", 1)


def test_a_value_without_an_unambiguous_encoding_is_refused_by_name():
    with pytest.raises(TypeError, match="key field 'flags': cannot hash a set"):
        FieldKey("test").add("flags", {1})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("-O2", "-O2"),
        (["-O2", "-DX=1"], "-O2 -DX=1"),
        ("\nint f();\nint g();", "(18 characters) int f(); ..."),
        (b"abc", "(3 bytes, 77fd0a39)"),
        ({"a": 1, "b": [None, "x"]}, "a: 1 b: x"),
        ([None, [], True, 2.5], "True 2.5"),
    ],
)
def test_people_are_shown_what_a_field_is(value, text):
    assert key({"a": value}).texts() == {"a": text}


@given(st.recursive(values, lambda inner: st.lists(inner), max_leaves=80))
def test_what_people_are_shown_is_short(value):
    assert all(len(text) <= LONGEST_TEXT for text in key({"a": value}).texts().values())


def test_a_long_text_ends_with_dots():
    text = key({"a": ["x" * 150, "y" * 150]}).texts()["a"]
    assert len(text) == LONGEST_TEXT
    assert text.endswith("y...")
