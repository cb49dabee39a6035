"""`ImageFile`: an image that lies beside the shared object, made there where it is missing."""

import shutil
import time
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest
from nvrtc_kernel import compile_it
from processes import fork
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import ImageFile, Launch, TensorMap

SOURCE = """
extern "C" __global__ void kernel_main_kernel_0(float* x, int n) { if (n) x[0] = 1; }
extern "C" __global__ void kernel_main_kernel_1(float* x, int n) { if (n) x[0] = 2; }
extern "C" __global__ void long_post_name(float* x) { x[0] = 3; }
extern "C" __global__ void long_post_name_1(float* x) { x[0] = 4; }
extern "C" __global__ void post_1_name(float* x) { x[0] = 5; }
extern "C" __global__ void other_kernel(float* x, int n) {}
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void mapped(const __grid_constant__ Map x, int n) {}
extern "C" __global__ void __launch_bounds__(64) small(float* x) { x[0] = 5; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2) paired(float* x) { x[0] = blockIdx.x; }
#endif
"""
ONE = {"grid": 1, "block": 32}
TARGET_PARAMS = "int64_t stream, int32_t device"
TARGET = {"stream": "stream", "device": "device"}
FUNCTIONS = {
    # As TileLang's launchers are called: arguments, stream, device.
    "run": [
        Launch(
            kernel="kernel_main_kernel_1", params=f"float* x, int n, {TARGET_PARAMS}",
            grid="n", block=32, dynamic_smem_bytes=60000, **TARGET,
        ),
        Launch(kernel="post", params=f"float* x, {TARGET_PARAMS}", **TARGET, **ONE),
    ],
    # In another order than any kernel's.
    "turned": Launch(
        kernel="kernel_main_kernel_1", params="float* a, int b, int n, float* x",
        args={"a": "x", "b": "n"}, **ONE,
    ),
    "small": Launch(params="float* x", grid=1, block=128),
    "paired": Launch(params="float* x", grid=2, block=32),
    "mapped": Launch(params="float* x, int n", args={"x": TensorMap(box_dim=32)}, **ONE),
}  # fmt: skip
FILES = {"kernels": ImageFile("k.cubin")}


@pytest.fixture(scope="module")
def image(_own_environment) -> bytes:
    return compile_it(SOURCE, arch="sm_90").image


@pytest.fixture(scope="module")
def so(_own_environment, tmp_path_factory) -> Path:
    """A shared object without its file."""
    path = tmp_path_factory.mktemp("so") / "k.so"
    return Path(tc.build_inline("k", functions=FUNCTIONS, embed_cubin=FILES, output=path))


@pytest.fixture
def copy(so, tmp_path) -> Path:
    """The same in a folder of its own: a library that no other test has loaded."""
    return Path(shutil.copy(so, tmp_path / "own.so"))


@pytest.fixture
def loaded(copy, image) -> tc.Module:
    copy.with_name("k.cubin").write_bytes(image)
    return tc.load_module(copy)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_beside_the_shared_object_is_launched(loaded, driver_stub):
    x = cuda_array(driver_stub, 32)
    loaded.run(x, 5, 0, 0)
    first, second = driver_stub.launches()
    assert (first.kernel, first.values("Pi")) == ("kernel_main_kernel_1", (x.data_ptr, 5))
    assert (first.grid, first.dynamic_smem_bytes) == ((5, 1, 1), 60000)
    assert (second.kernel, second.values("P")) == ("long_post_name", (x.data_ptr,))
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1
    driver_stub.reset()
    loaded.run(cuda_array(driver_stub, 32, device=1), 5, 0, 1)
    assert {launch.device for launch in driver_stub.launches()} == {1}
    assert not driver_stub.calls("cuLibraryLoadData")


def test_parameters_are_in_the_order_that_the_first_launch_says(loaded, driver_stub, copy):
    x = cuda_array(driver_stub, 32)
    assert loaded.turned.signature == "turned(int n, float* x)"
    loaded.turned(7, x)
    assert driver_stub.launches()[0].values("Pi") == (x.data_ptr, 7)
    # What a module says of a file.
    assert loaded.cubins == {}
    assert loaded.manifest["images"] == {"kernels": {"file": "k.cubin"}}
    assert "image kernels: k.cubin, read when one" in str(tc.inspect(copy))


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("kernel", "float* x, int n", "has more than one kernel kernel: .*kernel_main_kernel_"),
        ("absent", "float* x, int n", "has no kernel absent: set Launch"),
        ("kernel_main_kernel_0", "float* x, int64_t n", "parameter 2 has 4 bytes, but 8 are decl"),
    ],
)
def test_what_does_not_fit_the_file_is_refused_before_a_launch(
    tmp_path, driver_stub, image, kernel, params, message
):
    (tmp_path / "k.cubin").write_bytes(image)
    functions = {"k": Launch(kernel=kernel, params=params, **ONE)}
    mod = tc.load_inline("k", functions=functions, embed_cubin=FILES, build_directory=tmp_path)
    for _ in range(2):
        with pytest.raises(tc.LaunchError, match=message) as raised:
            mod.k(cuda_array(driver_stub, 32), 1)
    assert str(tmp_path / "k.cubin") in str(raised.value)
    assert driver_stub.launches() == []


def test_what_the_build_could_not_see_is_read_from_the_file(loaded, driver_stub):
    x = cuda_array(driver_stub, 32)
    with pytest.raises(tc.LaunchLimitError, match="small: .*128.*64"):
        loaded.small(x)
    loaded.paired(x)
    assert loaded.small[1, 64].occupancy().threads == 64


def test_a_tensor_is_declared_where_the_kernel_takes_its_map(loaded, driver_stub):
    assert loaded.mapped.signature == "mapped(float* x, int n)"
    loaded.mapped(cuda_array(driver_stub, 64), 3)
    assert len(driver_stub.calls("cuTensorMapEncodeTiled")) == 1


def test_ptx_and_fatbins_do_as_well(copy, driver_stub):
    text = compile_it(SOURCE, arch="compute_80").image
    for data in (text, tc.nvrtc.compile(SOURCE, arch=["sm_80", "sm_90"]).image):
        copy.with_name("k.cubin").write_bytes(data)
        mod = tc.load_module(copy)
        mod.run(cuda_array(driver_stub, 32), 5, 0, 0)
        mod.unload()
    assert len(driver_stub.launches()) == 4


def test_a_missing_file_is_an_error_that_says_where_it_is_wanted(copy, driver_stub, image):
    mod = tc.load_module(copy)
    x = cuda_array(driver_stub, 32)
    remedy = r"own\.so|k\.cubin is missing: create it, .*load_module\(path, generate="
    with pytest.raises(tc.LaunchError, match=remedy):
        mod.run(x, 5, 0, 0)
    with pytest.raises(tc.LaunchError, match="k.cubin is missing"):
        mod.preload()
    copy.with_name("k.cubin").write_bytes(image)
    mod.run(x, 5, 0, 0)
    mod.unload()
    copy.with_name("k.cubin").unlink()
    with pytest.raises(tc.LaunchError, match="k.cubin is missing"):
        mod.run(x, 5, 0, 0)


def test_what_is_missing_is_made_at_the_first_call_and_only_then(copy, driver_stub, image):
    x = cuda_array(driver_stub, 32)
    seen = []

    def make(folder: Path) -> str:
        seen.append((folder.parent, names(folder)))
        (folder / "dumped").mkdir()
        (folder / "dumped" / "any name.cubin").write_bytes(image)
        return "dumped/any name.cubin"

    generate = create_autospec(make, side_effect=make)
    mod = tc.load_module(copy, generate={"kernels": generate})
    run = mod.run
    assert generate.call_count == 0
    run(x, 5, 0, 0)
    run(x, 5, 0, 0)
    assert len(driver_stub.launches()) == 4
    assert seen == [(copy.parent, set())]
    assert names(copy.parent) == {"own.so", "k.cubin"}
    assert copy.with_name("k.cubin").read_bytes() == image
    # Removed from the device, it is read again and not made again.
    mod.unload()
    run(x, 5, 0, 0)
    assert generate.call_count == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), tc.CompileError("no", log="b \udc80")])
def test_a_compiler_that_fails_leaves_nothing_and_is_asked_again(copy, driver_stub, image, error):
    x = cuda_array(driver_stub, 32)

    def fail(folder: Path):
        (folder / "half").write_bytes(image[:100])
        raise error

    generate = create_autospec(fail, side_effect=fail)
    mod = tc.load_module(copy, generate={"kernels": generate})
    kind = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else tc.LaunchError
    for runs in (1, 2):
        with pytest.raises(kind) as raised:
            mod.run(x, 5, 0, 0)
        assert str(error) in str(raised.value)
        assert generate.call_count == runs
    assert names(copy.parent) == {"own.so"}
    assert driver_stub.launches() == []
    generate.side_effect = lambda folder: image
    mod.run(x, 5, 0, 0)


def test_what_is_no_image_is_not_put_into_place(copy, driver_stub):
    with pytest.raises(ValueError, match=r"'typo', which is not an image .* available: kernels"):
        tc.load_module(copy, generate={"typo": print})
    with pytest.raises(TypeError, match="generate must map image names to callables, got builtin"):
        tc.load_module(copy, generate=print)
    for made, message in ((None, "must be bytes, .* or a path, got NoneType"), (b"x", "no.*image")):
        mod = tc.load_module(copy, generate={"kernels": lambda folder, made=made: made})
        with pytest.raises(tc.LaunchError, match=message):
            mod.preload()
    assert names(copy.parent) == {"own.so"}


def test_of_several_processes_one_makes_the_file(copy, tmp_path, image, fresh_driver_stub):
    log, go = tmp_path / "log", tmp_path / "go"

    def generate(folder: Path) -> bytes:
        (folder / "half").touch()
        with log.open("a") as file:
            file.write("x")
        while not go.exists():
            time.sleep(0.01)
        return image

    def work() -> None:
        tc.load_module(copy, generate={"kernels": generate}).preload()

    killed = fork(work)
    while not log.exists():
        time.sleep(0.01)
    others = [fork(work), fork(work)]
    killed.kill()
    go.touch()
    assert [child.result() for child in others] == [None, None]
    assert log.read_text() == "xx"
    assert {"own.so", "k.cubin"} < names(tmp_path)


def test_load_inline_has_the_file_beside_the_copy_for_people(tmp_path, driver_stub, image):
    functions = {"small": Launch(params="float* x", **ONE)}

    def load(embedded, **options):
        return tc.load_inline("ops", functions=functions, embed_cubin=embedded, **options)

    generates = [Mock(return_value=image) for _ in range(2)]
    mods = [
        load({"kernels": ImageFile("k.cubin", generate)}, build_directory=tmp_path / str(number))
        for number, generate in enumerate(generates)
    ]
    # Who loads it again without one leaves the others theirs.
    load(FILES, build_directory=tmp_path / "1")
    x = cuda_array(driver_stub, 32)
    for mod in (*mods, *mods):
        mod.small(x)
    assert [generate.call_count for generate in generates] == [1, 1]
    assert names(tmp_path / "0") == {"ops.so", "k.cubin"}
    path = tmp_path / "absolute.cubin"
    path.write_bytes(image)
    load(ImageFile(path)).small(x)
    assert len(driver_stub.launches()) == 5
