"""Functions of several instances, bound: what each takes, what is said of them, what is refused."""

import pytest
from kernel_refs import bound, figure, instance, kernel_ref

from tvmffi_cubin import Launch
from tvmffi_cubin.functions.bind import function as made
from tvmffi_cubin.functions.function import WHEN

SHAPE = {"grid": 1, "block": 1}


def dispatched(name, instances, doc=""):
    return made(name, instances, doc=doc)


# Conditions, bound


def test_a_condition_is_bound_over_the_function_s_parameters():
    function = instance("k(const float* x, int n, bool f)", "n == x.numel and (f or f == 1)")
    (launch,) = function.launches
    when = figure(launch, WHEN)
    assert when.text == "n == x.numel and (f or f == 1)"
    same, either = [3, 1, 0, 4, 0, 0, 18], [3, 2, 0, 26, 6, 0, 3, 2, 0, 1, 1, 18]
    assert when.code == bytes([*same, 25, len(either), 0, *either, 0])
    assert [p.in_expression for p in function.params] == [True, True, True]


def test_a_condition_reads_what_args_give():
    function = instance("k(const float* x, int n)", "n % 4 == 0", args={"n": "x.numel * 2"})
    code = [4, 0, 0, 1, 2, 12, 1, 4, 14, 1, 0, 18]
    assert figure(function.launches[0], WHEN).code == bytes([*code, 0])


def test_a_condition_needs_of_a_tensor_what_it_reads():
    function = instance("k(const float* x, const float* y, int n)", "x.shape[1] > y.stride[0]")
    x, y, _ = function.params
    assert (x.min_rank, x.strided, y.min_rank, y.strided) == (2, False, 1, True)


def test_an_address_needs_no_tensor():
    function = instance("k(const float* x)", "x.data_ptr % 16 == 0")
    assert not function.params[0].in_expression


@pytest.mark.parametrize(
    ("when", "text", "caret_at"),
    [
        ("m == 0", "unknown name 'm'; there are x, n, a, f, num_sms", 0),
        ("n == 0 or not x", "'x' is a tensor; wanted one of its .shape", 14),
        ("n > a", "'a' is 'float'; expressions are integer arithmetic", 4),
        ("x == 0", "'x' is a tensor; wanted one of its .shape", 0),
        ("n.data_ptr == 0", "'n' is 'int', not a tensor", 0),
    ],
)
def test_a_condition_s_wrong_name_is_pointed_at(when, text, caret_at):
    with pytest.raises(ValueError) as error:
        instance("k(const float* x, int n, float a, bool f)", when)
    message, _, caret = str(error.value).rsplit("\n", 2)
    assert "function 'f', kernel 'k': when: " in message
    assert text in message
    assert caret == " " * (2 + caret_at) + "^"


# Several instances


def test_each_instance_takes_what_its_own_kernels_take():
    function = dispatched(
        "scale",
        [
            instance("s<float>(const float* x, float by, int n)", "n % 4 == 0"),
            instance("s<double>(const double* x, double by)", args={"by": 2.0}),
            bound("one(int* x, int n)", "two(int* x)"),
        ],
    )
    assert function.signatures == (
        "s<float>(const float* x, float by, int n) when n % 4 == 0",
        "s<double>(const double* x)",
        "one + two(int* x, int n)",
    )
    assert [launch.kernel.signature.display for launch in function.launches] == [
        *("s<float>", "s<double>", "one", "two"),
    ]


def test_the_conditions_of_an_instance_s_launches_are_all_shown():
    launches = [
        (Launch(**SHAPE, when=when), kernel_ref(f"k{i}(int n)"))
        for i, when in enumerate(("n > 0 or n < -9", "n != 7"))
    ]
    told = bound(*launches).told
    assert told == "k0 + k1(int n) when (n > 0 or n < -9) and (n != 7)"


def test_the_facts_have_the_instances_together_and_each_by_itself():
    function = dispatched(
        "f",
        [instance("a(const float* x, int n)"), instance("b(const int* x, long m, bool c)", "c")],
        doc="Either.",
    )
    assert function.facts() == {
        "signature": "a(const float* x, int n)\nb(const int* x, long m, bool c) when c",
        "params": [["x", "const float* | const int*"], ["n | m", "int | long"], ["c", "bool"]],
        "doc": "Either.",
        "instances": [
            {
                "signature": "a(const float* x, int n)",
                "params": [["x", "const float*"], ["n", "int"]],
                "launches": [{"kernel": "a", "image": "kernels", "grid": [1], "block": [1]}],
            },
            {
                "signature": "b(const int* x, long m, bool c) when c",
                "params": [["x", "const int*"], ["m", "long"], ["c", "bool"]],
                "launches": [
                    {"kernel": "b", "image": "kernels", "grid": [1], "block": [1], "when": "c"}
                ],
            },
        ],
        "bound": [],
        "fixes_block": True,
        "callers_grid": None,
    }


@pytest.mark.parametrize(
    ("grids", "common"),
    [
        ([{}, {}], {"meta": {}, "unit": 1}),
        ([{"meta": {"B": 2}}, {"meta": {"B": 2}}], {"meta": {"B": 2}, "unit": 1}),
        ([{"meta": {"B": 2}}, {"meta": {"B": 4}}], {"meta": None, "unit": 1}),
        ([{}, {"blocks_per_program": 2}], None),
        ([{}, {"grid": 1}], None),
        ([{"grid": 1}, {}], None),
    ],
)
def test_a_caller_s_grid_means_what_it_does_for_all_instances(grids, common):
    made = [
        bound((Launch(block=32, when=f"n == {i}", **options), kernel_ref("k(int n)")))
        for i, options in enumerate(grids)
    ]
    assert dispatched("f", made).facts()["callers_grid"] == common


# Instances that are never launched


def test_an_instance_behind_one_that_fits_whatever_it_fits_is_an_error():
    instances = [
        instance("k<4>(const float* x, int n)", "n % 4 == 0"),
        instance("k<1>(const float* x, int n)"),
        instance("k<2>(const float* y, int n)", "n % 2 == 0"),
    ]
    with pytest.raises(ValueError) as error:
        dispatched("f", instances)
    assert str(error.value) == (
        "function 'f': instance 3 is never launched:\n"
        "  k<2>(const float* y, int n) when n % 2 == 0\n"
        "instance 2 fits whatever it fits:\n"
        "  k<1>(const float* x, int n)\n"
        "give the latter a when=, put it last, or leave one out"
    )


def declared(params: str):
    return instance(f"k({params.partition(':')[0]})", params=params)


def test_what_takes_less_comes_first():
    more, less = declared("float* x"), declared("float* x: ndim=2")
    dispatched("f", [less, more])
    with pytest.raises(ValueError, match="instance 2 is never launched"):
        dispatched("f", [more, less])


def test_a_pointer_to_anything_takes_every_tensor():
    with pytest.raises(ValueError, match="instance 2 is never launched"):
        dispatched("f", [instance("a(void* x)"), instance("b(const float* x)")])


def test_what_takes_the_same_comes_once():
    with pytest.raises(ValueError, match="instance 2 is never launched"):
        dispatched("f", [declared("float a"), declared("float b")])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (instance("a(float* x)"), instance("b(double* x)")),
        (instance("a(float* x)"), instance("b(void* x)")),
        (instance("a(float* x)"), instance("b(float* x, int n)")),
        (instance("a(float* x)"), instance("b(float* x)", strided="x")),
        (instance("a(float* x)", grid="x.shape[1]"), instance("b(float* x)")),
        (instance("a(float* x)", grid="x.numel"), instance("b(float* x)")),
        (instance("a(int n)"), instance("b(unsigned n)")),
        (instance("a(float n)"), instance("b(__half n)")),
        (instance("a(int n)"), instance("b(bool n)")),
        (instance("a(float* x)", "x.data_ptr % 8 == 0"), instance("b(float* x)")),
    ],
)
def test_instances_that_differ_in_what_they_take_may_follow_each_other(first, second):
    assert len(dispatched("f", [first, second]).instances) == 2


def test_a_signature_says_what_tells_instances_of_the_same_types_apart():
    kernel = "k(const float* x, const float* y, int n, int s)"
    ref = kernel_ref(kernel)
    first = Launch(
        multiple_of={"x": 16, "n": 16, "y": 4},
        equal_to={"s": 1},
        params="const float* x: ndim=2, const float* y, int n, int s",
        **SHAPE,
    )
    instances = [bound((launch, ref)) for launch in (first, Launch(**SHAPE))]
    types = "k(const float* x, const float* y, int n, int s)"
    assert dispatched("k", instances).signatures == (
        f"{types} where x has rank 2, x is a multiple of 16, y is a multiple of 4, "
        "n is a multiple of 16, s is 1",
        types,
    )
