"""The language of expressions and conditions: what it reads, and where an error points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.launches.expression import Field, Name, Number, Op, Tree, names, parse


def op(name: str, *parts: Tree) -> Op:
    return Op(name, parts)


def pointed_at(error: pytest.ExceptionInfo) -> str:
    """What the caret of a message stands under: the rest of the expression from there."""
    _, text, caret = str(error.value).rsplit("\n", 2)
    return text[caret.index("^") :]


# What it reads


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("7", Number(7)),
        ("0x10", Number(16)),
        ("1_000", Number(1000)),
        ("9223372036854775807", Number(2**63 - 1)),
        ("-7", Number(-7)),
        ("--7", Number(7)),
        ("+n", Name("n", 1)),
        ("-n", op("-", Number(0), Name("n", 1))),
        (" n ", Name("n", 1)),
        ("a+b*c", op("+", Name("a", 0), op("*", Name("b", 2), Name("c", 4)))),
        ("(a+b)*c", op("*", op("+", Name("a", 1), Name("b", 3)), Name("c", 6))),
        ("a - b - c", op("-", op("-", Name("a", 0), Name("b", 4)), Name("c", 8))),
        ("a // 2 % 3", op("%", op("//", Name("a", 0), Number(2)), Number(3))),
        ("num_sms", Name("num_sms", 0)),
        ("x.numel", Field("x", "numel", None, 0)),
        ("x.shape[0]", Field("x", "shape", 0, 0)),
        ("x.stride[-1]", Field("x", "stride", -1, 0)),
        ("x.shape[ +2 ]", Field("x", "shape", 2, 0)),
        ("ceil_div(n, 256)", op("ceil_div", Name("n", 9), Number(256))),
        ("min(1, 2, 3)", op("min", Number(1), Number(2), Number(3))),
        ("max(a, 1)", op("max", Name("a", 4), Number(1))),
        ("min", Name("min", 0)),
        ("é + n", op("+", Name("é", 0), Name("n", 4))),
    ],
)
def test_an_expression_is_read(text, tree):
    assert parse(text) == tree


def test_what_an_expression_reads_is_listed_from_left_to_right():
    reads = names(parse("ceil_div(x.shape[1] * n, -m) + max(y.numel, 3, num_sms)"))
    assert [getattr(r, "name", None) or f"{r.tensor}.{r.field}" for r in reads] == [
        *("x.shape", "n", "m", "y.numel", "num_sms"),
    ]


# What it refuses, and where it points


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("n / 256", "/ 256", "use // (or ceil_div)"),
        ("n >> 8", ">> 8", "use // and a power of two"),
        ("(n) ** 2", "** 2", "wanted one of + - * // %"),
        ("n << 2", "<< 2", "wanted one of"),
        ("n + (m @ k)", "@ k)", "wanted one of"),
        ("1.5 * n", "1.5 * n", "1.5 is not an integer"),
        ("n + True", "True", "True is not an integer"),
        ("n + 'a'", "'a'", "'a' is not an integer"),
        ("n + 1j", "1j", "is not an integer"),
        ("n + None", "None", "is not an integer"),
        ("n + 9223372036854775808", "9223372036854775808", "beyond 64 bits signed"),
        ("~n", "~n", "not part of the expression language"),
        ("not n", "not n", "not part of"),
        ("2 + (n if m else 1)", "n if m else 1)", "not part of"),
        ("a < b", "a < b", "not part of the expression language (integer arithmetic); a condition"),
        ("a and b", "a and b", "a condition belongs in a Launch's when="),
        ("x.data_ptr % 8", "x.data_ptr % 8", "a tensor's address can be read in a Launch's when="),
        ("(n := 3)", "n := 3)", "not part of"),
        ("[n]", "[n]", "not part of"),
        ("n, m", "n, m", "not part of"),
        ("lambda: n", "lambda: n", "not part of"),
        ("f'{n}'", "f'{n}'", "not part of"),
        ("round_up(n, 4)", "round_up(n, 4)", "no such function; there are ceil_div, min, max"),
        ("n + x.numel()", "x.numel()", "no such function"),
        ("(n)(2)", "(n)(2)", "no such function"),
        ("min(n)", "min(n)", "min takes 2 or more arguments, got 1"),
        ("ceil_div(a, b, c)", "ceil_div(a, b, c)", "ceil_div takes 2 arguments, got 3"),
        ("max(a, key=b)", "max(a, key=b)", "plain arguments only"),
        ("max(*a)", "max(*a)", "plain arguments only"),
        ("x.shape", "x.shape", "wanted x.shape[i], x.stride[i] or x.numel"),
        ("x.size", "x.size", "wanted x.shape[i]"),
        ("x.numel[0]", "x.numel[0]", "wanted x.shape[i]"),
        ("x[0]", "x[0]", "wanted x.shape[i]"),
        ("x.y.numel", "x.y.numel", "wanted x.shape[i]"),
        ("(x + y).numel", "(x + y).numel", "wanted x.shape[i]"),
        ("x.shape[n]", "n]", "an index is a literal integer from -64 to 63"),
        ("x.shape[64]", "64]", "an index is a literal"),
        ("x.shape[1 + 1]", "1 + 1]", "an index is a literal"),
        ("x.shape[0:1]", "0:1]", "not part of"),
        ("x.shape[0, 1]", "0, 1]", "not part of"),
        ("  n / 2", "/ 2", "use //"),
        ("é / 2", "/ 2", "use //"),
        ("(é) + ü / 2", "/ 2", "use //"),
    ],
)
def test_a_refusal_points_at_the_character(text, at, what):
    with pytest.raises(ValueError) as error:
        parse(text)
    assert what in str(error.value)
    assert pointed_at(error) == at


def test_an_expression_that_ends_too_early_is_pointed_at_behind_its_end():
    with pytest.raises(ValueError, match=r"\n   n \+\n      \^\Z"):
        parse(" n +")


@pytest.mark.parametrize("text", ["n +", "ceil_div(n", "n n", "1 2", "n $ 2", "= 3", "a; b", "n\\"])
def test_what_is_no_expression_at_all_is_refused(text):
    with pytest.raises(ValueError, match="not an expression") as error:
        parse(text)
    assert f"\n  {text}\n" in str(error.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "an expression is empty"),
        (" \t ", "an expression is empty"),
        ("n\n+ 1", "one line"),
        ("n\r+ 1", "one line"),
        ("n" * 5000, "at most 4096 characters"),
        ("a" + "+a" * 2000, "nested too deeply"),
        ("-" * 4000 + "n", "nested too deeply"),
        ("n\0", "not an expression"),
        ("n # blocks", "not an expression: '#' is"),
        ("n\ud800", "not an expression"),
    ],
)
def test_text_that_is_unfit_is_refused(text, what):
    with pytest.raises(ValueError, match=what):
        parse(text)


@pytest.mark.parametrize("value", [3, None, b"n", ["n"]])
def test_only_text_is_an_expression(value):
    with pytest.raises(TypeError, match=f"is a str, got {type(value).__name__}"):
        parse(value)


@given(st.text(max_size=60) | st.text("nxmceil_div(),.shape[]0123456789+-*/% ", max_size=60))
def test_no_text_does_worse_than_a_value_error(text):
    try:
        tree = parse(text)
    except ValueError:
        return
    assert list(names(tree)) is not None


# Conditions


A_IS_0 = op("==", Name("a", 0), Number(0))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a == 0", A_IS_0),
        ("  (a) != -1", op("!=", Name("a", 3), Number(-1))),
        ("a + 1 < b", op("<", op("+", Name("a", 0), Number(1)), Name("b", 8))),
        ("a <= 2", op("<=", Name("a", 0), Number(2))),
        ("a > 2", op(">", Name("a", 0), Number(2))),
        ("a >= 2", op(">=", Name("a", 0), Number(2))),
        ("flag", Name("flag", 0)),
        ("flag == True", op("==", Name("flag", 0), Number(1))),
        ("False", Number(0)),
        (
            "not True or a == 0",
            Op("or", (op("not", Number(1)), op("==", Name("a", 12), Number(0)))),
        ),
        ("not flag", op("not", Name("flag", 4))),
        ("not not a == 0", op("not", op("not", op("==", Name("a", 8), Number(0))))),
        (
            "0 < a <= b",
            Op(
                "and",
                (
                    op("<", Number(0), Name("a", 4)),
                    op("<=", Name("a", 4), Name("b", 9)),
                ),
            ),
        ),
        (
            "a == 0 or p and q or r",
            Op(
                "or",
                (
                    A_IS_0,
                    Op("and", (Name("p", 10), Name("q", 16))),
                    Name("r", 21),
                ),
            ),
        ),
        ("x.data_ptr == 0", op("==", Field("x", "data_ptr", None, 0), Number(0))),
        ("x.shape[-1] > 1", op(">", Field("x", "shape", -1, 0), Number(1))),
    ],
)
def test_a_condition_is_read(text, tree):
    assert parse(text, is_condition=True) == tree


def test_what_a_condition_reads_is_listed_from_left_to_right():
    text = "a < x.numel < b and not (f or y.data_ptr % num_sms == 0)"
    reads = names(parse(text, is_condition=True))
    found = [read.name if isinstance(read, Name) else read.tensor for read in reads]
    assert found == ["a", "x", "x", "b", "f", "y", "num_sms"]


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
def test_of_a_condition_a_refusal_points_at_the_character(text, at, what):
    with pytest.raises(ValueError) as error:
        parse(text, is_condition=True)
    assert what in str(error.value)
    assert pointed_at(error) == at


@pytest.mark.parametrize("text", ["", " ", "a == 0\nb", "a == 0 # why", "not " * 2000 + "a"])
def test_of_a_condition_text_that_is_unfit_is_refused(text):
    with pytest.raises(ValueError):
        parse(text, is_condition=True)


def test_only_text_is_a_condition():
    with pytest.raises(TypeError, match="is a str, got bool"):
        parse(True, is_condition=True)


@given(st.text(max_size=60) | st.text("nx.and or not<>=!()0123456789%data_ptr ", max_size=60))
def test_of_a_condition_no_text_does_worse_than_a_value_error(text):
    try:
        tree = parse(text, is_condition=True)
    except ValueError:
        return
    assert list(names(tree)) is not None
