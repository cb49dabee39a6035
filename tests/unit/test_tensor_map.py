"""`TensorMap`: what is wrong is told when it is made; what it is of, when it is bound."""

from __future__ import annotations

import pickle

import pytest
from kernel_refs import bound, instance, kernel_ref

from tvmffi_cubin import Launch, TensorMap
from tvmffi_cubin.cache.key import Key
from tvmffi_cubin.functions.function import Formula, MapSource
from tvmffi_cubin.launches.export import Export

CORNERS = {"lower_corner": (-1, -1), "upper_corner": (1, 1)}
PIXELS = {**CORNERS, "channels_per_pixel": 64, "pixels_per_column": 128}


def map_of(function, parameter=0) -> tuple[str, MapSource]:
    """The tensor that a kernel's parameter is a map of, and the map."""
    source = function.launches[0].sources[parameter]
    return function.params[source.number].name, source.data


# What is wrong by itself


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "a tiled map has box_dim, an im2col map lower_corner, upper_corner, chann"),
        ({"box_dim": 16, **PIXELS}, TypeError, "a tiled map has box_dim"),
        ({"box_dim": 16, "pixels_per_column": 8}, TypeError, "a tiled map has box_dim"),
        ({**CORNERS, "pixels_per_column": 8}, TypeError, "a tiled map has box_dim"),
        ({"box_dim": ()}, ValueError, "box_dim has 1 to 5 dimensions, got 0"),
        ({"box_dim": (1,) * 6}, ValueError, "box_dim has 1 to 5 dimensions, got 6"),
        ({"box_dim": ("n +",)}, ValueError, "box_dim[0]: not an expression"),
        ({"box_dim": (1.5,)}, TypeError, "box_dim[0] is an int, got float"),
        ({"box_dim": 16, "swizzle": "256B"}, ValueError, "swizzle is '256B'; there are none, 32B,"),
        ({"box_dim": 16, "dtype": "int8"}, ValueError, "dtype is 'int8'; there are uint8, "),
        ({"box_dim": 16, "element_strides": (1, 1)}, ValueError, "has 2 dimensions, wanted 1 for"),
        ({**PIXELS, "lower_corner": (0,) * 4}, ValueError, "has 1 to 3 dimensions, got 4"),
        ({**PIXELS, "upper_corner": 0}, ValueError, "upper_corner has 1 dimensions, wanted 2 for"),
        ({"box_dim": 16, "global_dim": (4, 16)}, ValueError, "has 2 dimensions, wanted 1"),
        ({**PIXELS, "global_dim": "n"}, ValueError, "global_dim has 1 dimensions, wanted 4"),
        ({"box_dim": 16, "global_strides": ()}, TypeError, "is given without global_dim"),
        (
            {"box_dim": (8, 16), "global_dim": (8, 16), "global_strides": (64, 4)},
            ValueError,
            "global_strides has 2 dimensions, wanted 1 for a map of rank 2",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(options, error, message):
    with pytest.raises(error) as caught:
        TensorMap(**options)
    assert str(caught.value).startswith("TensorMap: ")
    assert message in str(caught.value)


def test_a_map_is_a_value():
    made = TensorMap("x", box_dim=[8, 64], swizzle="128B", dtype="float16")
    assert made.box_dim == (8, 64)
    assert made.rank == 2
    assert made == TensorMap("x", box_dim=(8, 64), swizzle="128B", dtype="float16")
    assert pickle.loads(pickle.dumps(made)) == made


def test_im2col_is_the_map_with_corners():
    made = TensorMap.im2col("x", **PIXELS, swizzle="128B")
    assert made == TensorMap("x", **PIXELS, swizzle="128B")
    assert (made.is_im2col, made.rank) == (True, 4)
    assert dict(made.figures())["upper_corner[1]"] == 1


def test_a_map_with_its_own_dimensions_has_them_among_its_figures():
    made = TensorMap("x", box_dim=(8, 64), global_dim=["n", 64], global_strides="2 * n")
    assert dict(made.figures())["global_dim[0]"] == "n"
    assert made == TensorMap("x", box_dim=(8, 64), global_dim=("n", 64), global_strides=("2 * n",))
    assert TensorMap(box_dim=16, global_dim=16, global_strides=()).global_strides == ()


def test_launches_that_differ_in_a_map_alone_have_keys_of_their_own():
    launches = [
        Launch(args={"m": TensorMap(box_dim=box, swizzle=swizzle)})
        for box, swizzle in [((8, 8), "none"), ((8, 16), "none"), (("n", 8), "none"), (8, "32B")]
    ]
    launches += [
        Launch(args={"m": TensorMap(box_dim=(8, 8), global_dim=dims, global_strides=strides)})
        for dims, strides in [((8, 8), None), ((8, 16), None), ((8, 8), 16), ((8, 8), "n")]
    ]
    digests = {
        Key("test").add("launch", Export("f", instances=((x,),)).fields()).hexdigest()
        for x in launches
    }
    assert len(digests) == len(launches)


# What it is of


def declared(launch: Launch, declaration: str) -> str:
    return bound((launch, kernel_ref(declaration))).declared_params


def test_the_function_takes_the_tensor_in_the_place_of_its_map():
    launch = Launch(
        grid=1, block=1, args={"a": TensorMap(box_dim=16), "b": TensorMap("y", box_dim=(8, 16))}
    )
    assert declared(launch, "k(CUtensorMap a, int n, CUtensorMap b)") == "void* a, int n, void* y"


def test_a_tensor_that_the_kernel_takes_too_is_passed_once():
    launch = Launch(grid=1, block=1, args={"m": TensorMap("x", box_dim=16)})
    function = bound((launch, kernel_ref("k(CUtensorMap m, const float* x)")))
    assert function.declared_params == "const float* x"
    assert not function.params[0].strided
    assert map_of(function)[0] == "x"


def test_two_maps_of_one_tensor_take_it_once():
    maps = {"a": TensorMap("x", box_dim=16), "b": TensorMap("x", box_dim="n")}
    launch = Launch(grid=1, block=1, args=maps)
    assert declared(launch, "k(CUtensorMap a, CUtensorMap b, int n)") == "void* x, int n"


def test_params_declares_which_tensors_a_map_takes():
    maps = {"m": TensorMap(box_dim=(8, 16)), "o": TensorMap("y", box_dim=(8, 16))}
    launch = Launch(grid=1, block=1, args=maps, params="__half* y: ndim=2, int n, const float* m")
    function = bound((launch, kernel_ref("k(CUtensorMap m, CUtensorMap o, int n)")))
    assert function.declared_params == "__half* y, int n, const float* m"
    assert [p.strided for p in function.params] == [True, False, True]
    assert [p.ndim for p in function.params] == [2, None, 2]


def test_a_kernel_of_an_image_alone_is_declared_in_full():
    launch = Launch(
        grid=1,
        block=1,
        args={"m": TensorMap("x", box_dim=16)},
        params="CUtensorMap m, int n, const float* x",
    )
    ref = kernel_ref("k(CUtensorMap m, int n)", known=False)
    assert bound((launch, ref)).declared_params == "int n, const float* x"


def test_a_map_with_its_own_dimensions_asks_for_no_rank_and_with_a_dtype_for_no_tensor():
    for dtype in (None, "float32"):
        map_ = TensorMap("x", box_dim=(8, 16), global_dim=("n", 16), dtype=dtype)
        launch = Launch(grid=1, block=1, args={"m": map_})
        function = bound((launch, kernel_ref("k(CUtensorMap m, int n)")))
        assert function.declared_params == "void* x, int n"
        x = function.params[0]
        assert (x.ndim, x.strided, x.in_expression) == (None, True, dtype is None)


def test_figures_are_expressions_over_what_the_function_takes():
    launch = Launch(
        grid="m.shape[0]", block=1, args={"m": TensorMap(box_dim=("min(n, 8)", 16)), "n": "m.numel"}
    )
    _, made = map_of(bound((launch, kernel_ref("k(CUtensorMap m, int n)"))))
    assert isinstance(made.words[0], Formula)
    assert made.words[1] == 16


def test_launches_of_one_function_share_a_tensor():
    first = Launch(grid=1, block=1, args={"m": TensorMap("x", box_dim=16)})
    other = Launch(grid=1, block=1)
    for order in ((first, other), (other, first)):
        refs = {id(first): "a(CUtensorMap m, int n)", id(other): "b(const float* x)"}
        function = bound(*((launch, kernel_ref(refs[id(launch)])) for launch in order))
        assert "const float* x" in function.declared_params
        assert "void*" not in function.declared_params


def test_names_of_over_are_replaced_in_a_map():
    maps = {"m": TensorMap(box_dim=("T", 16), swizzle="32B")}
    launch = Launch(kernel="k<T>", grid=1, block=1, args=maps).over(T=[8, 16])
    assert [x.args["m"].box_dim for x in launch.launches] == [(8, 16), (16, 16)]


@pytest.mark.parametrize(
    ("declaration", "args", "params", "message"),
    [
        ("k(float* m)", {"m": TensorMap(box_dim=16)}, None, r"CUtensorMap', got 'float\* m'"),
        (
            "k(CUtensorMap m, int n)",
            {"m": TensorMap("n", box_dim=16)},
            None,
            "'n' is 'int', not a tensor",
        ),
        (
            "k(CUtensorMap m, int n)",
            {"m": TensorMap("x", box_dim=16)},
            "int n",
            "the tensor 'x' is none that callers pass; declare it",
        ),
        (
            "k(CUtensorMap m, int n)",
            {"m": TensorMap("x", box_dim=16)},
            "float* x: ndim=2, int n",
            "'x' is .* and rank 1 here and .* and rank 2 before",
        ),
        (
            "k(CUtensorMap m, const float* x)",
            {"m": TensorMap("x", box_dim=16), "x": None},
            None,
            r"args\['m'\]: the tensor 'x' is none that callers pass",
        ),
        (
            "k(CUtensorMap m, CUtensorMap o)",
            {"m": TensorMap("o", box_dim=16), "o": TensorMap("x", box_dim=16)},
            None,
            r"args\['m'\]: the tensor 'o' is none that callers pass",
        ),
        (
            "k(CUtensorMap m, int n)",
            {"m": TensorMap(box_dim=16)},
            "int m, int n",
            "params: parameter 0 .'m'. is declared 'int', which has 4 bytes",
        ),
        (
            "k(CUtensorMap m, int n)",
            {"m": TensorMap("x", box_dim=16)},
            "const float* m, int n, const float* x",
            r"parameter 0 .'m'. is declared 'const float\*', which has 8 bytes",
        ),
        (
            "k(CUtensorMap m)",
            {"m": TensorMap(box_dim="size")},
            None,
            r"box_dim\[0\] of args\['m'\]: unknown name 'size'",
        ),
        (
            "k(CUtensorMap m)",
            {"m": TensorMap(box_dim="max_cooperative_blocks")},
            None,
            "max_cooperative_blocks is not known yet",
        ),
    ],
)
def test_a_map_that_cannot_be_bound(declaration, args, params, message):
    launch = Launch(grid=1, block=1, args=args, params=params)
    with pytest.raises(ValueError, match=message):
        bound((launch, kernel_ref(declaration)))


def test_a_struct_of_128_bytes_under_any_name_takes_a_map():
    launch = Launch(grid=1, block=1, args={"m": TensorMap("x", box_dim=16)})
    ref = kernel_ref("k(cute::TmaDescriptor m)", sizes={"m": 128})
    assert bound((launch, ref)).declared_params == "void* x"


def test_a_bare_map_is_still_bytes():
    assert instance("k(CUtensorMap m)").declared_params == "CUtensorMap m"


def test_args_take_a_tensor_map_and_no_other_object():
    with pytest.raises(TypeError, match="a TensorMap, a Scratch or a Bound, got object"):
        Launch(args={"m": object()})
