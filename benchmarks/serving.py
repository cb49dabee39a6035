"""Build what SGLang and FlashInfer build on the user's machine by nvcc and by this package.

    python benchmarks/serving.py [--packages FOLDER]... [--only WORD]... [--json FILE] [...]

SGLang and FlashInfer come from the folders (of unpacked wheels), else the installed ones are used;
they also need msgspec and packaging. Neither a GPU nor torch is needed: a stand-in replaces torch,
and what is not installed is `Nothing`.

For SGLang, this calls every function that calls ``load_jit`` and whose parameters are numbers,
dtypes and bools, with the values in `VALUES`; for FlashInfer, the generators in `GENERATORS`. What
they ask nvcc to build is recorded in one ``compile_commands.json`` per module, which `corpus`
builds and compares. Only files that nvcc builds count. "Again" builds from the cache, in mode
``require`` and in its own process, and includes importing the package.
"""

from __future__ import annotations

import argparse
import ast
import enum
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nothing import Nothing, stand_in

# Arguments for SGLang's functions, by parameter name, else by type.
VALUES: dict[str, Any] = {
    "head_dim": 128, "rope_dim": 64, "page_size": 64, "world_size": 8, "hidden_size": 4096,
    "hidden_dim": 4096, "topk": 8, "top_k": 8, "block_size": 1024, "quant_group_size": 128,
    "group_size": 128, "element_size": 1024, "unroll": 4, "block_quota": 2, "num_threads": 256,
    "w": 4, "w1": 3, "ratio": 4, "n": 4096, "k": 4096, "item_size_bytes": 1152,
    "k_row_bytes": 2048, "v_row_bytes": 2048, "nope_bytes": 1024, "rope_bytes": 128,
    "cluster_size": 8, "_jit_fast_topk_module.topk": 512, "quant_type": 12,
    "_jit_grouped_gemma_rmsnorm_module.group_size": 512, "index_dtype": "int64",
    "seq_dtype": "int32", "weight_dtype": "float32", "channels_last": False,
}  # fmt: skip
BY_TYPE = {"torch.dtype": "bfloat16", "bool": False, "int": 128}
_H, _B = "float16", "bfloat16"
GENERATORS: tuple[tuple[Any, ...], ...] = (
    ("norm.gen_norm_module",),
    ("rope.gen_rope_module",),
    ("page.gen_page_module",),
    *(("activation.gen_act_and_mul_module", x) for x in ("silu", "gelu", "gelu_tanh")),
    ("sampling.gen_sampling_module",),
    ("quantization.gen_quantization_module",),
    ("cascade.gen_cascade_module",),
    ("topk.gen_topk_module",),
    ("attention.gen_single_decode_module", _H, _H, _H, 128, 128, 0, False, False),
    ("attention.gen_batch_decode_module", _H, _H, _H, "int32", 128, 128, 0, False, False),
    ("attention.gen_batch_decode_module", _B, _B, _B, "int32", 64, 64, 0, False, False),
    ("attention.gen_single_prefill_module", "fa2", _B, _B, _B, 128, 128, 0, False, False, False),
)
# corpus.py sets these, the same for both compilers.
_LEFT_OUT = re.compile(r"-gencode=.*|-Xfatbin=.*|--compress-mode=.*|--threads=.*")


# ---- Recording, in its own process ----


def record_sglang(torch: Any, folder: Path) -> Iterator[str]:
    """Record what SGLang's call sites build; iterate over the sites that were not recorded."""
    for name in ("sglang.srt.utils", "sglang.srt.utils.common"):
        importlib.import_module(name).is_cuda = lambda: True
    loader = importlib.import_module("sglang.kernels.jit.utils.compile.loader")
    recorded: list[Any] = []
    loader._find_prebuilt = lambda *, spec, scope: recorded.append(spec) or folder
    loader.ninja = SimpleNamespace(generate=lambda _: "")
    loader.cache = SimpleNamespace(
        compute_build_key=lambda *_, **__: "", build_key_dir=lambda **_: folder
    )
    loader._load = lambda path: Nothing()
    (package,) = sys.modules["sglang"].__path__
    for path in sorted(Path(package, "kernels").rglob("*.py")):
        text = path.read_text()
        if "load_jit(" not in text or path.name == "loader.py":
            continue
        module = "sglang." + ".".join(path.relative_to(package).with_suffix("").parts)
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and "load_jit(" in ast.unparse(node):
                recorded.clear()
                site = f"{module.removeprefix('sglang.kernels.')}.{node.name}"
                try:
                    found = importlib.import_module(module)
                    getattr(found, node.name)(**_arguments(torch, found, node))
                except Exception as error:
                    yield f"{site}: {type(error).__name__}: {error}"[:200]
                units = (unit for spec in recorded for unit in _units(spec, folder))
                if recorded:
                    _write(folder, f"sglang {site}", units)


def _arguments(torch: Any, module: Any, function: ast.FunctionDef) -> dict[str, Any]:
    given = {}
    positional = [*function.args.posonlyargs, *function.args.args]
    required = positional[: len(positional) - len(function.args.defaults)]
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    for parameter in [*required, *(x for x, default in named if default is None)]:
        hint = ast.unparse(parameter.annotation) if parameter.annotation else "int"
        hint = "torch.dtype" if parameter.arg.endswith("dtype") else hint
        value = VALUES.get(parameter.arg, BY_TYPE.get(hint))
        value = VALUES.get(f"{function.name}.{parameter.arg}", value)
        if isinstance(of := getattr(module, hint, None), type) and issubclass(of, enum.Enum):
            value = next(iter(of))
        if value is None:
            raise TypeError(f"no value for {parameter.arg}: {hint}")
        given[parameter.arg] = getattr(torch, value) if hint == "torch.dtype" else value
    return given


def _units(spec: Any, folder: Path) -> Iterator[tuple[Path, list[str]]]:
    includes = [f"-I{path}" for path in spec.include_paths]
    for unit in spec.translation_units():
        if unit.is_cuda:
            file = Path(unit.filename)
            if unit.source is not None:
                # A separate folder: corpus.py has the file's folder searched for headers.
                file = Path(tempfile.mkdtemp(dir=folder), unit.filename)
                file.write_text(unit.source)
            yield file, [*spec.cuda_cflags, *includes]


def record_flashinfer(torch: Any, folder: Path) -> Iterator[str]:
    """Record what FlashInfer's generators build; iterate over those that failed."""
    for name, *given in GENERATORS:
        module, _, function = name.rpartition(".")
        values = [vars(torch).get(x, x) if isinstance(x, str) else x for x in given]
        try:
            found = importlib.import_module(f"flashinfer.jit.{module}")
            spec = getattr(found, function)(*values)
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"[:200]
            continue
        commands = [x for x in spec.get_compile_commands() if x["file"].endswith(".cu")]
        units = ((Path(x["file"]), _words(x["command"], x["file"])) for x in commands)
        _write(folder, f"flashinfer {spec.name}", units)


def _words(command: str, file: str) -> list[str]:
    words = command.split()[1:]
    at = words.index("-o")
    return [x for x in [*words[:at], *words[at + 2 :]] if x not in ("-c", file)]


def _write(folder: Path, module: str, units: Iterator[tuple[Path, list[str]]]) -> None:
    commands = [
        {"directory": str(folder), "file": str(file), "arguments": ["nvcc", *kept]}
        for file, flags in units
        for kept in [[x for x in flags if not _LEFT_OUT.fullmatch(x)]]
    ]
    (folder / module).mkdir()
    (folder / module / "compile_commands.json").write_text(json.dumps(commands))


def record(folder: Path, arch: str, packages: list[str]) -> None:
    """Record what both packages build, and print what was not recorded."""
    torch = stand_in(arch, packages)
    for name, ask in (("sglang", record_sglang), ("flashinfer", record_flashinfer)):
        if name in sys.modules:
            print(*ask(torch, folder), sep="\n")


# ---- Both builds ----


def table(found: dict[str, Any]) -> str:
    """Return the table of a run: what we build of each module's files that nvcc builds."""
    import corpus

    built = [row for row in found["rows"] if not row["nvcc"]["error"]]
    rows = []
    for module in dict.fromkeys(row["corpus"] for row in built):
        own = [row for row in built if row["corpus"] == module]
        wrong = [line for x in own for line in (x["here"]["error"], *x["differences"]) if line]
        said = wrong[0].replace("|", "\\|")[:100] if wrong else "yes"
        rows.append((module, len(own), *_seconds(own), said))
    same = [row for row in built if not (row["here"]["error"] or row["differences"])]
    rows.append(("all", len(built), *_seconds(built), len(same)))
    columns = ("module", "files", "nvcc, s", "here, s", "again, s", "same kernels")
    return corpus._table(*columns, rows=rows)


def _seconds(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from (f"{sum(x[side]['seconds'] for x in rows):.1f}" for side in ("nvcc", "here"))
    yield f"{sum(x['again'] or 0 for x in rows):.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--packages", action="append", default=[], help="a folder of packages")
    parser.add_argument("--only", action="append", default=[], help="modules with a word")
    parser.add_argument("--every", type=int, default=1, help="of these, one of so many")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="after which no other file is begun")
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--record", type=Path, help="only write down what is asked, here")
    given = parser.parse_args()
    if given.record:
        record(given.record, given.arch, given.packages)
        return 0
    import corpus

    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--record", folder, "--arch", given.arch]
        words += [f"--packages={os.path.abspath(x)}" for x in given.packages]
        env = {name: value for name, value in os.environ.items() if name != "CC"}
        env["FLASHINFER_WORKSPACE_BASE"] = folder
        subprocess.run(words, check=True, env=env)
        paths = sorted(Path(folder).glob("*/compile_commands.json"))
        paths = [x for x in paths if not given.only or any(w in str(x) for w in given.only)]
        options = {"paths": paths[:: given.every], "flag": [], "link": [], "run": False, "alone": 0}
        found = corpus.measured(argparse.Namespace(**{**vars(given), **options}))
    print(*corpus.told(found["rows"]), "", table(found), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
