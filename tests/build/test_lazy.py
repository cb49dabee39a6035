"""`lazy`: images that a compiler makes on first use, once, kept under the caller's key."""

import json
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from nvrtc_kernel import compile_it
from processes import in_fork, in_new_process
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin import Dispatch, Launch, Scratch
from tvmffi_cubin.inline.lazy import LazyModule

FUNCTIONS = {"store": Launch(grid=1, block=32, params="float* x")}
KEY = ["compiler 1.0", {"fast": True}]


@pytest.fixture(scope="module")
def image(_own_environment) -> bytes:
    return compile_it(arch="sm_90").image


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    return folder


class Compiler:
    """Counts its calls."""

    def __init__(self, image: object) -> None:
        self.image = image
        self.runs = 0

    def __call__(self) -> object:
        self.runs += 1
        if isinstance(self.image, BaseException):
            raise self.image
        return self.image


def made(generate, name="lazy", key=KEY, **options) -> LazyModule:
    return tc.lazy(name, generate=generate, key=key, **{"functions": FUNCTIONS, **options})


def test_nothing_happens_before_the_first_use(tmp_path):
    code = """
import copy, os, pickle, sys
import tvmffi_cubin as tc

mod = tc.lazy("m", generate=print, key=1, functions={"k": tc.Launch(grid=1, block=1)})
assert "'m': not used yet" in repr(mod)
assert "k" in dir(mod)
assert not hasattr(mod, "_repr_html_") and not hasattr(mod, "__len__")
copy.copy(mod), pickle.dumps(mod)
mod.unload()
assert not mod.is_generated
assert "tvm_ffi" not in sys.modules, "imported"
assert not os.path.exists(os.environ["TVMFFI_CUBIN_CACHE_DIR"])
"""
    env = {**os.environ, "TVMFFI_CUBIN_CACHE_DIR": str(tmp_path / "cache")}
    assert in_new_process(code, env=env) == ""


class Nothing:
    def __call__(self):
        raise AssertionError("generated")


def test_the_first_use_makes_the_image_and_all_others_find_it(cache, driver_stub, image):
    compiler = Compiler(image)
    mod = made(compiler)
    x = cuda_array(driver_stub, 32)
    mod.store(x)
    assert driver_stub.launches()[0].values("P") == (x.data_ptr,)
    # Python finds it as it finds any attribute; a call of it has no frame of this package.
    assert mod.__dict__["store"] is mod["store"] is mod.module.store
    assert ("store" in dir(mod), [*mod.functions]) == (True, ["store"])
    assert made(compiler).is_generated
    pickle.loads(pickle.dumps(made(Nothing()))).store(x)
    assert in_fork(lambda: made(compiler).store.signature) == "store(float* x)"
    assert compiler.runs == 1
    assert mod.unload() is None
    with pytest.raises(AttributeError, match="no function 'stare'; available: store"):
        mod.stare  # noqa: B018


def test_whatever_is_in_the_key_tells_images_apart(cache, image):
    compiler = Compiler(image)
    keys = [1, True, "1", 1.0, None, [1], {"a": 1}, {"a": [1]}]
    for key in keys:
        assert not made(compiler, key=key).is_generated
        made(compiler, key=key).prepare()
    for options in ({"name": "other"}, {"arch": "sm_90"}):
        made(compiler, key=1, **options).prepare()
    assert made(compiler, key=(1,)).is_generated
    assert compiler.runs == len(keys) + 2


def test_arguments_are_checked_at_once():
    for options, message in (
        ({"key": {"options": [1, {2}]}}, "'key': cannot hash a set"),
        ({"generate": b""}, "generate must be a callable"),
        ({"name": "a/b"}, "name 'a/b' is not a valid file name"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            tc.lazy(**{"name": "m", "generate": Nothing(), "key": 1, **options})


def test_what_is_no_image_is_said_and_not_kept(cache):
    for value, kind, message in (
        (None, TypeError, r"result\['lazy'\] .* bytes, a Cubin or a path, got NoneType"),
        ({"a": b"junk of a kind"}, ValueError, r"result\['a'\]: not an image"),
    ):
        mod = made(Compiler(value))
        with pytest.raises(kind, match=r"lazy\('lazy'\).*" + message):
            mod.prepare()
        assert not mod.is_generated


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("no")])
def test_what_the_compiler_raises_is_passed_on_and_the_next_use_tries_again(cache, error, image):
    compiler = Compiler(error)
    mod = made(compiler)
    for runs, name in enumerate(("store", "module"), 1):
        with pytest.raises(type(error)) as raised:
            getattr(mod, name)
        assert raised.value is error
        assert compiler.runs == runs
    assert [*(cache / "tmp").iterdir()] == []
    assert not mod.is_generated
    compiler.image = image
    mod.prepare()


def test_images_of_all_kinds_are_embedded_under_their_names(cache, tmp_path, image):
    (tmp_path / "k.ptx").write_bytes(compile_it(arch="compute_80").image)
    source = "template <class T> __global__ void fill(T* x) {}"
    cubin = compile_it(source, name_expressions=["fill<float>"])
    functions = {
        "store": Launch(image="one", grid=1, block=1),
        "fill": Launch(kernel="fill<float>", image="two", grid=1, block=1),
    }
    compiler = Compiler({"one": tmp_path / "k.ptx", "two": cubin})
    for _ in range(2):
        mod = made(compiler, functions=functions, ptx="keep")
        assert {name: x.kind for name, x in mod.cubins.items()} == {"one": "ptx", "two": "cubin"}
        assert mod.cubins["two"].lowered_names == cubin.lowered_names
        (tmp_path / "k.ptx").unlink(missing_ok=True)


def test_functions_are_kept_with_their_images(cache, driver_stub, image):
    launch = Launch(kernel="store", image=image, grid=2, block=32, params="float* x")
    scratch = replace(launch, args={"x": Scratch(64)}, grid=1)
    some = Dispatch([replace(launch, when="x.numel < 8"), launch])
    compiler = Compiler({"fill": [launch, scratch], "some": some})
    x = cuda_array(driver_stub, 64)
    for _ in range(2):
        mod = made(compiler, functions=None)
        mod.fill(x)
        mod.some(x)
        assert [*mod.functions] == ["fill", "some"]
    assert compiler.runs == 1
    assert [launch.grid[0] for launch in driver_stub.launches()] == [2, 1, 2] * 2
    source = 'extern "C" __global__ void beside(int* x) { *x = 1; }'
    alone = made(Compiler(launch), name="store", functions=None, cuda_sources=source)
    assert alone.store.signature == "store(float* x)"
    assert "kernels" in alone.cubins


def test_a_compiler_may_leave_a_description_with_its_image(cache, driver_stub, image):
    launch = {"kernel": "store", "params": "float* x", "grid": 1, "block": 32, "image": "tiles"}
    functions = {"fill": {"launches": [launch], "doc": "Fills."}}
    document = {"schema": "2.0", "functions": functions, "images": {"tiles": {"path": "k.cubin"}}}

    def generate(folder: Path) -> Path:
        (folder / "k.cubin").write_bytes(image)
        (folder / "k.json").write_text(json.dumps(document))
        return folder / "k.json"

    for compiler in (generate, Nothing()):
        mod = made(compiler, functions=None)
        mod.fill(cuda_array(driver_stub, 32))
        assert mod.fill.__doc__.endswith("Fills.")
        assert ([*mod.cubins], [*mod.functions]) == (["tiles"], ["fill"])
    assert len(driver_stub.launches()) == 2


def test_a_module_may_need_another_and_not_itself(cache, image):
    mods: list[LazyModule] = []
    mods.append(made(lambda: mods[0].store))
    with pytest.raises(RuntimeError, match="'lazy' uses the module that it is generating"):
        mods[0].prepare()
    made(lambda: made(lambda: image, key="inner").cubins["lazy"], key="outer").prepare()


def test_of_many_threads_one_generates(cache, image):
    compiler, meet = Compiler(image), threading.Barrier(8)
    mods = [made(compiler)] * 4 + [made(compiler) for _ in range(4)]

    def use(mod: LazyModule) -> None:
        meet.wait()
        mod.prepare()

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(use, mods)] == [None] * 8
    assert compiler.runs == 1
