"""The language of expressions and conditions: what it reads, and where an error points."""

import pytest

from tvmffi_cubin.launches.expression import parse


def pointed_at(error: pytest.ExceptionInfo) -> str:
    """What the caret of a message stands under: the rest of the expression from there."""
    _, text, caret = str(error.value).rsplit("\n", 2)
    return text[caret.index("^") :]


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
        ("n / 256", "256", "use // or ceil_div(a, b) instead of /"),
        ("1.5 * n", "1.5 * n", "an expression can use"),
        ("n + x.dim()", "x.dim()", "an expression can use"),
        ("in.numel", "in.numel", "a Python keyword cannot be a name: rename the parameter with"),
        ("cdiv(n)", "cdiv(n)", "an expression can use"),
        ("x.shape[n]", "n]", "an index must be an integer from -64 to 63"),
    ],
)
def test_a_refusal_points_at_the_character(text, at, what):
    with pytest.raises(ValueError) as error:
        parse(text)
    assert what in str(error.value)
    assert pointed_at(error) == at


@pytest.mark.parametrize("text", ["n +", "ceil_div(n", "n n", "1 2", "n $ 2", "= 3", "a; b", "n\\"])
def test_what_is_no_expression_at_all_is_refused(text):
    with pytest.raises(ValueError, match="invalid expression") as error:
        parse(text)
    assert f"\n  {text}\n" in str(error.value)


@pytest.mark.parametrize("text", ["", " \t ", "n\0", "n\ud800"])
def test_text_that_is_unfit_is_refused(text):
    with pytest.raises(ValueError):
        parse(text)
