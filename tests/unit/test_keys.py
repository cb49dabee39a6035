"""Keys: all that changes the result is in them, and nothing else."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from processes import in_new_process

import tvmffi_cubin
from tvmffi_cubin import Cubin, Launch
from tvmffi_cubin.cache import files
from tvmffi_cubin.cache.entry import Key
from tvmffi_cubin.cuda.libraries import Cuda
from tvmffi_cubin.host import tools as host_tools
from tvmffi_cubin.host.tools import HostCompiler, HostTools, TvmFfiPaths
from tvmffi_cubin.inline.images import ImageFile
from tvmffi_cubin.inline.options import make_request
from tvmffi_cubin.inline.request import Request, Source, SourceFiles
from tvmffi_cubin.inline.tools import Toolset, module_key

SOURCE = 'extern "C" __global__ void k(int n) {}'
REQUEST = make_request("m", cuda_sources=SOURCE, use_pch=True)
NVRTC = b"\x7fELF" + files._BUILD_ID + bytes(20)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("CPATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH"):
        monkeypatch.delenv(name, raising=False)


def made_cuda(folder: Path, build: bytes = NVRTC) -> Cuda:
    parts = {}
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("nvrtc", "nvjitlink", "nvfatbin"):
        parts[part] = str(folder / f"lib{part}.so")
        (folder / f"lib{part}.so").write_bytes(build)
    parts["runtime"] = str(folder / "nvidia" / "cuda_runtime" / "include")
    parts["curand"] = str(folder / "nvidia" / "curand" / "include")
    return Cuda(12, parts)


def made_tools(folder: Path, **changes: object) -> Toolset:
    """Return tools that lie in a folder, and say the same of themselves wherever that is."""
    fields = {
        "compiler": HostCompiler((f"{folder}/bin/g++",)),
        "host": HostTools("gcc version 12", "as 2", "ld 2"),
        "tvm_ffi": TvmFfiPaths(f"{folder}/ffi", f"{folder}/libtvm_ffi.so"),
        "builds": {"tvm_ffi": "f" * 64, "own_files": "9" * 64, "cuda": "nvrtc 12"},
        "include": folder / "include",
        "cuda": made_cuda(folder),
    }
    return Toolset(**{**fields, **changes})


@pytest.fixture
def tools(tmp_path) -> Toolset:
    return made_tools(tmp_path / "tools")


def key_of(tools: Toolset, request: Request = REQUEST, archs: tuple[str, ...] = ("sm_90",)):
    return module_key(request, archs, tools)


def digest(tools: Toolset, request: Request = REQUEST) -> str:
    return key_of(tools, request).hexdigest()


# The request: every field, so that a new one cannot be forgotten

FATBIN = Cubin(b"\x7fELF", "", name="x.cubin")
FILE = Source("int f();", "/a/f.cc")
OTHERS = {
    "cpp_sources": (Source("int g();", label="cpp_sources"),),
    "cuda_sources": (Source(SOURCE + " ", label="cuda_sources"),),
    "kernel_sources": (Source(SOURCE, label="kernel_sources"),),
    "functions": (),
    "images": {"a": FATBIN},
    "files": SourceFiles(cxx=(FILE,)),
    "device_libraries": (FATBIN,),
    "image_files": {"a": ImageFile("a.cubin")},
}
# Where image files lie: without any it says nothing.
FOLDER = {"target": "/x/m.so", "image_files": {"a": ImageFile("a.cubin")}}


@pytest.mark.parametrize(
    "field", [x for x in Request._fields if x not in ("arch", "nvcc_flags", "verbose")]
)
def test_every_field_of_a_request_is_in_the_key(field, tools):
    if field == "target":
        base = REQUEST._replace(**(FOLDER | {"target": ""}))
        changed = REQUEST._replace(**FOLDER)
    else:
        value = getattr(REQUEST, field)
        other = {bool: not value, str: f"{value}x", tuple: ("-x",)}.get(type(value))
        base, changed = REQUEST, REQUEST._replace(**{field: OTHERS.get(field, other)})
    assert digest(tools, changed) != digest(tools, base)


@pytest.mark.parametrize(
    "image",
    [
        dataclasses.replace(FATBIN, image=b"\x7fELF2"),
        dataclasses.replace(FATBIN, lowered_names={"a": "b"}),
        dataclasses.replace(FATBIN, signatures={"a": "int n"}),
    ],
)
def test_all_that_is_known_of_an_image_counts(image, tools):
    one, two = (REQUEST._replace(images={"a": x}) for x in (FATBIN, image))
    assert digest(tools, one) != digest(tools, two)


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Launch)])
def test_every_field_of_a_launch_is_in_the_key(field, tools):
    base = {"kernel": "k", "params": "float* x, int n", "grid": 4, "block": 1}
    if field == "meta":
        del base["grid"]
    changes = {
        "kernel": "other",
        "grid": 8,
        "block": 2,
        "attributes": {1: bytes(4)},
        "params": "float* x, long n",
        "args": {"n": 1},
        "image": "other",
        "when": "n > 0",
        "strided": "x",
        "multiple_of": {"n": 16},
        "equal_to": {"n": 1},
        "meta": {"BLOCK": 4},
    }
    known = {f.name: f for f in dataclasses.fields(Launch)}
    if field not in changes:
        default = known[field].default
        assert isinstance(default, (bool, int, type(None))), f"say here what {field} may be"
        changes[field] = not default if isinstance(default, bool) else 1
    first, second = ({"f": Launch(**x)} for x in (base, base | {field: changes[field]}))
    made = [make_request("m", cuda_sources=SOURCE, functions=x) for x in (first, second)]
    assert digest(tools, made[0]) != digest(tools, made[1])


# The tools


@pytest.mark.parametrize(
    "changes",
    [
        {"host": HostTools("gcc version 13", "as 2", "ld 2")},
        {"host": HostTools("gcc version 12", "as 2", "ld 3")},
        {"compiler": HostCompiler(("/g++",), ("-m64",))},
        {"builds": {"tvm_ffi": "e" * 64, "own_files": "9" * 64, "cuda": "nvrtc 12"}},
        {"builds": {"tvm_ffi": "f" * 64, "own_files": "8" * 64, "cuda": "nvrtc 12"}},
        {"builds": {"tvm_ffi": "f" * 64, "own_files": "9" * 64, "cuda": "nvrtc 13"}},
        {"nvfatbin": "nvfatbin 13"},
    ],
    ids=str,
)
def test_what_the_tools_are_counts(changes, tools):
    assert digest(tools._replace(**changes)) != digest(tools)


def test_this_package_s_version_the_machine_and_the_architectures_count(tools, monkeypatch):
    digests = {digest(tools), key_of(tools, archs=("sm_90a",)).hexdigest()}
    with monkeypatch.context() as patch:
        patch.setattr("tvmffi_cubin.inline.tools.__version__", "0.0.0")
        digests.add(digest(tools))
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="other"))
    assert len({*digests, digest(tools)}) == 4


@pytest.mark.parametrize("name", ["CPATH", "LIBRARY_PATH", "NVRTC_APPEND_FLAGS"])
def test_a_variable_that_compilers_read_counts(name, tools, monkeypatch):
    monkeypatch.delenv(name, raising=False)
    before = digest(tools)
    monkeypatch.setenv(name, "/x")
    assert digest(tools) != before
    monkeypatch.setenv(name, "")
    assert digest(tools) == before


@pytest.mark.parametrize("place", ["cflags", "ldflags", "CXX"])
def test_the_processor_counts_where_code_for_it_is_asked_for(place, tools, monkeypatch):
    native = ("-march=native",)
    asking, request = tools, REQUEST
    if place == "CXX":
        asking = tools._replace(compiler=HostCompiler(("/g++",), native))
    else:
        request = REQUEST._replace(**{place: native})
    digests = []
    for cpu in ("one", "two"):
        monkeypatch.setattr(host_tools, "_processor", lambda cpu=cpu: cpu)
        digests.append((digest(asking, request), digest(tools)))
    assert digests[0][0] != digests[1][0]
    assert digests[0][1] == digests[1][1]


# What must not count


def test_the_places_of_the_tools_do_not_count(tmp_path):
    one, two = (made_tools(tmp_path / name) for name in ("here", "over there"))
    assert digest(one) == digest(two)
    assert list(one.roots) == list(two.roots)
    assert set(one.roots.values()).isdisjoint(two.roots.values())


# The package's own files, as they were imported


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package and its headers, which a new process imports."""
    place = tmp_path / "place"
    own = Path(tvmffi_cubin.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(own, place / "tvmffi_cubin", ignore=ignore)
    shutil.copytree(own.parent / "include", place / "include", ignore=ignore)
    # A new process imports what is in the folder it starts in.
    monkeypatch.chdir(place)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    return place


CODE = """
import sys
from pathlib import Path
from tvmffi_cubin.inline.tools import find_tools
first = find_tools(needs_cuda=False).builds["own_files"]
Path(sys.argv[1]).open("a").write("\\n")
assert find_tools(needs_cuda=False).builds["own_files"] == first
print(first)
"""


def test_the_content_of_each_file_counts_as_it_was_imported(package: Path):
    names = ("tvmffi_cubin/inline/build.py", "include/tvmffi_cubin/kernel.h", "other.txt")
    found = [in_new_process(CODE, package / name) for name in [*names, names[2]]]
    assert len({*found}) == 3
    assert found[2] == found[3]


def test_of_an_installed_wheel_its_record_is_looked_at(package: Path):
    record = package / f"tvmffi_cubin-{tvmffi_cubin.__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("one\n")
    first = in_new_process(CODE, record)
    (package / "tvmffi_cubin" / "kernels" / "types.py").write_text("# another\n")
    assert in_new_process(CODE, record) != first


def test_what_changed_after_it_was_imported_has_no_digest_that_others_share(package: Path):
    changed = "from tvmffi_cubin.inline import tools\nfrom pathlib import Path\nimport sys\n"
    changed += 'Path(sys.argv[1]).open("a").write("\\n")\nprint(tools._package_digest())'
    path = package / "include/tvmffi_cubin/kernel.h"
    assert in_new_process(changed, path) != in_new_process(CODE, package / "other.txt")


# The content hash: different fields, different digests


def hashed(pairs, purpose="test"):
    key = Key(purpose)
    for label, value in dict(pairs).items():
        key.add(label, value)
    return key.hexdigest()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": "bc"}, {"ab": "c"}),
        ({"a": ["b", "c"]}, {"a": ["bc"]}),
        ({"a": [["b"], "c"]}, {"a": [["b", "c"]]}),
        ({"a": "1"}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": "x"}, {"a": b"x"}),
        ({"a": None}, {"a": ""}),
        ({"a": "a\udcff"}, {"a": "a"}),
    ],
)
def test_look_alikes_differ(first, second):
    assert hashed(first) != hashed(second)


def test_purposes_differ_and_order_does_not_count():
    assert hashed({}, "entry") != hashed({}, "base")
    first = Key("test").add("a", {"x": 1, "y": 2}).add("b", 2)
    assert first.hexdigest() == Key("test").add("b", 2).add("a", {"y": 2, "x": 1}).hexdigest()
    assert first.hexdigest(without=["a"]) == Key("test").add("b", 2).hexdigest()


@pytest.mark.parametrize("value", [{1, 2}, object(), [object()], {"a": {1: 2, "1": 2}}, 1j])
def test_a_value_without_an_unambiguous_encoding_is_refused_by_name(value):
    with pytest.raises(TypeError, match="'flags'"):
        Key("test").add("flags", value)
