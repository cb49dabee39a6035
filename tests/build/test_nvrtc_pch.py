"""Headers that NVRTC precompiles: the same images, sooner; and never old headers."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from test_fork_and_isolation import in_fork

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc, nvrtc_pch, nvrtc_pch_store
from tvmffi_cubin.cuda_wheels import find_cuda
from tvmffi_cubin.errors import CompileError
from tvmffi_cubin.nvrtc_library import NvrtcLibrary

pytestmark = pytest.mark.skipif(
    not NvrtcLibrary.load(find_cuda().nvrtc).has_pch, reason="needs NVRTC 12.8 or newer"
)

# The least of what is heavy: half a second without precompiled headers.
INCLUDE = "#include <cuda/std/array>\n"
KERNEL = """\
extern "C" __global__ void k(int* y) {
  y[0] = VALUE;
  asm volatile("// VALUE = %0" ::"n"(VALUE));
}
"""


def source(value: object, *, include: str = INCLUDE, kernel: str = KERNEL) -> str:
    return f"{include}#define VALUE {value}\n{kernel}"


def ptx(text: str, **options) -> str:
    options = {"arch": "sm_90", "target_type": "ptx"} | options
    return nvrtc.compile(text, **options).image.decode()


def stored(text: str, **options) -> int:
    """Return the number that a source's VALUE is."""
    (found,) = re.findall(r"// VALUE = (\d+)", ptx(text, **options))
    return int(found)


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    """No test finds what another has left, nor does it fill the disk for the others."""
    stores: dict[str, nvrtc_pch_store.Store] = {}
    monkeypatch.setattr(nvrtc_pch_store, "_stores", stores)
    yield
    for store in stores.values():
        if store._shelf is not None:
            shutil.rmtree(store._shelf.folder)
            os.close(store._shelf.descriptor)


def said(caplog) -> list[str]:
    """Return "made" or "used" for each compilation since the last look."""
    words = [r.args[0] for r in caplog.records if "precompiled header for" in r.msg]
    caplog.clear()
    return words


def folders() -> list[Path]:
    (store,) = nvrtc_pch_store._stores.values()
    return sorted(Path(kept.folder) for kept in store._kept.values())


# Use


def test_the_first_compilation_makes_one_and_the_next_use_it(caplog):
    assert [stored(source(value)) for value in (41, 42)] == [41, 42]
    assert said(caplog) == ["made", "used"]
    assert stored(source(43, kernel=f"\n// edited\n{KERNEL}")) == 43
    assert said(caplog) == ["used"]


@pytest.mark.parametrize("options", [(), ("-lineinfo",), ("-std=c++20", "-use_fast_math")])
def test_images_are_the_same_as_without(options, caplog):
    kernel = """
    // The lines and the file's name are part of the image.
    extern "C" __global__ void k(int* y, cuda::std::array<int, 3> x) {
      y[0] = x[1] + __LINE__ + __FILE__[0] + sizeof(__FILE__);
      if (y[1] > VALUE) asm volatile("trap;");
    }"""
    text = source(7, kernel=kernel, include=f"/* first */\n\n{INCLUDE}")
    plain = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu", use_pch=False)
    assert said(caplog) == []
    for word in ("made", "used"):
        cubin = nvrtc.compile(text, arch="sm_90", options=options, name="mine.cu")
        assert said(caplog) == [word]
        assert cubin.image == plain.image
        assert cubin.log == plain.log == ""


def test_instances_and_probes_use_it_too(caplog):
    text = INCLUDE + "template <class T> __global__ void fill(T* x) { *x = %d; }"
    for number, word in enumerate(("made", "used")):
        cubin = nvrtc.compile(text % number, arch="sm_90", name_expressions=["fill<float>"])
        assert said(caplog) == [word]
        assert list(cubin.lowered_names) == ["fill<float>"]


def test_load_inline_uses_it(caplog):
    for word in ("made", "used"):
        path = tc.build_inline("pch", source(1, kernel=KERNEL + f"// {word}"), arch="sm_90")
        assert said(caplog) == [word]
        assert os.path.isfile(path)


def test_sources_that_are_linked_use_it_for_what_they_share(caplog):
    def built(value: int, **options) -> str:
        kernels = [
            f'extern "C" __global__ void {name}(int* y) {{ y[0] = {value}; }}' for name in "ab"
        ]
        return tc.build_inline("linked", [INCLUDE, *kernels], arch="sm_90", **options)

    built(1)
    assert said(caplog) == ["made", "used"]
    built(2)
    assert said(caplog) == ["used", "used"]
    built(3, use_pch=False)
    assert said(caplog) == []


def test_another_option_architecture_or_include_has_its_own(caplog):
    assert stored(source("MACRO"), options=["-DMACRO=1"]) == 1
    assert stored(source("MACRO"), options=["-DMACRO=2"]) == 2
    assert stored(source(3), arch="sm_80") == 3
    other = INCLUDE + "#include <cuda/std/utility>\n"
    assert stored(source(4, include=other)) == 4
    assert stored(source("BEFORE", include=f"#define BEFORE 5\n{INCLUDE}")) == 5
    assert stored(source("BEFORE", include=f"#define BEFORE 6\n{INCLUDE}")) == 6
    assert said(caplog) == ["made"] * 6


def test_what_reads_fast_is_not_precompiled(caplog):
    stored(source(1, include="#include <cuda_fp16.h>\n#include <cstdint>\n"))
    stored(source(1, include=""))
    assert said(caplog) == []
    assert not nvrtc_pch_store._stores


def test_where_all_that_is_included_reads_fast_nothing_is_imported_for_it():
    code = f"""
import sys
from tvmffi_cubin import nvrtc
for include in ("#include <cuda_fp16.h>", "#include <cuda_fp16.h>\\n#include <tuple>"):
    nvrtc.compile(include + "\\n#define VALUE 1\\n" + {KERNEL!r}, arch="sm_90")
    print("tvmffi_cubin.nvrtc_pch" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\nTrue\n"


def test_a_header_of_ones_own_may_be_what_takes_long(tmp_path, caplog):
    (tmp_path / "mine.h").write_text(INCLUDE)
    for _ in range(2):
        ptx(source(1, include='#include "mine.h"\n'), include_paths=[tmp_path])
    assert said(caplog) == ["made", "used"]


def test_so_may_one_that_an_option_includes(tmp_path, caplog):
    (tmp_path / "mine.h").write_text(INCLUDE)
    text = source(1, include="#include <cuda_fp16.h>\n")
    for _ in range(2):
        ptx(text, options=[f"--pre-include={tmp_path}/mine.h"])
    assert said(caplog) == ["made", "used"]


# Headers that change


def write(path: Path, value: int, *, like: Path | None = None) -> None:
    """Write a header; with the times of another file, as two edits within one tick have."""
    path.write_text(f"{INCLUDE}#define OWN {value}\n")
    if like is not None:
        stat = like.stat()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("same_times", [False, True])
def test_a_changed_header_is_read_anew(same_times, tmp_path, caplog):
    header, reference = tmp_path / "own.h", tmp_path / "reference"
    reference.touch()
    like = reference if same_times else None
    text = source("OWN", include='#include "own.h"\n')
    write(header, 1, like=like)
    assert stored(text, include_paths=[tmp_path]) == 1
    assert stored(text, include_paths=[tmp_path]) == 1
    write(header, 2, like=like)
    assert stored(text, include_paths=[tmp_path]) == 2
    assert stored(text, include_paths=[tmp_path]) == 2
    assert said(caplog).count("made") == 2
    assert len(folders()) == 1


def test_a_header_that_appears_before_another_is_read(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    write(second / "own.h", 2)
    text = source("OWN", include="#include <own.h>\n")
    assert stored(text, include_paths=[first, second]) == 2
    write(first / "own.h", 1)
    assert stored(text, include_paths=[first, second]) == 1


def test_a_changed_header_of_a_package_is_read_anew(tmp_path, monkeypatch, caplog):
    cuda = dataclasses.replace(find_cuda(), more_includes=(tmp_path,))
    monkeypatch.setattr(nvrtc, "find_cuda", lambda: cuda)
    write(tmp_path / "packaged.h", 1)
    text = source("OWN", include="#include <packaged.h>\n#include <cuda/std/array>\n")
    assert [stored(text), stored(text)] == [1, 1]
    write(tmp_path / "packaged.h", 2)
    assert [stored(text), stored(text)] == [2, 2]
    assert said(caplog).count("made") == 2


def test_headers_beside_the_source_are_found_and_watched(tmp_path):
    name = str(tmp_path / "kernel.cu")
    text = source("OWN", include='#include "own.h"\n')
    for value in (1, 2):
        write(tmp_path / "own.h", value)
        assert stored(text, name=name, source_include=True) == value


def test_a_header_that_changes_as_soon_as_the_compilation_has_begun_is_not_trusted(
    tmp_path, monkeypatch, caplog
):
    header = tmp_path / "own.h"
    write(header, 1)
    observe = nvrtc_pch._Search.observe

    def change_it(*args):
        write(header, 2)
        return observe(*args)

    text = source("OWN", include='#include "own.h"\n')
    with monkeypatch.context() as context:
        context.setattr(nvrtc_pch._Search, "observe", change_it)
        assert stored(text, include_paths=[tmp_path]) in (1, 2)
    assert stored(text, include_paths=[tmp_path]) == 2
    assert said(caplog) == ["made", "made"]


# What is said


def test_messages_have_the_users_lines_and_no_word_of_it(caplog):
    text = f"{INCLUDE}\n#define VALUE 1\n{KERNEL}\nnonsense;\n"
    for _ in range(2):
        with pytest.raises(CompileError) as raised:
            nvrtc.compile(text, arch="sm_90", name="mine.cu")
        assert "mine.cu(9): error" in str(raised.value)
        assert "> 9 | nonsense;" in str(raised.value)
        assert "precompiled" not in str(raised.value) + raised.value.log
        assert not [option for option in raised.value.options if option.startswith("-pch")]
    assert said(caplog) == ["made", "used"]


def test_an_error_among_the_includes_has_its_line():
    with pytest.raises(CompileError, match=r"mine\.cu\(2\): .*nowhere\.h"):
        nvrtc.compile(f"{INCLUDE}#include <nowhere.h>\n{KERNEL}", arch="sm_90", name="mine.cu")


def test_warnings_are_the_users_own():
    text = INCLUDE + 'extern "C" __global__ void k(int* y) { int unused; y[0] = 1; }'
    logs = [nvrtc.compile(text, arch="sm_90").log for _ in range(2)]
    assert logs[0] == logs[1]
    assert "unused" in logs[0]
    assert "PCH" not in logs[0]


def test_an_option_that_is_refused_is_still_the_users_mistake():
    with pytest.raises(ValueError, match="refuses an option") as raised:
        nvrtc.compile(source(1), arch="sm_90", options=["--no-such-option"])
    assert "-pch" not in str(raised.value)


# By-pass and fall-back


@pytest.mark.parametrize("option", ["variable", "argument"])
def test_it_can_be_turned_off(option, monkeypatch, caplog):
    if option == "variable":
        monkeypatch.setenv("TVMFFI_CUBIN_PCH", "off")
    options = {"use_pch": False} if option == "argument" else {}
    assert stored(source(1), **options) == 1
    assert said(caplog) == []
    assert not nvrtc_pch_store._stores


def test_who_turns_it_off_gets_a_build_of_their_own_with_the_same_bytes():
    # Else a by-pass could not get around what a compiler's fault has left in the cache.
    paths = [tc.build_inline("own", source(1), arch="sm_90", use_pch=on) for on in (None, False)]
    assert paths[0] != paths[1]
    assert len({Path(path).read_bytes() for path in paths}) == 1


def test_a_source_with_options_of_its_own_for_it_is_left_alone(tmp_path, caplog):
    options = ["-pch", f"-pch-dir={tmp_path}"]
    for _ in range(2):
        ptx(source(1, include=INCLUDE, kernel=KERNEL), options=options, source_include=True)
    assert [path.suffix for path in tmp_path.iterdir()] == [".pch"]
    assert not folders()


@pytest.mark.parametrize("problem", ["no room", "no folder", "an old NVRTC"])
def test_it_is_done_without_where_it_cannot_be(problem, tmp_path, monkeypatch, caplog):
    if problem == "no room":
        monkeypatch.setattr(nvrtc_pch_store, "has_room", lambda folder: False)
    elif problem == "no folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    else:
        monkeypatch.setattr(NvrtcLibrary, "has_pch", False)
    assert stored(source(1)) == 1
    assert said(caplog) == []


def test_it_is_done_without_where_files_may_not_be_large():
    code = f"""
import resource
from tvmffi_cubin import nvrtc
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
print(nvrtc.compile({source(1)!r}, arch="sm_90").kind)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("cubin\n", 0), done.stderr


def test_they_work_where_no_thread_can_be_started(monkeypatch, caplog):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert [stored(source(value)) for value in (1, 2)] == [1, 2]
    assert said(caplog) == ["made", "used"]


def test_a_folder_that_is_gone_is_no_error():
    assert stored(source(1)) == 1
    for folder in folders():
        for path in (*folder.iterdir(), folder):
            path.unlink() if path.is_file() else path.rmdir()
    assert stored(source(2)) == 2


def in_new_process(code: str, *, wait: bool = True) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", f"{PROCESS}\n{code}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if wait:
        process.wait()
    return process


PROCESS = f"""
import ctypes, logging, sys
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda_wheels import find_cuda
from tvmffi_cubin.nvrtc_library import NvrtcLibrary
logging.basicConfig(level="DEBUG", stream=sys.stdout, format="%(message)s")
def compile_it(value):
    nvrtc.compile({INCLUDE!r} + "#define VALUE %d\\n" % value + {KERNEL!r}, arch="sm_90")
"""


def test_too_little_memory_for_it_is_made_more():
    process = in_new_process(
        "NvrtcLibrary.load(find_cuda().nvrtc).grow_pch_heap(8 << 20)\n"
        "for value in range(3): compile_it(value)"
    )
    assert process.stdout is not None
    assert process.stdout.read().split("\n")[:-1] == [
        "NVRTC made a precompiled header for kernel.cu",
        "NVRTC used a precompiled header for kernel.cu",
    ]
    assert process.returncode == 0


# Side by side


def test_threads_make_one_and_share_it(caplog):
    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: ptx(source(i + 10))}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said(caplog)) == ["made", "used", "used", "used"]
    assert [results[i] for i in range(4)] == [ptx(source(i + 10), use_pch=False) for i in range(4)]


def test_nobody_waits_for_a_compilation_that_could_not_begin(monkeypatch, caplog):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr("tvmffi_cubin.nvrtc_pch.Later", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            ptx(source(1))
    results = []
    thread = threading.Thread(target=lambda: results.append(stored(source(2))), daemon=True)
    thread.start()
    thread.join(60)
    assert results == [2]
    assert said(caplog) == ["made"]


def test_a_forked_child_has_a_folder_of_its_own():
    assert stored(source(1)) == 1
    (mine,) = folders()
    value, theirs = in_fork(lambda: (stored(source(2)), folders()))
    assert value == 2
    assert theirs[0].parent != mine.parent
    assert list(mine.iterdir())
    assert stored(source(3)) == 3


@pytest.mark.parametrize("compiles", [False, True])
def test_a_forked_child_that_ends_leaves_the_parents_alone(compiles, temporary):
    work = "compile_it(2)" if compiles else "pass"
    process = in_new_process(
        "import os\n"
        "compile_it(1)\n"
        "sys.stdout.flush()\n"
        f"if os.fork() == 0: {work}; sys.exit()\n"
        "os.wait()\n"
        "compile_it(3)"
    )
    assert process.stdout is not None
    said = [line.split()[1] for line in process.stdout]
    assert said == ["made", "made", "used"] if compiles else said == ["made", "used"]
    assert not list(temporary.iterdir())


def test_there_are_never_more_than_a_few():
    for value in range(6):
        ptx(source(1), options=[f"-DMACRO={value}"])
    assert len(folders()) == 4
    assert len(list(folders()[0].parent.iterdir())) == 4


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """A folder for temporary files in which nobody else works."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_the_folder_goes_with_the_process(temporary):
    process = in_new_process("compile_it(1)")
    assert process.returncode == 0
    assert not list(temporary.iterdir())


def test_another_process_that_takes_the_new_folder_for_abandoned_is_survived(
    temporary, monkeypatch, caplog
):
    make = tempfile.mkdtemp
    made = []

    def make_and_lose(**options):
        made.append(make(**options))
        if len(made) == 1:
            nvrtc_pch_store._remove_abandoned(options["dir"])
        return made[-1]

    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    assert [stored(source(value)) for value in (1, 2)] == [1, 2]
    assert said(caplog) == ["made", "used"]
    assert len(made) == 2
    nvrtc_pch_store._remove_abandoned(str(temporary))
    assert folders()[0].parent == Path(made[1])
    assert os.listdir(temporary) == [os.path.basename(made[1])]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_of_multiprocessing_leaves_nothing(method, temporary):
    (temporary / "worker.py").write_text(f"{PROCESS}\n{WORKERS}")
    folder = temporary / "temporary"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, temporary / "worker.py", method],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("NVRTC made") == 2
    assert os.listdir(folder) == []


WORKERS = """
import multiprocessing
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=compile_it, args=(value,)) for value in range(2)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
"""


def test_what_ends_without_any_clean_up_is_removed_by_the_next_process(temporary):
    ended = in_new_process("compile_it(1)\nimport os\nos._exit(0)")
    assert ended.returncode == 0
    assert len(os.listdir(temporary)) == 1
    assert in_new_process("compile_it(1)").returncode == 0
    assert os.listdir(temporary) == []


def test_what_a_killed_process_has_left_is_removed_by_the_next(temporary):
    killed = in_new_process("compile_it(1)\nprint('done', flush=True)\ninput()", wait=False)
    assert killed.stdout is not None
    while killed.stdout.readline() not in ("done\n", ""):
        pass
    (left,) = temporary.iterdir()
    alive = in_new_process("compile_it(1)")
    assert alive.returncode == 0
    assert left.exists()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert in_new_process("compile_it(1)").returncode == 0
    assert not list(temporary.iterdir())
