"""The language of conditions: what it reads, and where an error points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin import condition
from tvmffi_cubin.condition import Compare, Flag, Joined, Not, Truth, parse
from tvmffi_cubin.expr import Binary, Name, Number, TensorField


def pointed_at(error: pytest.ExceptionInfo) -> str:
    """What the caret of a message stands under: the rest of the condition from there."""
    _, text, caret = str(error.value).rsplit("\n", 2)
    return text[caret.index("^") :]


A_IS_0 = Compare("==", Name("a", 0), Number(0))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a == 0", A_IS_0),
        ("  (a) != -1", Compare("!=", Name("a", 3), Number(-1))),
        ("a + 1 < b", Compare("<", Binary("+", Name("a", 0), Number(1)), Name("b", 8))),
        ("a <= 2", Compare("<=", Name("a", 0), Number(2))),
        ("a > 2", Compare(">", Name("a", 0), Number(2))),
        ("a >= 2", Compare(">=", Name("a", 0), Number(2))),
        ("flag", Flag(Name("flag", 0))),
        ("flag == True", Compare("==", Name("flag", 0), Number(1))),
        ("False", Truth(False)),
        (
            "not True or a == 0",
            Joined("or", (Not(Truth(True)), Compare("==", Name("a", 12), Number(0)))),
        ),
        ("not flag", Not(Flag(Name("flag", 4)))),
        ("not not a == 0", Not(Not(Compare("==", Name("a", 8), Number(0))))),
        (
            "0 < a <= b",
            Joined(
                "and",
                (
                    Compare("<", Number(0), Name("a", 4)),
                    Compare("<=", Name("a", 4), Name("b", 9)),
                ),
            ),
        ),
        (
            "a == 0 or p and q or r",
            Joined(
                "or",
                (
                    A_IS_0,
                    Joined("and", (Flag(Name("p", 10)), Flag(Name("q", 16)))),
                    Flag(Name("r", 21)),
                ),
            ),
        ),
        ("x.data_ptr == 0", Compare("==", TensorField("x", "data_ptr", None, 0), Number(0))),
        ("x.shape[-1] > 1", Compare(">", TensorField("x", "shape", -1, 0), Number(1))),
    ],
)
def test_a_condition_is_read(text, tree):
    assert parse(text) == tree


def test_what_a_condition_reads_is_listed_from_left_to_right():
    reads = condition.reads(parse("a < x.numel < b and not (f or y.data_ptr % num_sms == 0)"))
    names = [read.name if isinstance(read, Name) else read.tensor for read in reads]
    assert names == ["a", "x", "x", "b", "f", "y", "num_sms"]


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("n % 4", "n % 4", "wanted a condition: a comparison, a bool parameter, or several"),
        ("a == 0 and n + 1", "n + 1", "wanted a condition"),
        ("not (n // 2)", "n // 2)", "wanted a condition"),
        ("x.numel", "x.numel", "wanted a condition"),
        ("ceil_div(n, 4)", "ceil_div(n, 4)", "wanted a condition"),
        ("4", "4", "wanted a condition"),
        ("a in b", "b", "wanted one of == != < <= > >="),
        ("a is not b", "b", "wanted one of"),
        ("a == 1.5", "1.5", "1.5 is not an integer"),
        ("a == 'b'", "'b'", "is not an integer"),
        ("a == (b < c)", "b < c)", "not part of the expression language"),
        ("(a and b) == 1", "a and b) == 1", "not part of the expression language"),
        ("a == (not b)", "not b)", "not part of"),
        ("a / 2 == 0", "/ 2 == 0", "use // (or ceil_div)"),
        ("p if q else r", "p if q else r", "not part of"),
        ("any(a)", "any(a)", "no such function"),
        ("a = b", "= b", "not an expression"),
        ("a && b", "& b", "not an expression"),
        ("x.data_ptr[0] == 0", "x.data_ptr[0] == 0", "wanted x.shape[i], x.stride[i] or x.numel"),
    ],
)
def test_a_refusal_points_at_the_character(text, at, what):
    with pytest.raises(ValueError) as error:
        parse(text)
    assert what in str(error.value)
    assert pointed_at(error) == at


@pytest.mark.parametrize("text", ["", " ", "a == 0\nb", "a == 0 # why", "not " * 2000 + "a"])
def test_text_that_is_unfit_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)


def test_only_text_is_a_condition():
    with pytest.raises(TypeError, match="is a str, got bool"):
        parse(True)


@given(st.text(max_size=60) | st.text("nx.and or not<>=!()0123456789%data_ptr ", max_size=60))
def test_no_text_does_worse_than_a_value_error(text):
    try:
        tree = parse(text)
    except ValueError:
        return
    assert list(condition.reads(tree)) is not None
