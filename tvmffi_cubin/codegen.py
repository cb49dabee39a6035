"""Text of a module's translation units: the launcher's tables and the units that embed images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from . import expr
from .cxx_type import CxxType
from .exported import Exported
from .function import BoundLaunch, Computed, Constant, Formula, Function, KernelRef

__all__ = ["c_string", "image_unit", "launcher_unit"]

_SMALL_SMEM = 48 * 1024
_CHUNK = 1000
# Above this, images go where the linker may put them beyond the reach of 32-bit relocations.
_LARGE = 1 << 30
_DTYPE_NAMES = (
    "int",
    "uint",
    "float",
    "handle",
    "bfloat",
    "complex",
    "bool",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
)
_DL_BOOL = 6
_METHODS = {"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "Mod"}
_CALLS = {"ceil_div": "CeilDiv", "min": "Min", "max": "Max"}


@cache
def _template(name: str) -> Template:
    return Template((Path(__file__).parent / "templates" / name).read_text(encoding="utf-8"))


def c_string(text: str) -> str:
    """Return `text` as C string literals, one a line where it is long.

    Bytes outside printable ASCII, quotes and ``?`` (trigraphs) are octal escapes of three digits,
    which no following character can extend.
    """
    data = text.encode()
    chunks = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)] or [b""]
    return "\n".join(f'"{"".join(map(_c_char, chunk))}"' for chunk in chunks)


def _c_char(byte: int) -> str:
    plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"


def image_unit(name: str, file: str, size: int, machine: str) -> str:
    """Return the assembly text that embeds the file `file` of `size` bytes as image `name`."""
    large = size > _LARGE and machine == "x86_64"
    section = '.lrodata,"al",%progbits' if large else '.rodata,"a",%progbits'
    return _template("image.s.in").substitute(name=name, file=file, section=section)


def launcher_unit(
    functions: Sequence[Function], images: Mapping[str, str], manifest: Mapping[str, Any]
) -> str:
    """Return the C++ text of a launcher.

    Parameters
    ----------
    functions : sequence of Function
        What it exports.
    images : mapping of str to str
        Name of each image that the functions use, to its architectures as people read them.
    manifest : mapping
        What the shared object says of itself; kept in it as JSON.
    """
    kernels: dict[tuple[str, str], tuple[int, KernelRef]] = {}
    for function in functions:
        for bound in function.launches:
            key = (bound.kernel.image, bound.kernel.kernel.name)
            kernels.setdefault(key, (len(kernels), bound.kernel))
    return _template("launcher.cc.in").substitute(
        embeds="\n".join(f"EMBED_CUBIN({name});" for name in images),
        images="\n".join(
            f"EmbeddedImage image_{name} = {{__tvmffi_cubin_image_{name}, {c_string(name)}, "
            f"{c_string(arches)}}};"
            for name, arches in images.items()
        ),
        image_list=", ".join(f"&image_{name}" for name in images),
        kernels="\n".join(_kernel_row(ref) for _, ref in kernels.values()),
        functions="\n".join(
            _function(index, function, kernels) for index, function in enumerate(functions)
        ),
        exports="\n".join(
            _template("launcher_export.cc.in").substitute(
                name=function.name,
                index=index,
                doc=c_string("\n\n".join(filter(None, [function.signature, function.doc]))),
            )
            for index, function in enumerate(functions)
        ),
        manifest=c_string(json.dumps(manifest)),
    )


def _kernel_row(ref: KernelRef) -> str:
    allowed = max(0, _SMALL_SMEM - ref.kernel.static_smem_bytes)
    symbol, display = c_string(ref.kernel.name), c_string(ref.display)
    return f"    {{&image_{ref.image}, {symbol}, {display}, {{{allowed}u}}}},"


def _function(
    index: int, function: Function, kernels: Mapping[tuple[str, str], tuple[int, KernelRef]]
) -> str:
    numbers = {p.name: number for number, p in enumerate(function.params)}
    tables = []
    if function.params:
        rows = "\n".join(_param_row(p) for p in function.params)
        tables.append(f"constexpr Param params_{index}[] = {{\n{rows}\n}};")
    plans = []
    for number, bound in enumerate(function.launches):
        label = f"{index}_{number}"
        tables += _launch_tables(label, bound, numbers)
        kernel, _ = kernels[(bound.kernel.image, bound.kernel.kernel.name)]
        plans.append(_plan_row(label, bound, kernel))
    tables.append(f"constexpr LaunchPlan launches_{index}[] = {{\n" + "\n".join(plans) + "\n};")
    slots = sum(max(1, len(bound.sources)) for bound in function.launches)
    return _template("launcher_function.cc.in").substitute(
        signature=function.signature,
        tables="\n".join(tables),
        index=index,
        name=function.name,
        params=f"params_{index}" if function.params else "nullptr",
        num_params=len(function.params),
        num_launches=len(function.launches),
        num_slots=slots,
    )


def _param_row(exported: Exported) -> str:
    param, type_ = exported.param, exported.param.type
    pointee = type_.pointee
    dtypes = pointee.dtypes if pointee else ()
    names = " or ".join(_dtype_name(code, bits) for code, bits in dtypes)
    cells = (
        c_string(param.name),
        c_string(type_.text),
        _kind(type_),
        _bool(exported.strided),
        _bool(exported.in_expression),
        str(exported.size),
        str(pointee.align if pointee else 1),
        str(exported.min_rank),
        str(-1 if param.ndim is None else param.ndim),
        str(len(dtypes)),
        "{" + ", ".join(f"{{{code}, {bits}, 1}}" for code, bits in dtypes) + "}",
        c_string(names),
    )
    return f"    {{{', '.join(cells)}}},"


def _dtype_name(code: int, bits: int) -> str:
    return _DTYPE_NAMES[code] if code >= _DL_BOOL else f"{_DTYPE_NAMES[code]}{bits}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _kind(type_: CxxType) -> str:
    if type_.scalar == "bfloat16":
        return "Kind::kBfloat"
    kinds = {"pointer": "Pointer", "int": "Int", "uint": "Uint", "float": "Float", "bool": "Bool"}
    return f"Kind::k{kinds.get(type_.kind, 'Bytes')}"


def _launch_tables(label: str, bound: BoundLaunch, numbers: Mapping[str, int]) -> Iterable[str]:
    rows, computed = [], 0
    for position, source in enumerate(bound.sources):
        if isinstance(source, Computed):
            rows.append(f"    {{Source::kComputed, {computed}, nullptr}},")
            computed += 1
        elif isinstance(source, Constant):
            data = ", ".join(map(str, source.data))
            name = f"constant_{label}_{position}"
            yield f"alignas(16) constexpr unsigned char {name}[] = {{{data}}};"
            rows.append(f"    {{Source::kConstant, 0, {name}}},")
        else:
            rows.append(f"    {{Source::kArgument, {numbers[source]}, nullptr}},")
    if rows:
        yield f"constexpr Source sources_{label}[] = {{\n" + "\n".join(rows) + "\n};"
    body = _evaluation(bound, numbers)
    yield f"void evaluate_{label}(Evaluation* e) {{\n  (void)e;\n{body}}}"


def _plan_row(label: str, bound: BoundLaunch, kernel: int) -> str:
    trees = [f.tree for f in bound.figures.values() if isinstance(f, Formula)]
    trees += [source.formula.tree for source in bound.sources if isinstance(source, Computed)]
    reads_sms = any(
        isinstance(read, expr.Name) and read.name == "num_sms"
        for tree in trees
        for read in expr.names(tree)
    )
    cells = (
        f"&kernels[{kernel}]",
        f"sources_{label}" if bound.sources else "nullptr",
        str(len(bound.sources)),
        str(sum(isinstance(source, Computed) for source in bound.sources)),
        _bool(bound.launch.is_shaped),
        _bool(reads_sms),
        f"evaluate_{label}",
    )
    return f"    {{{', '.join(cells)}}},"


def _evaluation(bound: BoundLaunch, numbers: Mapping[str, int]) -> str:
    lines = []
    fields = {f"grid.{axis}": f"grid[{i}]" for i, axis in enumerate("xyz")}
    fields |= {f"block.{axis}": f"block[{i}]" for i, axis in enumerate("xyz")}
    for what, figure in bound.figures.items():
        target = fields.get(what, what)
        if isinstance(figure, int):
            lines.append(f"  e->{target} = {figure}LL;")
        else:
            value = _expression(figure.tree, numbers)
            lines.append(f"  e->{target} = e->Done({c_string(figure.text)}, {value});")
    computed = [source for source in bound.sources if isinstance(source, Computed)]
    for index, source in enumerate(computed):
        value = _expression(source.formula.tree, numbers)
        kind, text = _kind(source.type), c_string(source.formula.text)
        lines.append(f"  e->Store({index}, {kind}, {source.size}, {text}, {value});")
    return "".join(f"{line}\n" for line in lines)


def _expression(tree: expr.Expr, numbers: Mapping[str, int]) -> str:
    """Return the C++ text of an expression over ``Evaluation* e``."""
    if isinstance(tree, expr.Number):
        return f"{tree.value}LL"
    if isinstance(tree, expr.Name):
        return f"e->Integer({numbers[tree.name]})" if tree.name in numbers else "e->num_sms"
    if isinstance(tree, expr.TensorField):
        method = tree.field.capitalize()
        index = "" if tree.index is None else f", {tree.index}"
        return f"e->{method}({numbers[tree.tensor]}{index})"
    if isinstance(tree, expr.Binary):
        left, right = _expression(tree.left, numbers), _expression(tree.right, numbers)
        return f"e->{_METHODS[tree.op]}({left}, {right})"
    text = _expression(tree.args[0], numbers)
    for arg in tree.args[1:]:
        text = f"e->{_CALLS[tree.function]}({text}, {_expression(arg, numbers)})"
    return text
