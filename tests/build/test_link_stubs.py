"""Links of wrappers with stubs of the libraries of C++ and C, and without."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import builder, host_build, link_stubs, toolset
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.entry import Entry
from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.imports import Imports
from tvmffi_cubin.plan import BuildPlan, Cxx, Link

USUAL = r"""
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <unordered_map>
#include <vector>

thread_local std::vector<int> counts;

extern "C" int answer() {
  std::unordered_map<std::string, double> values;
  std::map<int, std::string> names;
  std::ostringstream text;
  text << 41 << ' ' << 2.5 << std::endl;
  values[text.str()] = std::sqrt(std::fabs(std::lgamma(4.5f)));
  names[std::stoi(text.str())] = std::to_string(values.size());
  std::mutex mutex;
  std::condition_variable changed;
  std::thread([&] {
    std::lock_guard lock(mutex);
    counts.push_back(1);
    changed.notify_one();
  }).join();
  std::once_flag once;
  int sum = std::stoi(names[41]);
  std::call_once(once, [&] { sum += 40; });
  try {
    std::function<int()> none;
    sum += none();
  } catch (const std::bad_function_call& error) {
    std::fprintf(stderr, "%s %s\n", error.what(), typeid(error).name());
  }
  std::shared_ptr<std::istream> in = std::make_shared<std::istringstream>("1");
  int one = 0;
  *in >> one;
  if (!*in) throw std::runtime_error("none: " + text.str());
  std::cerr << std::chrono::steady_clock::now().time_since_epoch().count() << std::endl;
  return sum + one;
}
"""
# Neither wide streams nor this function are in the stubs.
WIDE = """
#include <sstream>
extern "C" int answer() {
  std::wostringstream text;
  text << L"four" << 42;
  return static_cast<int>(text.str().size()) * 7;
}
"""
WEAK = """
extern "C" char* getenv(const char*);
extern "C" int getloadavg(double*, int) noexcept __attribute__((weak));
extern "C" int answer() { return getenv("") == nullptr && getloadavg != nullptr ? 42 : 0; }
"""
MIXED = """
__global__ void k(int* x) { *x = 1; }
__global__ void scale(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
void throws() { TVM_FFI_THROW(ValueError) << "thrown"; }
int last() { k<<<1, 1>>>(nullptr); return cudaGetLastError() == cudaSuccess; }
"""
numbers = itertools.count()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def stubs(cache: Cache) -> Entry:
    """Stubs that were made here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_stubs, "cache_beside", lambda _, cache, tools: cache)
        tools = toolset.find(needs_cuda=False)
        link_stubs.make_later(cache, tools)
        link_stubs.settle()
        found = link_stubs.find(cache, tools)
        assert found is not None
        return found


@pytest.fixture
def make(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Build a unit with these stubs, or none; return the folder."""

    def run(source: str, found: Entry | None) -> Path:
        monkeypatch.setattr(link_stubs, "find", lambda *_: found)
        monkeypatch.setattr(link_stubs, "make_later", lambda *_: None)
        tools = toolset.find(needs_cuda=False)
        folder = tmp_path / f"build{next(numbers)}"
        folder.mkdir()
        unit = Cxx("unit.cc", tools.compiler.command, ("-std=c++17", "-O1", "-fPIC"))
        link = Link(tools.compiler.command, is_plain=True)
        plan = BuildPlan("unit", (unit,), link=link)
        host_build.run(plan, folder, {"unit.cc": source}, cache=cache, tools=tools, use_pch=True)
        return folder

    return run


def imports(folder: Path) -> Imports:
    return Imports.of((folder / "unit.so").read_bytes())


def links_by_stubs(folder: Path) -> bool:
    """Whether the first of the commands that link works alone."""
    runs = re.findall(r"(?m)^  run = (.* -shared .*)$", (folder / "build.ninja").read_text())
    (first, *_) = runs[-1].replace("$$", "$").split(" || ")
    return subprocess.run(first, shell=True, cwd=folder, check=False).returncode == 0


def test_what_is_linked_with_stubs_is_what_the_libraries_give(make, stubs):
    with_stubs, without = make(USUAL, stubs), make(USUAL, None)
    assert imports(with_stubs) == imports(without)
    assert ctypes.CDLL(str(with_stubs / "unit.so")).answer() == 42
    assert links_by_stubs(with_stubs)


def test_what_stubs_lack_is_taken_from_the_libraries(make, stubs):
    with_stubs, without = make(WIDE, stubs), make(WIDE, None)
    assert imports(with_stubs) == imports(without)
    assert ctypes.CDLL(str(with_stubs / "unit.so")).answer() == 42
    assert not links_by_stubs(with_stubs)


def test_a_weak_symbol_that_stubs_lack_has_its_version(make, stubs):
    found = imports(make(WEAK, stubs))
    assert found == imports(make(WEAK, None))
    assert [x.library for x in found.symbols if x.name == "getloadavg"] == ["libc.so.6"]


def test_an_undefined_symbol_is_named_as_ever(make, stubs):
    with pytest.raises(BuildError, match=r"undefined symbols:\n  nowhere") as failed:
        make('extern "C" int nowhere(); extern "C" int answer() { return nowhere(); }', stubs)
    assert str(stubs.path) not in failed.value.command


def test_what_this_package_links_to_modules_needs_nothing_else(stubs, monkeypatch, driver_stub):
    linked: list[bool] = []
    run = builder.run

    def seen(plan: BuildPlan, directory: Path, *rest) -> None:
        run(plan, directory, *rest)
        if isinstance(plan.link, Link) and plan.link.stubs:
            linked.append(links_by_stubs(directory))

    monkeypatch.setattr(link_stubs, "find", lambda *_: stubs)
    monkeypatch.setattr(builder, "run", seen)
    functions = {"last": "", "throws": "", "scale": tc.Launch(1, 32, args={"n": "x.numel"})}
    mod = tc.load_inline("kinds", MIXED, functions=functions, arch="sm_90")
    assert mod.last() == 1
    with pytest.raises(ValueError, match="thrown"):
        mod.throws()
    assert linked == [True]


def test_stubs_that_are_used_are_not_the_first_to_go(cache, stubs, monkeypatch):
    monkeypatch.setattr(link_stubs, "cache_beside", lambda _, cache, tools: cache)
    os.utime(stubs.path, (0, 0))
    assert link_stubs.find(cache, toolset.find(needs_cuda=False)) is not None
    assert stubs.path.stat().st_mtime > 0


def test_stubs_are_much_smaller_than_the_libraries(stubs):
    (library, *_) = stubs.facts["libraries"]
    assert stubs.so.stat().st_size * 5 < Path(library).stat().st_size


def test_another_library_makes_other_stubs(stubs, tmp_path, monkeypatch):
    monkeypatch.setattr(link_stubs, "cache_beside", lambda _, cache, tools: cache)
    library = tmp_path / "lib" / "libstdc++.so"
    library.parent.mkdir()
    library.write_bytes(Path(stubs.facts["libraries"][0]).read_bytes())
    monkeypatch.setenv("LIBRARY_PATH", str(library.parent))
    cache, tools = Cache(tmp_path / "cache"), toolset.find(needs_cuda=False)
    link_stubs.make_later(cache, tools)
    link_stubs.settle()
    found = link_stubs.find(cache, tools)
    assert found is not None
    assert str(library) in found.facts["libraries"]
    with library.open("ab") as file:
        file.write(b"\0")
    assert link_stubs.find(cache, tools) is None


def test_what_an_archive_behind_a_library_has_as_well_is_taken_from_the_library(
    make, stubs, tmp_path, monkeypatch
):
    """As some distributions have it for compilers that are newer than their library."""
    monkeypatch.setattr(link_stubs, "cache_beside", lambda _, cache, tools: cache)
    folder = tmp_path / "lib"
    folder.mkdir()
    name = "_ZNSt15basic_streambufIwSt11char_traitsIwEE5imbueERKSt6locale"
    (folder / "more.s").write_text(f".text\n.globl {name}\n{name}: ret\n")
    subprocess.run(["cc", "-c", "more.s"], cwd=folder, check=True)
    subprocess.run(["ar", "rcs", "libmore.a", "more.o"], cwd=folder, check=True)
    library = Path(stubs.facts["libraries"][0]).resolve()
    (folder / "libstdc++.so").write_text(f"INPUT ( {library} -lmore )")
    monkeypatch.setenv("LIBRARY_PATH", str(folder))
    cache, tools = Cache(tmp_path / "cache"), toolset.find(needs_cuda=False)
    link_stubs.make_later(cache, tools)
    link_stubs.settle()
    found = link_stubs.find(cache, tools)
    assert found is not None
    source = f"""
    extern "C" void {name}();
    extern "C" int puts(const char*);
    extern "C" int answer() {{ {name}(); return puts(""); }}
    """
    with_stubs, without = make(source, found), make(source, None)
    assert imports(with_stubs) == imports(without)
    assert name in {symbol.name for symbol in imports(without).symbols}
    assert links_by_stubs(with_stubs)


class Planned(Exception):
    """A plan is made, and nothing is built."""


@pytest.fixture
def stubs_of(stubs, monkeypatch):
    """Return the stubs that a build would have."""

    def run(plan: BuildPlan, *_) -> None:
        raise Planned(plan.link.stubs)

    def plan(**options) -> str:
        source = "int one() { return 1; }"
        with pytest.raises(Planned) as caught:
            tc.build_inline("planned", cpp_sources=source, functions=["one"], **options)
        return str(caught.value)

    monkeypatch.setattr(link_stubs, "find", lambda *_: stubs)
    monkeypatch.setattr(builder, "run", run)
    return plan


def test_modules_with_host_code_are_linked_with_stubs(stubs_of, stubs):
    assert stubs_of() == str(stubs.path)


def test_other_compilers_than_gcc_go_without_stubs():
    tools, link = toolset.find(needs_cuda=False), Link(("g++",), is_plain=True)
    assert link_stubs.are_usable(link, tools)
    clang = tools._replace(host=tools.host._replace(compiler="clang version 18.1.3"))
    assert not link_stubs.are_usable(link, clang)


@pytest.mark.parametrize("flag", ["-static-libstdc++", "-L/opt/lib", "-fuse-ld=gold", "-lz"])
def test_linker_flags_go_without_stubs(stubs_of, flag):
    assert stubs_of(extra_ldflags=[flag]) == ""


def test_options_beside_the_compiler_go_without_stubs(stubs_of, monkeypatch):
    monkeypatch.setenv("CXX", "g++ -static-libgcc")
    assert stubs_of() == ""


def test_without_precompiled_headers_there_are_no_stubs(stubs_of, monkeypatch):
    assert stubs_of(use_pch=False) == ""
    monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off")
    assert stubs_of() == ""
