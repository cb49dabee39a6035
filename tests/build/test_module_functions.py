"""Modules and their functions: what they say of themselves, to people and to tools."""

import inspect
import traceback
from pathlib import Path

import pytest
import tvm_ffi
from inline_source import SAXPY, load

import tvmffi_cubin as tc


def test_a_function_is_tvm_ffi_s_and_says_what_it_takes(ops):
    assert isinstance(ops, tvm_ffi.Module)
    function = ops.saxpy
    assert isinstance(function, tvm_ffi.Function)
    assert function is ops.saxpy
    assert function.params == (("a", "float"), ("x", "const float*"), ("y", "float*"))
    assert repr(function) == "<tvmffi_cubin.Function saxpy(float a, const float* x, float* y)>"


def test_python_s_tools_know_what_it_takes(ops):
    parameters = inspect.signature(ops.saxpy).parameters.values()
    assert [(p.name, p.annotation) for p in parameters] == list(ops.saxpy.params)
    assert {p.kind for p in parameters} == {inspect.Parameter.POSITIONAL_ONLY}
    mod = load("__global__ void k(const float* in, float* lambda) {}")
    assert str(inspect.signature(mod.k)) == "(in: 'const float*', lambda: 'float*', /) -> None"
    mod = tc.load_inline("cpp", "int one() { return 1; }", functions=["one"])
    assert not hasattr(mod.one, "__signature__")


def test_options_are_not_for_functions_written_in_cpp():
    sources = ["__global__ void k(float* x) {}", "int one() { return 1; }"]
    mod = tc.load_inline("beside", sources, functions=["k", "one"], arch="sm_90")
    for use in (
        lambda: mod.one.on(0),
        lambda: mod.one.configure(priority=1),
        lambda: mod.one[1, 2],
    ):
        with pytest.raises(TypeError, match=r"one is a C\+\+ function, which configures its own"):
            use()


def test_a_module_shows_its_functions(ops, driver_stub):
    title, *lines = repr(ops).splitlines()
    assert title == f"<tvmffi_cubin.Module {ops.path}>"
    assert lines == [f"  {ops[name].signature}" for name in ops.functions]
    assert ops._repr_html_().count("<td>pipeline</td>") == 2  # a row for each kernel
    with pytest.raises(ValueError, match="expected one kernel, got 2"):
        ops.pipeline.occupancy()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: load(SAXPY.replace("int i", "int")), tc.CompileError),
        (lambda: load("int one() { return }"), tc.BuildError),
        (lambda: load(SAXPY, ["scal"]), ValueError),
        (lambda: tc.nvrtc.compile(SAXPY, arch="sm_9"), ValueError),
        (lambda: tc.nvjitlink.link([b"?"]), tc.ImageError),
        (lambda: tc.inspect(__file__), tc.ImageError),
        (lambda: tc.Launch(grid="n/256"), ValueError),
    ],
)
def test_an_error_shows_no_inner_frames(call, error):
    with pytest.raises(error) as caught:
        call()
    package = Path(tc.__file__).parent
    frames = [
        f.name for f in traceback.extract_tb(caught.tb) if package in Path(f.filename).parents
    ]
    assert frames in (["call"], ["__post_init__"])
    message, *others = caught.value._render_traceback_()  # as in a notebook
    assert message == f"{error.__name__}: {caught.value}"
    assert str(package) not in "".join(others)


def test_an_error_of_the_users_own_code_shows_where_it_is():
    with pytest.raises(ValueError, match="invalid literal") as caught:
        tc.load_inline("users", SAXPY, name_expressions=(str(int(x)) for x in "k"))
    assert "<genexpr>" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_where_there_is_no_gpu_to_compile_for_the_error_stands_alone(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/nonexistent/libcuda.so.1")
    with pytest.raises(tc.ToolchainError) as caught:
        tc.load_inline("no_gpu", SAXPY)
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Traceback (most recent call last)") == 1
    last = shown.splitlines()[-1]
    assert "no GPU to compile for: cannot open the CUDA driver: /nonexistent/" in last
    assert last.endswith('such as arch="sm_90a" or TVMFFI_CUBIN_ARCH=sm_90a')


def test_an_unknown_function_lists_those_there_are(ops):
    with pytest.raises(AttributeError, match="no function 'nope'; available: saxpy, free, pip"):
        _ = ops.nope
    with pytest.raises(KeyError, match="no function 'nope'; available: saxpy, free, pip"):
        ops["nope"]
    assert "saxpy" in dir(ops)


def test_a_file_that_cannot_be_loaded_says_why(tmp_path: Path):
    path = tmp_path / "module.so"
    with pytest.raises(FileNotFoundError):
        tc.load_module(path)
    path.write_text("no shared object")
    with pytest.raises(tc.BuildError, match=r"cannot load .*module\.so: "):
        tc.load_module(path)
    with pytest.raises(tc.BuildError, match=r"cannot load .*k\.cubin: .* end in \.so$"):
        tc.load_module(path.rename(tmp_path / "k.cubin"))


def test_a_file_that_was_built_again_is_loaded_as_it_is_now(tmp_path: Path):
    answers = []
    for answer in (1, 2, 2, 3):
        source = f"int answer() {{ return {answer}; }}"
        path = tc.build_inline(
            "again", source, functions=["answer"], output=tmp_path / "again.so", use_pch=False
        )
        mod = tc.load_module(path)
        assert mod.path == path
        answers.append(mod.answer())
    assert answers == [1, 2, 2, 3]
