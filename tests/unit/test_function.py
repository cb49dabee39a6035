"""What an exported function takes: the union of its launches' parameters, and `params=`."""

import pytest
from kernel_refs import bound, kernel_ref, passed

from tvmffi_cubin import Launch
from tvmffi_cubin.kernels.types import parse_type

SAXPY = "saxpy(float a, const float* x, float* y, int n)"


def shaped(**options) -> Launch:
    return Launch(grid=1, block=1, **options)


# What is exported


def test_a_kernel_s_parameters_are_exported_in_order():
    function = bound(SAXPY)
    assert function.declared_params == "float a, const float* x, float* y, int n"
    assert passed(function) == ["a", "x", "y", "n"]


def test_args_are_not_exported():
    function = bound((shaped(args={"n": "x.numel", "a": 2}), kernel_ref(SAXPY)))
    assert function.declared_params == "const float* x, float* y"


def test_several_launches_export_the_union_in_order_of_first_appearance():
    function = bound(
        "one(const float* x, float* t, int n)", "two(int m, float* t, float* y, int n)"
    )
    assert function.declared_params == "const float* x, float* t, int n, int m, float* y"
    assert passed(function, 1) == ["m", "t", "y", "n"]


def test_a_kernel_without_parameters_exports_none():
    function = bound("tick()")
    assert function.declared_params == ""
    assert passed(function) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [("float* t", "const float* t"), ("const float* t", "float* t")],
)
def test_what_one_launch_writes_and_another_reads_is_one_parameter(first, second):
    function = bound(f"one({first})", f"two({second})")
    assert function.declared_params == "float* t"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("int n", "long n"),
        ("int n", "unsigned n"),
        ("float n", "double n"),
        ("float* n", "int* n"),
        ("float* n", "float4* n"),
        ("float* n", "void* n"),
        ("float* n", "long n"),
        ("const float** n", "float* n"),
        ("bool n", "char n"),
    ],
)
def test_conflicting_types_are_an_error_that_says_how_to_resolve_it(first, second):
    with pytest.raises(ValueError) as error:
        bound(f"one({first})", f"two({second})", name="both")
    text = str(error.value)
    assert "function 'both', kernel 'two'" in text
    assert "'n' is " in text
    for declared in (first, second):
        assert f"'{parse_type(declared.removesuffix(' n')).text}'" in text
    assert text.endswith("give it another name, or a value by args=")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("int64_t n", "long long n"),
        ("unsigned n", "uint32_t n"),
        ("int64_t* n", "long long* n"),
        ("const int64_t* n", "const long long* n"),
        ("size_t* n", "const uint64_t* n"),
    ],
)
def test_one_type_in_two_spellings_is_no_conflict(first, second):
    function = bound(f"one({first})", f"two({second})", name="both")
    assert function.declared_params == f"{parse_type(first.removesuffix(' n')).text} n"


def test_the_remedy_for_conflicting_integers_works():
    function = bound(
        "one(long n)", (shaped(args={"n": "n"}), kernel_ref("two(int n)")), name="both"
    )
    assert function.declared_params == "long n"


def test_a_parameter_of_a_device_figure_s_name_is_the_parameter():
    launch = Launch(grid=1, block="max_cooperative_blocks")
    function = bound((launch, kernel_ref("k(int max_cooperative_blocks)")))
    assert function.params[0].in_expression


def test_an_unknown_scheduling_policy_names_those_there_are():
    launch = Launch(grid=2, block=1, cluster=2, cluster_scheduling_policy="SPREAD")
    with pytest.raises(
        ValueError, match=r"policy \(default, spread, load_balancing\): unknown name 'SPREAD'"
    ):
        bound((launch, kernel_ref("k(int n)")))


def test_structs_of_one_name_and_of_two_sizes_conflict():
    with pytest.raises(ValueError, match="of 8 bytes here and .* of 16 bytes before"):
        bound(
            (shaped(), kernel_ref("one(Pair p)", sizes={"p": 16})),
            (shaped(), kernel_ref("two(Pair p)", sizes={"p": 8})),
        )


# params=


def test_params_override_order_and_types():
    launch = shaped(params="int n, float* y, const void* x, float a")
    function = bound((launch, kernel_ref(SAXPY)))
    assert function.declared_params == "int n, float* y, const void* x, float a"
    assert passed(function) == ["a", "x", "y", "n"]


def test_params_may_add_what_only_expressions_use():
    launch = Launch(
        grid="blocks",
        block="t.shape[1]",
        params="const float* x, float* y, int blocks, const int* t",
        args={"a": 1.5, "n": "t.numel"},
    )
    function = bound((launch, kernel_ref(SAXPY)))
    assert function.declared_params == "const float* x, float* y, int blocks, const int* t"
    assert function.params[3].min_rank == 2


def test_params_give_a_rank():
    function = bound((shaped(params="float* x: ndim=2"), kernel_ref("k(float* x)")))
    assert function.params[0].ndim == 2


def test_a_rank_that_a_later_launch_declares_holds_for_all():
    later = (shaped(params="float* x: ndim=2"), kernel_ref("two(float* x)"))
    assert bound("one(float* x)", later).params[0].ndim == 2


def test_two_ranks_for_one_parameter_conflict():
    with pytest.raises(ValueError, match="'x' is .* and rank 3 here and .* and rank 2 before"):
        bound(
            (shaped(params="float* x: ndim=2"), kernel_ref("one(float* x)")),
            (shaped(params="float* x: ndim=3"), kernel_ref("two(float* x)")),
        )


def test_a_kernel_without_a_source_is_declared():
    ref = kernel_ref("k(float* x, int n)", known=False)
    function = bound((shaped(params="float* out, unsigned count"), ref))
    assert function.declared_params == "float* out, unsigned int count"


def test_an_undeclared_kernel_without_a_source_says_what_to_declare():
    ref = kernel_ref("k(float* x, int n)", known=False)
    with pytest.raises(ValueError, match="declare its parameters"):
        bound((shaped(), ref))


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ("float* x", "the image has 2 parameters .bytes: 8, 4., but 1 are declared"),
        ("float* x, long n", r"'n'. is declared 'long', which has 8 bytes, but the image's has 4"),
    ],
)
def test_declared_parameters_must_fit_the_image(params, text):
    ref = kernel_ref("k(float* x, int n)", known=False)
    with pytest.raises(ValueError, match=text) as error:
        bound((shaped(params=params), ref))
    assert "function 'f', kernel 'k'" in str(error.value)


@pytest.mark.parametrize("params", ["int* x, float n", "unsigned* x, unsigned n", "long x, int n"])
def test_declared_parameters_must_agree_with_the_source_in_kind(params):
    with pytest.raises(ValueError, match="the source has '(int|int\\*)'"):
        bound((shaped(params=params), kernel_ref("k(int* x, int n)")))


def test_declared_parameters_that_do_not_parse_are_an_error_of_the_function():
    with pytest.raises(ValueError, match="function 'f', kernel 'k': in '': expected a type"):
        bound((shaped(params="float* x,"), kernel_ref("k(float* x)")))


def test_a_struct_can_be_declared_where_the_source_s_type_is_not_known():
    ref = kernel_ref("k(Mode mode)", sizes={"mode": 4})
    assert bound((shaped(params="int mode"), ref)).declared_params == "int mode"


def test_a_parameter_that_only_expressions_use_has_a_type_of_known_size():
    with pytest.raises(ValueError, match="'Shape s', a type of unknown size"):
        bound((shaped(params="float* x, Shape s"), kernel_ref("k(float* x)")))


def test_declared_pointers_must_point_to_what_the_source_has():
    with pytest.raises(ValueError, match=r"'double\* x', the source has 'float\*'"):
        bound((Launch(1, 1, params="double* x"), kernel_ref("k(float* x)")))
    assert bound((Launch(1, 1, params="void* x"), kernel_ref("k(float* x)"))).params[0].name == "x"
