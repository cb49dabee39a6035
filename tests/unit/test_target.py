"""Where launches go, as their author says it: what its expressions may read, and that all agree."""

import pytest
from kernel_refs import bound, kernel_ref

from tvmffi_cubin import Launch

PARAMS = "float* x, int64_t s, uint64_t u, void* p, int d, float f"


def target(params: str = PARAMS, args: str = "float* x", **fields):
    launch = Launch(grid=1, block=1, params=params, **fields)
    return bound((launch, kernel_ref(f"k({args})"))).target


def test_a_launch_that_says_nothing_has_none():
    assert target() is None


@pytest.mark.parametrize("stream", ["s", "u", "p", "s + 0", "d", "x.shape[0]", 0, 2])
def test_a_stream_is_an_integer_a_pointer_or_a_constant(stream):
    assert target(stream=stream).stream is not None
    assert target(stream=stream).device is None


@pytest.mark.parametrize("type_", ["CUstream", "cudaStream_t", "CUstream_st*", "const void*"])
def test_a_stream_may_be_declared_as_the_driver_and_the_runtime_do(type_):
    launch = Launch(grid=1, block=1, params=f"float* x, {type_} s", stream="s")
    function = bound((launch, kernel_ref("k(float* x)")))
    assert function.declared_params == f"float* x, {type_} s"
    assert function.target.stream is not None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stream": "q"}, r"kernel 'k': stream: unknown name 'q'; there are x, s"),
        ({"stream": "f"}, "stream: 'f' is 'float'; expressions are integer arithmetic"),
        ({"stream": "p + 1"}, "stream: 'p' is a tensor"),
        ({"device": "p"}, "device: 'p' is a tensor"),
        ({"device": "num_sms"}, "device: num_sms is not known yet"),
        ({"stream": "s * num_sms"}, "stream: num_sms is not known yet"),
        ({"device": "max_cooperative_blocks"}, "device: max_cooperative_blocks is not"),
    ],
)
def test_what_an_expression_cannot_read_is_refused_by_name(fields, message):
    with pytest.raises(ValueError, match=message):
        target(**fields)


def pair(first: dict, second: dict):
    launches = (Launch(grid=1, block=1, params=PARAMS, **fields) for fields in (first, second))
    return bound(*((launch, kernel_ref("k(float* x, int n)")) for launch in launches))


def test_all_launches_of_a_function_go_to_one_place():
    fields = {"stream": "s+ (d)", "args": {"n": 1}, "device": "d"}
    function = pair(fields, fields)
    assert function.target.stream.text == "s+ (d)"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"stream": "s"}, {}),
        ({}, {"device": 0}),
        ({"stream": 1}, {"stream": 2}),
        ({"stream": "n"}, {"stream": "n", "args": {"n": "d"}}),
        ({"stream": "s", "device": "d"}, {"stream": "s", "device": "min(d, 1)"}),
    ],
)
def test_launches_that_go_to_two_places_are_refused(first, second):
    args = {"args": {"n": 1}}
    with pytest.raises(ValueError, match="one call goes to one stream of one device"):
        pair(args | first, args | second)


def test_over_replaces_names_there_too():
    launch = Launch(kernel="k<N>", params="int64_t s", stream="s + N", device="N")
    (made,) = launch.over(N=[2]).launches
    assert (made.stream, made.device) == ("s + 2", 2)
