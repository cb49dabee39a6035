"""Build the CUDA files of some folders by nvcc and by this package, and compare what comes out.

    python benchmarks/corpus.py PATH... [--json FILE] [--run] [--jobs N] [--alone N] [...]
    python benchmarks/corpus.py --tables FILE

A path is a file, a folder, or a ``compile_commands.json``, whose flags are used. Both compilers
build an object from each file; kernels, parameter sizes and device variables are compared. With
``--run``, both link the sources of a folder into a program, once for each source that defines
``main`` with those that define none, and the programs' exit status and output are compared; lines
that differ between two runs of nvcc's program are ignored.

``--jobs`` files are built at a time; the first ``--alone`` files of each path with a kernel are
rebuilt alone, and with a line added to that kernel. The folders stay unchanged; nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import machine

_MAIN = re.compile(r"^\s*(?:extern\s+\"C\"\s+)?int\s+main\s*\(", re.MULTILINE)
_SOURCES = (".cu", ".cpp", ".cc", ".c")
_TIMEOUT = 300  # seconds that a compiler may take; a program gets a fifth
# nvcc's prefix for static names and its namespace for file-internal names contain hashes.
_STATIC = re.compile(r"^__nv_static_\d+__\w+?_(?=_Z)")
_INTERNAL = re.compile(r"(\d+)_(?:INTERNAL|GLOBAL__N_)_")
_OF_CUDA = "cuda_device_runtime"
_OF_CCCL = ("_ZN4cuda", "_ZN6thrust", "_ZN3cub")
_LITERALS = ("$str", "__unnamed_")  # numbered in each compiler's own order
_FOR_NVCC = re.compile(r"compiler=\\?[\"']nvcc")
_BY_NVCC = ' [compiler="nvcc"]'


class Unit(NamedTuple):
    """A file to build."""

    corpus: str
    file: Path
    flags: tuple[str, ...]

    @property
    def parts(self) -> list[Path]:
        """The sources of the program that this file belongs to, this file first; none without one.

        A program whose ``main`` is in a C++ file belongs to the first CUDA file next to it.
        """
        beside = sorted(x for x in self.file.parent.iterdir() if x.suffix in _SOURCES)
        mains = [x for x in beside if _MAIN.search(x.read_text(errors="replace"))]
        others = [x for x in beside if x not in mains and x != self.file]
        if self.file in mains:
            return [self.file, *others]
        is_first = next((x for x in beside if x.suffix == ".cu"), None) == self.file
        if len(mains) == 1 and mains[0].suffix != ".cu" and is_first:
            return [self.file, *mains, *others]
        return []


# ---- What to build ----


def read_units(path: Path, flags: Sequence[str]) -> Iterator[Unit]:
    """Iterate over the CUDA files that a path names."""
    if path.name == "compile_commands.json":
        for command in json.loads(path.read_text()):
            words = command.get("arguments") or shlex.split(command["command"])
            file = Path(command["directory"], command["file"])
            if file.suffix == ".cu":
                yield Unit(path.parent.name, file, (*_flags(words[1:], file), *flags))
        return
    for file in [path] if path.is_file() else sorted(path.rglob("*.cu")):
        yield Unit(path.name, file, tuple(flags))


def _flags(words: Sequence[str], file: Path) -> Iterator[str]:
    """Yield the words of a command that apply to every build of the file."""
    rest = iter(words)
    for word in rest:
        if word in ("-o", "-x"):
            next(rest)
        elif word not in ("-c", str(file), file.name):
            yield word


# ---- One build, in its own process ----


def build(compiler: str, file: str, output: str, arch: str, flags: list[str]) -> dict[str, Any]:
    """Build an object; return how long it took, and its contents or the error."""
    maker = by_nvcc if compiler == "nvcc" else by_us
    start = time.perf_counter()
    error = maker(file, output, arch, flags)
    row: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 3), "error": error}
    return row if error else {**row, **contents(Path(output))}


def by_nvcc(file: str, output: str, arch: str, flags: list[str]) -> str:
    """Compile a file with nvcc; return its first error, empty if there is none."""
    from tvm_ffi.libinfo import find_dlpack_include_path, find_include_path

    from tvmffi_cubin.cuda.nvcc import locate

    # The include folders that every build here has.
    folders = dict.fromkeys((find_include_path(), find_dlpack_include_path()))
    includes = [f"-isystem={folder}" for folder in folders]
    command = [str(locate()), "-c", "--no-compress", f"-arch={arch}", *flags, *includes]
    command += [file, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return _first_error(done.stdout + done.stderr) if done.returncode else ""


def by_us(file: str, output: str, arch: str, flags: list[str]) -> str:
    """Build a file with this package; return its first error, empty if there is none."""
    import tvmffi_cubin as tc

    try:
        tc.build(
            Path(output).stem,
            sources=[file],
            output=output,
            arch=arch,
            extra_cuda_cflags=[x for x in flags if x not in ("-rdc=true", "-dc")],
        )
    except (tc.BuildError, tc.CompileError, tc.ToolchainError, TypeError, ValueError) as error:
        text = str(error)
        return _first_error(text) + (_BY_NVCC if _FOR_NVCC.search(text) else "")
    return ""


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()] or ["no output"]
    is_error = re.compile("error|undefined reference|cannot find")
    return next(filter(is_error.search, lines), lines[0])[:300]


def contents(path: Path) -> dict[str, Any]:
    """Return an object's kernels with their parameter sizes, and its device variables."""
    import tvmffi_cubin as tc
    from tvmffi_cubin.kernels.elf import Elf

    try:
        images = tc.inspect(path).images
    except tc.ImageError:  # a file without device code
        images = ()
    kernels, variables = {}, {}
    members = [member for image in images for member in image.members or (image,)]
    for image in (x for x in members if x.kind != "ptx"):
        own = (x for x in image.kernels if _OF_CUDA not in x.name)
        kernels.update({_plain(x.name): list(x.param_sizes) for x in own})
        elf = Elf(image.image)
        for symbol in elf.symbols():
            section = elf.sections[symbol.section].name if symbol.is_placed else ""
            is_variable = symbol.type == 1 and section.startswith((".nv.global", ".nv.constant3"))
            if is_variable and "tvmffi_cubin" not in symbol.name:
                variables[_plain(symbol.name)] = symbol.size
    return {"kernels": kernels, "variables": variables}


def _plain(name: str) -> str:
    name = _STATIC.sub("", name)
    if match := _INTERNAL.search(name):
        name = name[: match.start()] + name[match.end(1) + int(match[1]) :]
    return name


# ---- Both builds of a file and its program ----


class Corpus(NamedTuple):
    """How all files are built and run."""

    arch: str
    folder: Path
    runs: bool
    links: tuple[str, ...]

    def row(self, number: int, unit: Unit) -> dict[str, Any]:
        """Build a file with both compilers and compare; run both if it is a program."""
        folder = self.folder / str(number)
        folder.mkdir()
        row = {"corpus": unit.corpus, "file": str(unit.file)}
        objects = {compiler: folder / f"{compiler}.o" for compiler in ("nvcc", "here")}
        found = {x: self.built(x, unit, path) for x, path in objects.items()}
        (folder / "again").mkdir()
        again = self.built("here", unit, folder / "again" / "here.o", cache="require")
        row["again"] = again["seconds"] if not again["error"] else None
        row |= _compared(found["nvcc"], found["here"])
        if self.runs and not row["nvcc"]["error"] and unit.parts:
            row["program"] = self.program(unit, unit.parts[1:], folder, objects)
        return row

    def built(
        self, compiler: str, unit: Unit, output: Path, file: Path | None = None, cache: str = "on"
    ) -> Any:
        """Build an object in its own process."""
        flags = [f"-I{unit.file.parent}", *unit.flags] if file else list(unit.flags)
        given = json.dumps([compiler, str(file or unit.file), str(output), self.arch, flags])
        # It ends the compiler's own processes, too.
        command = ["timeout", str(_TIMEOUT), sys.executable, __file__, "--build", given]
        env = {**os.environ, "TVMFFI_CUBIN_CACHE_DIR": str(self.folder / "cache")}
        env["TVMFFI_CUBIN_CACHE"] = cache
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if done.returncode == 124:
            return {"seconds": _TIMEOUT, "error": f"error: not built in {_TIMEOUT} seconds"}
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"seconds": 0, "error": f"error: status {done.returncode}: {done.stderr[-300:]}"}

    def alone(self, number: int, unit: Unit) -> dict[str, Any]:
        """Return how long each compiler takes alone, and again after a kernel is edited."""
        folder = self.folder / f"alone_{number}"
        folder.mkdir()
        text = unit.file.read_text(errors="replace")
        copy = folder / unit.file.name
        copy.write_text(text)
        times = {}
        for name, source in (("alone", text), ("edited", _edited(text))):
            if source is not None:
                copy.write_text(source)
                for compiler in ("nvcc", "here"):
                    row = self.built(compiler, unit, folder / f"{compiler}.o", copy)
                    times[f"{name} {compiler}"] = None if row["error"] else row["seconds"]
        return times

    # ---- Programs ----

    def program(
        self, unit: Unit, parts: Sequence[Path], folder: Path, objects: dict[str, Path]
    ) -> dict[str, Any]:
        """Link and run what each compiler built, with the other parts of the program."""
        ran: dict[str, dict[str, Any]] = {}
        for compiler, first in objects.items():
            files, error = [str(first)], "" if first.exists() else "error: not built"
            for number, part in enumerate(parts):
                # In both, the host compiler builds other parts through nvcc, which has the headers.
                maker = compiler if part.suffix == ".cu" else "nvcc"
                path = folder / f"{maker}_{number}.o"
                files.append(str(path))
                if not path.exists():
                    error = error or self.built(maker, unit._replace(file=part), path)["error"]
            if not error:
                ran[compiler] = self.ran(compiler, folder / f"{compiler}_program", files, unit)
            else:
                ran[compiler] = {"error": error}
        return _same_runs(ran["nvcc"], ran["here"])

    def ran(self, compiler: str, path: Path, files: list[str], unit: Unit) -> dict[str, Any]:
        """Link a program with nvcc or the host compiler, and run it in its source folder."""
        from tvm_ffi.libinfo import find_libtvm_ffi

        from tvmffi_cubin.cuda import nvcc

        found = nvcc.find_nvcc()
        if compiler == "nvcc":
            is_linked = "-rdc=true" in unit.flags or "-dc" in unit.flags
            command = [found.path, f"-arch={self.arch}", *(["-rdc=true"] if is_linked else [])]
            command += [*files, "-o", str(path), *self.links]
        else:
            ffi = find_libtvm_ffi()
            runtime = [ffi, f"-Wl,-rpath,{Path(ffi).parent}", f"-L{found.libraries}"]
            runtime += ["-lcudadevrt", "-lcudart_static", "-ldl", "-lrt", "-pthread"]
            command = ["c++", *files, "-o", str(path), *self.links, *runtime]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return {"error": _first_error(done.stdout + done.stderr)}
        outputs = []
        for _ in range(2 if compiler == "nvcc" else 1):
            try:
                run = subprocess.run(
                    [str(path)],
                    cwd=unit.file.parent,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=_TIMEOUT / 5,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return {"error": f"error: it runs for more than {_TIMEOUT // 5} seconds"}
            text = run.stdout.decode(errors="replace").replace(str(path), "program")
            outputs.append((run.returncode, text.splitlines()))
        return {"error": "", "status": [x[0] for x in outputs], "output": [x[1] for x in outputs]}


def _edited(text: str) -> str | None:
    """Return a text with a line added to its first kernel, None if no kernel is found."""
    edited, count = re.subn(
        r"__global__[^;{}]*\{", r'\g<0> asm volatile("// edited");', text, count=1
    )
    return edited if count else None


def _compared(nvcc: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Return both results with their differences, empty if there are none."""
    differences = []
    if not nvcc["error"] and not here["error"]:
        for kind in ("kernels", "variables"):
            one, other = nvcc[kind], here[kind]
            # NVRTC also turns constants into variables, and each has its own of CCCL's.
            names = sorted({*one, *(other if kind == "kernels" else ())})
            if kind == "variables":
                names = [x for x in names if not x.startswith((*_OF_CCCL, *_LITERALS))]
            for name in names:
                if one.get(name) != other.get(name):
                    differences.append(f"{kind} {name}: {one.get(name)}, here {other.get(name)}")
    counted = (
        {name: len(x) if isinstance(x, dict) else x for name, x in found.items()}
        for found in (nvcc, here)
    )
    return {**dict(zip(("nvcc", "here"), counted, strict=True)), "differences": differences}


def _same_runs(nvcc: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Return the statuses of two programs, and the lines of output that ours lacks or adds."""
    row: dict[str, Any] = {
        x: y["error"] or y["status"] for x, y in (("nvcc", nvcc), ("here", here))
    }
    if nvcc["error"] or here["error"]:
        return row
    always = [x for x in nvcc["output"][0] if x in nvcc["output"][1]]
    row["missing"] = [x for x in always if x not in here["output"][0]][:5]
    shapes = {re.sub(r"\d+", "0", x) for output in nvcc["output"] for x in output}
    row["added"] = [x for x in here["output"][0] if re.sub(r"\d+", "0", x) not in shapes][:5]
    return row


# ---- Tables ----


def tables(found: dict[str, Any]) -> str:
    """Return the tables of a run, as Markdown."""
    facts, rows = found["machine"], found["rows"]
    head = f"{found['date']}, {facts['kind']}, nvcc {facts['nvcc']}, {found['arch']}"
    corpora = dict.fromkeys(row["corpus"] for row in rows)
    built, timed, ran = [], [], []
    for name in corpora:
        own = [x for x in rows if x["corpus"] == name and not x["nvcc"]["error"]]
        built.append((name, *_built(own)))
        if times := [x["times"] for x in own if "times" in x]:
            columns = ("alone nvcc", "alone here", "edited nvcc", "edited here")
            medians = (_median(x[column] for x in times if x.get(column)) for column in columns)
            timed.append((name, len(times), *medians))
        passed = [x["program"] for x in own if x.get("program", {}).get("nvcc") == [0, 0]]
        ours = [x for x in passed if x["here"] == [0]]
        if passed:
            same = [x for x in ours if not (x["missing"] or x["added"])]
            ran.append((name, len(passed), len(ours), len(same)))
    seconds = f"nvcc, s, {found['jobs']} side by side"
    parts = (
        head,
        _table(
            *("source", "files that nvcc builds", "built here", "the same kernels"),
            *("the error says nvcc", seconds, "here, s", "the slowest, of nvcc's time"),
            rows=built,
        ),
        _table(
            *("source", "files, alone", "nvcc, s", "here, s", "a kernel edited, nvcc", "here"),
            rows=timed,
        ),
        _table("whole programs", "pass by nvcc", "here", "with the same output", rows=ran),
    )
    return "\n\n".join(filter(None, parts))


def _built(rows: Sequence[dict[str, Any]]) -> Iterator[object]:
    ours = [x for x in rows if not x["here"]["error"]]
    yield from (len(rows), len(ours), sum(not x["differences"] for x in ours))
    yield sum(_BY_NVCC in x["here"]["error"] for x in rows)
    yield from (_median(x[side]["seconds"] for x in ours) for side in ("nvcc", "here"))
    ratios = [x["here"]["seconds"] / x["nvcc"]["seconds"] for x in ours]
    yield f"{max(ratios):.2f}" if ratios else ""


def _table(*columns: str, rows: Iterable[Sequence[object]]) -> str:
    """Return a table as Markdown, empty without rows."""
    lines = [[*map(str, row)] for row in rows]
    if not lines:
        return ""
    return "\n".join(f"| {' | '.join(x)} |" for x in (columns, ["---"] * len(columns), *lines))


def _median(values: Iterable[float]) -> str:
    known = list(values)
    return f"{statistics.median(known):.1f}" if known else ""


def told(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Iterate over lines about every file that differs."""
    for row in rows:
        file, program = row["file"], row.get("program", {})
        if row["nvcc"]["error"]:
            yield f"{file}: nvcc: {row['nvcc']['error']}"
        elif row["here"]["error"]:
            yield f"{file}: here: {row['here']['error']}"
        for difference in row["differences"]:
            yield f"{file}: {difference}"
        if program and (program["nvcc"] == [0, 0]) != (program["here"] == [0]):
            yield f"{file}: nvcc's program: {program['nvcc']}, here: {program['here']}"
        for kind in ("missing", "added"):
            for line in program.get(kind, ()):
                yield f"{file}: {kind}: {line}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--flag", action="append", default=[], help="for every file")
    parser.add_argument("--link", action="append", default=[], help="for every program")
    parser.add_argument("--run", action="store_true", help="run programs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--alone", type=int, default=0, help="files of each path timed alone")
    parser.add_argument("--seconds", type=float, help="after which no other file is begun")
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--tables", type=Path, help="print the tables of results")
    parser.add_argument("--build", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.build:
        json.dump(build(*json.loads(given.build)), sys.stdout)
        return 0
    if given.tables:
        print(tables(json.loads(given.tables.read_text())))
        return 0
    found = measured(given)
    print(*told(found["rows"]), "", tables(found), sep="\n")
    return 0


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """Build and compare all files, and time some alone; also write the results to ``--json``."""
    units = [unit for path in given.paths for unit in read_units(path.resolve(), given.flag)]
    end = time.monotonic() + (given.seconds or 1e9)
    found = {"date": time.strftime("%Y-%m-%d"), "machine": machine.facts(), "arch": given.arch}
    found |= {"jobs": given.jobs, "rows": []}

    def save() -> None:
        if given.json:
            given.json.write_text(json.dumps(found, indent=1))

    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(given.arch, Path(folder), given.run, tuple(given.link))

        def row(number: int) -> dict[str, Any] | None:
            return corpus.row(number, units[number]) if time.monotonic() < end else None

        with ThreadPoolExecutor(given.jobs) as pool:
            for number, made in enumerate(pool.map(row, range(len(units)))):
                if made is not None:
                    found["rows"].append({**made, "number": number})
                    print(".", end="", file=sys.stderr, flush=True)
                    if number % 50 == 0:
                        save()
        save()
        counts: dict[str, int] = {}
        for made in found["rows"]:
            unit = units[made["number"]]
            is_built = not (made["nvcc"]["error"] or made["here"]["error"])
            is_built = is_built and _edited(unit.file.read_text(errors="replace")) is not None
            if is_built and counts.setdefault(made["corpus"], 0) < given.alone:
                counts[made["corpus"]] += 1
                made["times"] = corpus.alone(made["number"], unit)
        save()
    print(file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
