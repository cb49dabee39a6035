"""Kernel parameters that callers do not pass: what launches get, and what keeps it alive."""

import gc
import weakref

import numpy as np
import pytest
from bound_fixtures import bound_fixtures
from processes import together
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = """
extern "C" __global__ void k(
    const float* x, int n, unsigned long long* counters, unsigned limit, float scale) {}
extern "C" __global__ void next(float* x, unsigned limit) {}
extern "C" __global__ void bare() {}
template <typename T> __global__ void fill(T* x, unsigned limit) {}
"""
BOUND = {"counters": tc.Bound(), "limit": tc.Bound(), "scale": tc.Bound()}
SHAPE = {"grid": 1, "block": 32}
FUNCTIONS = {
    "k": tc.Launch(args=BOUND, **SHAPE),
    "renamed": tc.Launch(kernel="k", args={**BOUND, "limit": tc.Bound("most")}, **SHAPE),
    "strict": tc.Launch(kernel="next", args={"limit": tc.Bound("limit", required=True)}, **SHAPE),
    "fill": tc.Dispatch(
        tc.Launch(kernel=f"fill<{T}>", args={"limit": tc.Bound()}, **SHAPE)
        for T in ("float", "int")
    ),
    "bare": tc.Launch(grid=1, block=1),
    "strided": tc.Launch(kernel="k", args=BOUND, strided="counters", **SHAPE),
}
K = "PiPIf"


def build():
    return tc.load_inline("bound", SOURCE, functions=FUNCTIONS, arch="sm_90")


built, mod = bound_fixtures(build, ("counters", "limit", "scale", "most"))


def counters(stub, device=0, **kind):
    return cuda_array(stub, 8, "uint64", device=device, **kind)


class TestALaunch:
    def test_gets_what_is_bound(self, mod, x, driver_stub):
        buffer = counters(driver_stub)
        mod.bind("k", counters=buffer, limit=7, scale=0.5)
        mod.k(x, 3)
        mod.k[2, 64](x, 4)
        mod.unload()
        with driver_stub.stream() as stream:
            mod.k.on(stream)(x, 5)
        assert [launch.values(K) for launch in driver_stub.launches()] == [
            (x.data_ptr, n, buffer.data_ptr, 7, 0.5) for n in (3, 4, 5)
        ]

    def test_gets_what_is_bound_for_its_device(self, mod, driver_stub):
        first, second = (counters(driver_stub, device) for device in (0, 1))
        mod.bind("k", counters=first, limit=1)
        mod.bind("k", counters=second)
        mod.bind("k", limit=2, device=1)
        for device in (0, 1):
            mod.k(cuda_array(driver_stub, 4, device=device), 0)
        got = [(launch.device, *launch.values(K)[2:4]) for launch in driver_stub.launches()]
        assert got == [(0, first.data_ptr, 1), (1, second.data_ptr, 2)]

    def test_that_needs_one_says_what_to_call(self, mod, x, driver_stub):
        mod.bind("strict", limit=1, device=1)
        with pytest.raises(tc.LaunchError) as error:
            mod.strict(x)
        assert 'on device 0: call mod.bind("strict", limit=...) first' in str(error.value)
        assert driver_stub.launches() == []
        mod.bind("strict", limit=4)
        mod.strict(x)
        assert driver_stub.launches()[0].values("PI")[1] == 4


class TestBinding:
    def test_hides_the_parameters_from_callers(self, mod):
        assert mod.k.signature == "k(const float* x, int n)"
        bound = {name: facts["bound"] for name, facts in mod.manifest["functions"].items()}
        assert bound["renamed"][1] == ["most", "unsigned int", False]
        assert bound["fill"] == [["limit", "unsigned int", False]]
        assert bound["strict"] == [["limit", "unsigned int", True]]

    def test_without_a_function_reaches_all_that_have_the_name(self, mod, x, driver_stub):
        mod.bind(limit=6)
        for function in (mod.k, mod.renamed):
            function(x, 1)
        mod.strict(x)
        k, renamed, strict = driver_stub.launches()
        assert (k.values(K)[3], renamed.values(K)[3], strict.values("PI")[1]) == (6, 0, 6)

    def test_keeps_the_tensor_alive_until_something_else_is_bound(self, mod, driver_stub):
        buffer = counters(driver_stub)
        gone = weakref.ref(buffer)
        mod.bind("k", counters=buffer)
        del buffer
        gc.collect()
        assert gone() is not None
        mod.bind("k", counters=counters(driver_stub, 1))
        assert gone() is not None
        mod.bind("k", counters=None, device=0)
        gc.collect()
        assert gone() is None

    def test_of_a_wrong_value_is_refused_and_changes_nothing(self, mod, x, driver_stub):
        mod.bind("k", limit=7)
        for values, message in (
            ({"limit": -1}, r"bind: limit \(unsigned int\): got the int -1, expected "),
            ({"limit": "many"}, r"bind: limit .*: got a str, expected an"),
            ({"limit": 1, "counters": np.zeros(3, np.uint64)}, "on cpu, expected one"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                mod.bind("k", **values)
        mod.k(x, 1)
        assert driver_stub.launches()[0].values(K)[2:] == (0, 7, 0.0)

    def test_takes_other_strides_where_the_launch_does(self, mod, x, driver_stub):
        buffer = counters(driver_stub, strides=(2,))
        with pytest.raises(ValueError, match="counters .*contiguous"):
            mod.bind("k", counters=buffer)
        mod.bind("strided", counters=buffer)
        mod.strided(x, 1)
        assert driver_stub.launches()[0].values(K)[2] == buffer.data_ptr

    def test_is_not_for_expressions(self):
        launch = tc.Launch(kernel="k", grid="limit", block=1, args=BOUND)
        with pytest.raises(ValueError, match="which expressions cannot read"):
            tc.build_inline("wrong", SOURCE, functions={"f": launch}, arch="sm_90")

    def test_of_a_name_that_there_is_not_lists_those_that_there_are(self, mod, ops):
        with pytest.raises(ValueError, match="bare has no .* 'limit'; available: none"):
            mod.bind("bare", limit=1)
        with pytest.raises(ValueError, match="no bound parameter 'cnt'; available: counters, "):
            mod.bind(cnt=1)
        with pytest.raises(ValueError, match="the module has no bound .*; available: none"):
            ops.bind(limit=1)


class TestThreads:
    def test_never_pass_a_mixed_pair(self, mod, driver_stub):
        """Each bind sets two values that belong together, on all devices or on one."""
        pairs = [(limit, float(-limit)) for limit in range(1, 9)]
        arrays = [cuda_array(driver_stub, 4, device=device) for device in (0, 1)]
        mod.bind("k", limit=1, scale=-1.0)

        def work(index):
            if index < 2:
                for limit, scale in pairs[index::2] * 200:
                    mod.bind("k", limit=limit, scale=scale, device=(None, 0)[index])
            else:
                for _ in range(2500):
                    mod.k(arrays[index % 2], 0)

        together(6, work)
        launches = driver_stub.launches()
        assert len(launches) == 10_000
        assert {launch.values(K)[3:] for launch in launches} <= set(pairs)
