"""`args=` of a launch: constants, aliases, expressions; `strided=`; names that nobody has."""

import pytest
from kernel_refs import bound, computed, figure, kernel_ref

from tvmffi_cubin import Launch
from tvmffi_cubin.functions.function import (
    BLOCK,
    FROM_ARGUMENT,
    FROM_CONSTANT,
    GRID,
    Formula,
    Source,
)

SAXPY = "saxpy(float a, const float* x, float* y, int n)"


def launched(declaration: str, args, *, sizes=None):
    """The one launch of a function, and what it takes."""
    launch = Launch(grid=1, block=1, args=args)
    function = bound((launch, kernel_ref(declaration, sizes=sizes)))
    return function.launches[0], function.params


def alias(declaration: str, args, *, sizes=None) -> str:
    """The function's parameter that the kernel's last one is."""
    launch, params = launched(declaration, args, sizes=sizes)
    assert launch.sources[-1].kind == FROM_ARGUMENT
    return params[launch.sources[-1].number].name


# Constants


@pytest.mark.parametrize(
    ("declaration", "value", "data"),
    [
        ("k(int v)", -2, b"\xfe\xff\xff\xff"),
        ("k(unsigned long v)", 2**64 - 1, b"\xff" * 8),
        ("k(float v)", 1.0, b"\x00\x00\x80\x3f"),
        ("k(__half v)", 1, b"\x00\x3c"),
        ("k(__nv_bfloat16 v)", 1, b"\x80\x3f"),
        ("k(bool v)", True, b"\x01"),
        ("k(float* v)", None, bytes(8)),
        ("k(Pair v)", b"abcd", b"abcd"),
    ],
)
def test_a_constant_is_the_parameter_s_bytes(declaration, value, data):
    launch, _ = launched(declaration, {"v": value}, sizes={"v": 4})
    assert launch.sources == (Source(FROM_CONSTANT, data=data),)


@pytest.mark.parametrize(
    ("declaration", "value", "error", "text"),
    [
        ("k(int v)", 2**31, ValueError, "2147483648 is out of the range of int"),
        ("k(int v)", 1.0, TypeError, "got 1.0, but int takes an int"),
        ("k(bool v)", 1, TypeError, "got 1, but bool takes a bool"),
        ("k(float* v)", 0, TypeError, r"got 0, but float\* takes None"),
        ("k(Pair v)", b"abc", ValueError, "got 3 bytes, wanted 4"),
    ],
)
def test_a_constant_that_does_not_fit_names_function_kernel_and_parameter(
    declaration, value, error, text
):
    with pytest.raises(error, match=text) as caught:
        launched(declaration, {"v": value}, sizes={"v": 4})
    assert "function 'f', kernel 'k': args['v']" in str(caught.value)


# Aliases and expressions


def test_the_name_of_a_parameter_of_the_same_type_is_that_parameter():
    assert alias("k(float a, float b)", {"b": "a"}) == "a"
    assert alias("k(const float* x, float* y)", {"y": "x"}) == "x"
    assert alias("k(float* x, const float* y)", {"y": "x"}) == "x"
    assert alias("k(bool a, bool b)", {"b": "a"}) == "a"
    assert alias("k(int a, int b)", {"b": "a"}) == "a"
    assert alias("k(Pair a, Pair b)", {"b": "a"}, sizes={"a": 12, "b": 12}) == "a"
    assert alias("k(float* x, void* y)", {"y": "x"}) == "x"
    assert alias("k(float4* x, float* y)", {"y": "x"}) == "x"


@pytest.mark.parametrize(
    "declaration",
    [
        "k(int* x, float* y)",
        "k(float* x, float4* y)",
        "k(void* x, float* y)",
        "k(long x, float* y)",
        "k(float* x, Pair y)",
        "k(Other x, Pair y)",
    ],
)
def test_the_name_of_a_parameter_of_another_type_is_refused(declaration):
    with pytest.raises(ValueError, match=r"args\['y'\]: .* takes a parameter of the same type"):
        launched(declaration, {"y": "x"}, sizes={"x": 16, "y": 16})


@pytest.mark.parametrize(
    "declaration", ["k(int x, long y)", "k(long x, int y)", "k(int x, float y)"]
)
def test_an_integer_of_another_width_is_converted(declaration):
    launch, _ = launched(declaration, {"y": "x"})
    assert computed(launch).text == "x"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("n", [3, 0, 0, 24, 24]),
        ("n > 4", [3, 0, 0, 1, 4, 22, 24, 24]),
        ("f and n", [3, 1, 0, 25, 3, 0, 3, 0, 0, 24, 24]),
    ],
)
def test_a_bool_takes_an_expression_as_1_or_0(text, code):
    launch, _ = launched("k(int n, bool f, bool y)", {"y": text})
    assert computed(launch) == Formula(text, bytes([*code, 0]))


def test_a_bool_that_args_give_is_read_as_1_or_0():
    launch = Launch(grid="y + 1", block=1, args={"y": "n"})
    (made,) = bound((launch, kernel_ref("k(int n, bool y)"))).launches
    assert figure(made, GRID).code == bytes([3, 0, 0, 24, 24, 1, 1, 10, 0])


def test_an_expression_is_computed():
    launch, _ = launched("k(const float* x, long n)", {"n": "x.shape[0] * 4"})
    assert computed(launch).text == "x.shape[0] * 4"
    assert (launch.steps[-1].axis, launch.steps[-1].id) == (1, 8)


def test_an_expression_may_read_what_a_later_launch_takes():
    first = (Launch(grid="y.numel", block=1), kernel_ref("one(float* x)"))
    function = bound(first, "two(float* y)")
    assert function.params[1].in_expression


@pytest.mark.parametrize(
    ("args", "text", "caret_at"),
    [
        ({"n": "z.numel"}, "unknown name 'z'; there are a, x, y, num_sms", 0),
        ({"n": "2 * count"}, "unknown name 'count'", 4),
        ({"n": "n + 1"}, "'n' is what this expression gives", 0),
        ({"n": "x * 2"}, "'x' is a tensor; wanted one of its .shape", 0),
        ({"n": "1 + a"}, "'a' is 'float'; expressions are integer arithmetic", 4),
        ({"n": "a.numel"}, "'a' is 'float', not a tensor", 0),
        ({"n": "num_sms.numel"}, "unknown name 'num_sms'", 0),
    ],
)
def test_an_expression_s_wrong_name_is_pointed_at(args, text, caret_at):
    with pytest.raises(ValueError) as error:
        launched(SAXPY, args)
    message, _, caret = str(error.value).rsplit("\n", 2)
    assert text in message
    assert "function 'f', kernel 'saxpy': args['n']" in message
    assert caret == " " * (2 + caret_at) + "^"


def test_a_figure_s_wrong_name_is_pointed_at():
    with pytest.raises(ValueError, match=r"kernel 'k': block\.y: unknown name 'm'"):
        bound((Launch(grid=1, block=(1, "m")), kernel_ref("k(int n)")))


def test_args_for_a_parameter_that_there_is_not_list_those_there_are():
    with pytest.raises(ValueError, match="args gives 'm', .* there are a, x, y, n"):
        launched(SAXPY, {"m": 3})


def test_a_parameter_called_num_sms_is_the_parameter():
    function = bound((Launch(grid="num_sms", block=1), kernel_ref("k(int num_sms)")))
    assert function.params[0].in_expression


# Expressions that read what other args give


def test_an_expression_may_read_what_args_give():
    launch = Launch(grid="ceil_div(n, per)", block="per", args={"n": "x.numel", "per": 64})
    ref = kernel_ref("k(const float* x, int n, unsigned per)")
    (bound_launch,) = bound((launch, ref)).launches
    assert figure(bound_launch, GRID).code == bytes([4, 0, 0, 1, 64, 15, 0])
    assert figure(bound_launch, BLOCK).code == bytes([1, 64, 0])


def test_args_may_read_each_other_in_any_order():
    launch = Launch(grid=1, block=1, args={"c": "b + 1", "b": "a * 2", "a": "x.shape[0]"})
    function = bound((launch, kernel_ref("k(const float* x, int a, int b, int c)")))
    code = computed(function.launches[0]).code
    assert code == bytes([5, 0, 0, 0, 1, 2, 12, 1, 1, 10, 0])
    assert function.params[0].min_rank == 1


def test_an_alias_is_the_tensor_it_stands_for():
    launch = Launch(grid="y.numel", block=1, args={"y": "x"})
    function = bound((launch, kernel_ref("k(const float* x, float* y)")))
    assert figure(function.launches[0], GRID).code == bytes([4, 0, 0, 0])


def test_the_function_s_own_parameter_comes_before_what_args_give():
    second = Launch(grid="n", block=1, args={"n": "n * 2"})
    function = bound("one(long n)", (second, kernel_ref("two(int n)")))
    assert figure(function.launches[1], GRID).code == bytes([3, 0, 0, 0])


@pytest.mark.parametrize(
    ("args", "grid", "text"),
    [
        ({"n": "m", "m": "n"}, 1, "'n' is what this expression gives"),
        ({"a": 1.5}, "a", "'a' is 'float', given by args as 1.5; expressions are integer"),
        ({"a": "n"}, "a", "'a' is 'float', given by args as 'n'; expressions are integer"),
        ({"x": None}, "x.numel", "'x' is given by args as None, not as a tensor"),
        ({"n": "m + 1"}, "n.numel", "'n' is given by args as 'm \\+ 1', not as a tensor"),
        ({"u": 2**64 - 1}, "u", "'u' is 'unsigned long', given by args as 18446744073709551615"),
    ],
)
def test_args_that_cannot_be_read_are_pointed_at(args, grid, text):
    ref = kernel_ref("k(float a, const float* x, int n, int m, unsigned long u)")
    with pytest.raises(ValueError, match=text) as error:
        bound((Launch(grid=grid, block=1, args=args), ref))
    assert "function 'f', kernel 'k': " in str(error.value)


# Strides


def test_a_tensor_is_strided_where_it_says_so_or_where_strides_are_read():
    ref = kernel_ref("k(float* x, float* y, float* z, long s)")
    launch = Launch(grid=1, block=1, strided="x", args={"s": "y.stride[-2]"})
    function = bound((launch, ref))
    assert [p.strided for p in function.params] == [True, True, False]
    assert [p.min_rank for p in function.params] == [0, 2, 0]


def test_strided_names_a_parameter():
    with pytest.raises(ValueError, match="strided names 'z', wanted one of x"):
        bound((Launch(grid=1, block=1, strided=["z"]), kernel_ref("k(float* x)")))


def test_strided_names_a_tensor():
    with pytest.raises(ValueError, match="strided names 'n', wanted one of x"):
        bound((Launch(grid=1, block=1, strided=["n"]), kernel_ref("k(float* x, int n)")))


# Kernels whose names come from a macro


def test_a_declaration_names_a_macro_s_parameters():
    ref = kernel_ref("k(float* arg0, int arg1)", names_known=False)
    launch = Launch(grid=1, block=1, params="float* x, int n", args={"n": "x.numel"})
    assert bound((launch, ref)).declared_params == "float* x"
