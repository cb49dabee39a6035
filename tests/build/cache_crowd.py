"""Crowds of processes at one cache: forked children that begin together, and what they load."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import fork
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin.host import launcher


def crowd(work: Callable[[int], Any], count: int) -> list[Any]:
    """Run a function in many forked children that begin together; return their results in order."""
    wait, go = os.pipe()

    def begin(number: int) -> Any:
        os.close(go)
        os.read(wait, 1)
        return work(number)

    children = [fork(lambda number=number: begin(number)) for number in range(count)]
    os.close(wait)
    os.close(go)
    return [child.result() for child in children]


def load(number: int) -> tc.Module:
    """Return a module whose kernel, grid and constant are the number's own."""
    source = f'extern "C" __global__ void k{number}(int n) {{}}'
    launch = tc.Launch(kernel=f"k{number}", grid=number + 1, block=1, args={"n": 3 * number})
    return tc.load_inline(f"crowd{number}", source, functions={"k": launch}, arch="sm_90")


def is_right(mod: tc.Module, number: int, stub: DriverStub) -> bool:
    """Whether a module of `load` launches what it should."""
    stub.reset()
    mod.k()
    (launch,) = stub.launches()
    return (launch.kernel, launch.grid, *launch.values("i")) == (
        f"k{number}",
        (number + 1, 1, 1),
        3 * number,
    )


def launcher_in_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the launcher's object in the cache folder, as where the package cannot be written."""
    monkeypatch.setattr(launcher, "SHIPPED", (Path("/dev/null"),))


class CountingCompiler:
    """A compiler for CXX, and an assembler, that write down how they are called."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.log = folder / "log"
        for name in ("c++", "as"):
            script = folder / name
            real = shutil.which(name)
            script.write_text(f'#!/bin/sh\necho "$*" >> {self.log}\nexec {real} "$@"\n')
            script.chmod(0o755)

    def runs(self, word: str) -> int:
        """Return how many calls had a word that ends like this, such as a source's name."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return sum(any(part.endswith(word) for part in line.split()) for line in lines)


@contextlib.contextmanager
def counting_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingCompiler]:
    """Have builds use a compiler and an assembler that count; their folder is made."""
    compiler = CountingCompiler(folder)
    with monkeypatch.context() as context:
        context.setenv("CXX", str(folder / "c++"))
        context.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield compiler
