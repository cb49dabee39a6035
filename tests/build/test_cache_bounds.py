"""Modules that are held while others fill a small cache, and modules that are carried elsewhere."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.inline import assemble


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    return folder


def source(number: int) -> str:
    return f'extern "C" __global__ void k{number}(int* x) {{ *x = {number}; }}'


def answer(number: int) -> tuple[str, str]:
    """Load a module; return what it has, and what the file has that it was loaded from."""
    mod = tc.load_inline(f"m{number}", source(number), arch="sm_90", use_pch=False)
    (kernel,) = mod.cubins["kernels"].kernels
    return mod.functions[0], kernel.name


def right(number: int) -> tuple[str, str]:
    return f"k{number}", f"k{number}"


class Worker:
    """A forked process that does one thing after the other, and lives meanwhile."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        ask, asked = os.pipe(), os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(ask[1])
                with os.fdopen(ask[0], "rb") as questions, os.fdopen(asked[1], "wb") as answers:
                    signal.alarm(600)
                    while True:
                        question = pickle.load(questions)
                        try:
                            result = work(question)
                        except BaseException as error:
                            result = repr(error)
                        pickle.dump(result, answers)
                        answers.flush()
            finally:
                os._exit(1)
        os.close(ask[0])
        os.close(asked[1])
        self.questions, self.answers = os.fdopen(ask[1], "wb"), os.fdopen(asked[0], "rb")

    def ask(self, question: Any) -> None:
        pickle.dump(question, self.questions)
        self.questions.flush()

    def answer(self) -> Any:
        return pickle.load(self.answers)

    def end(self) -> None:
        # Not by closing its pipe, of which those forked later have the end, too.
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        self.questions.close()
        self.answers.close()


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("entries/*/*")}


def test_many_that_use_a_cache_that_is_too_small_get_right_results(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "200kB")
    workers = [Worker(lambda numbers: [answer(number) for number in numbers]) for _ in range(4)]
    orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]]
    for worker, order in zip(workers, orders, strict=True):
        worker.ask(order)
    for worker, order in zip(workers, orders, strict=True):
        assert worker.answer() == [right(number) for number in order]
        worker.end()


def refuse(*_: object) -> None:
    pytest.fail("it was built")


@pytest.mark.parametrize("way", ["archive", "layer"])
def test_what_was_exported_is_loaded_elsewhere_without_a_build(
    cache, tmp_path, monkeypatch, capsys, way
):
    path = tmp_path / "exported"
    lazily = tc.lazy("lazily", generate=lambda: compiled(), key=1, arch="sm_90")
    assert answer(7) == right(7)
    tc.build_inline("host", cpp_sources=HOST, functions=["twice"])
    lazily.prepare()
    option = ["--layer"] if way == "layer" else []
    assert main(["cache", "export", *option, str(path)]) == 0
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "other"))
    if way == "layer":
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(path))
    else:
        assert main(["cache", "import", str(path)]) == 0
    capsys.readouterr()
    monkeypatch.setattr(assemble, "make", refuse)
    assert answer(7) == right(7)
    built = tc.build_inline("host", cpp_sources=HOST, functions=["twice"])
    assert built.startswith(str(path if way == "layer" else tmp_path / "other"))
    again = tc.lazy("lazily", generate=refuse, key=1, arch="sm_90")
    assert again.is_generated
    again.prepare()
    assert main(["cache", "verify"]) == 0


HOST = "int twice(int x) { return 2 * x; }"
SOURCE = 'extern "C" __global__ void fill(int* x) { *x = 1; }'


def compiled() -> bytes:
    return tc.nvrtc.nvrtc_compile(SOURCE, name="lazily", arch="sm_90")


def test_a_module_works_on_when_the_cache_is_cleared(cache, capsys, driver_stub):
    options = {"arch": "sm_90", "functions": {"k8": tc.Launch(grid=1, block=1)}}
    mod = tc.load_inline("m8", source(8), **options)
    assert main(["cache", "clear"]) == 0
    assert entries(cache) == set()
    mod.k8(cuda_array(driver_stub, 3, "int32"))
    assert len(driver_stub.launches()) == 1
    assert tc.load_inline("m8", source(8), **options).functions == ("k8",)
