"""The language of expressions and conditions: what it reads, and where an error points."""

import pytest

from tvmffi_cubin.launches.expression import Number, Op, Read, Tree, parse


def op(name: str, *parts: Tree) -> Op:
    return Op(name, parts)


def pointed_at(error: pytest.ExceptionInfo) -> str:
    """What the caret of a message stands under: the rest of the expression from there."""
    _, text, caret = str(error.value).rsplit("\n", 2)
    return text[caret.index("^") :]


A, B = Read("a", 0), Read("b", 4)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("9223372036854775807", Number(2**63 - 1)),
        ("--7", Number(7)),
        ("-n", op("-", Number(0), Read("n", 1))),
        (" +é ", Read("é", 1)),
        ("a+b*c", op("+", A, op("*", Read("b", 2), Read("c", 4)))),
        ("x.numel", Read("x", 0, "numel")),
        ("x.stride[-1]", Read("x", 0, "stride", -1)),
        ("x.data_ptr % 8", op("%", Read("x", 0, "data_ptr"), Number(8))),
        ("ceil_div(n, 256)", op("ceil_div", Read("n", 9), Number(256))),
        ("min(1, 2, 3)", op("min", Number(1), Number(2), Number(3))),
        ("a == True", op("==", A, Number(1))),
        ("not a < 2", op("not", op("<", Read("a", 4), Number(2)))),
        ("0 < a <= b", op("and", op("<", Number(0), Read("a", 4)),
                          op("<=", Read("a", 4), Read("b", 9)))),
        ("a or b and c or d", op("or", A, op("and", Read("b", 5), Read("c", 11)), Read("d", 16))),
    ],
)  # fmt: skip
def test_an_expression_is_read(text, tree):
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("x.numel()", "x.numel"),
        ("x.size(0)", "x.shape[0]"),
        ("x.stride(-1)", "x.stride[-1]"),
        ("cdiv(256, 2)", "ceil_div(256, 2)"),
    ],
)
def test_what_torch_and_triton_write_means_the_same(theirs, ours):
    assert parse(theirs) == parse(ours)


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("n / 256", "256", "use // or ceil_div(a, b) in place of /"),
        ("1.5 * n", "1.5 * n", "an expression has"),
        ("n + 9223372036854775808", "9223372036854775808", "an expression has"),
        ("n + x.dim()", "x.dim()", "an expression has"),
        ("in.numel", "in.numel", "'in' is a word of Python's: rename the parameter, by params="),
        ("min(n)", "min(n)", "min has 1 arguments"),
        ("x.shape[n]", "n]", "an index is an integer from -64 to 63"),
    ],
)
def test_a_refusal_points_at_the_character(text, at, what):
    with pytest.raises(ValueError) as error:
        parse(text)
    assert what in str(error.value)
    assert pointed_at(error) == at


@pytest.mark.parametrize("text", ["n +", "ceil_div(n", "n n", "1 2", "n $ 2", "= 3", "a; b", "n\\"])
def test_what_is_no_expression_at_all_is_refused(text):
    with pytest.raises(ValueError, match="not an expression") as error:
        parse(text)
    assert f"\n  {text}\n" in str(error.value)


@pytest.mark.parametrize("text", ["", " \t ", "n\0", "n\ud800"])
def test_text_that_is_unfit_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)
