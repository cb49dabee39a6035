"""Text of one function's tables: parameters, launches, and where kernel parameters come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import condition, expr
from .attribute_text import attribute_reads, attributes_text
from .c_text import c_string, template
from .exported import Exported
from .expression_text import condition_text, expression_text
from .function import (
    BoundLaunch,
    BoundParam,
    Computed,
    Constant,
    Formula,
    Function,
    Mapped,
    Scratched,
)
from .kernels.types import CxxType
from .scratch_text import scratch_reads, scratch_text
from .target_text import target_text
from .tensor_map_text import map_reads, map_text

__all__ = [
    "function_text",
    "param_row",
    "plan_text",
    "positions",
    "reads_num_sms",
    "requirement_text",
    "tables_text",
]

_DTYPE_NAMES = (
    *("int", "uint", "float", "handle", "bfloat", "complex", "bool"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_KINDS = {
    "pointer": "Pointer",
    "int": "Int",
    "uint": "Uint",
    "float": "Float",
    "bool": "Bool",
    "struct": "Bytes",
    "raw": "Raw",
}
_TENSOR_MAPS = ("CUtensorMap", "CUtensorMap_st")
_DL_BOOL = 6
_SMEM = "dynamic_smem_bytes"
_EVALUATED = "Evaluation* e, bool own_grid, bool own_block, bool own_smem"


def function_text(
    index: int,
    function: Function,
    kernels: Mapping[tuple[str, str, str], int],
    slots: Mapping[str, int],
) -> str:
    """Return the C++ text of a function's tables.

    Parameters
    ----------
    index : int
        The function's number in the launcher.
    function : Function
        The function.
    kernels : mapping
        The number of each kernel in the launcher, by `KernelRef.key`.
    slots : mapping
        The number of each bound parameter of the function in the launcher, by its name.
    """
    return template("launcher_function.cc.in").substitute(
        signature=function.signature,
        tables=tables_text(str(index), function, kernels, slots),
        index=index,
        plan=plan_text(str(index), function),
    )


def tables_text(
    label: str,
    function: Function,
    kernels: Mapping[tuple[str, str, str], int],
    slots: Mapping[str, int],
    *,
    requires: bool = True,
) -> str:
    """Return the tables that `plan_text` refers to; `label` tells them from others' tables.

    `requires` is whether a launch's condition is checked where it is evaluated, rather than before.
    """
    numbers = positions(function)
    tables = []
    if function.params:
        rows = "\n".join(param_row(p) for p in function.params)
        tables.append(f"constexpr Param params_{label}[] = {{\n{rows}\n}};")
    plans = []
    for number, bound in enumerate(function.launches):
        launch = f"{label}_{number}"
        required = requirement_text(bound, numbers) if requires else ""
        body = required + _evaluation(bound, numbers)
        tables += _sources(launch, bound, numbers, slots)
        if body:
            head = f"void evaluate_{launch}({_EVALUATED})"
            tables.append(f"{head} {{\n{body}}}")
        evaluate = f"evaluate_{launch}" if body else "nullptr"
        plans.append(_plan_row(launch, bound, kernels[bound.kernel.key], evaluate))
    tables.append(f"constexpr LaunchPlan launches_{label}[] = {{\n" + "\n".join(plans) + "\n};")
    if function.target is not None:
        tables.append(target_text(label, function.target, numbers))
    return "\n".join(tables)


def plan_text(label: str, function: Function) -> str:
    """Return the initialiser of a function's ``FunctionPlan``."""
    cells = (
        c_string(function.name),
        f"params_{label}" if function.params else "nullptr",
        str(len(function.params)),
        f"launches_{label}",
        str(len(function.launches)),
        str(sum(max(1, len(bound.sources)) for bound in function.launches)),
        str(sum(len(bound.maps) for bound in function.launches)),
        str(sum(bound.num_attributes for bound in function.launches)),
        str(sum(len(bound.scratch) for bound in function.launches)),
    )
    bound = "&__tvmffi_cubin_bound" if function.slots else "nullptr"
    more = [bound] if function.slots or function.target else []
    more += [f"&target_{label}"] if function.target else []
    return f"{{{', '.join((*cells, *more))}}}"


def positions(function: Function) -> dict[str, int]:
    """Return the position of each parameter."""
    return {p.name: number for number, p in enumerate(function.params)}


def requirement_text(bound: BoundLaunch, numbers: Mapping[str, int]) -> str:
    """Return the statement that checks a launch's condition; empty where it has none."""
    if bound.when is None:
        return ""
    holds = condition_text(bound.when.tree, numbers)
    return f"  e->Require({c_string(bound.when.text)}, {holds});\n"


def param_row(exported: Exported) -> str:
    """Return the row of a table of parameters."""
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
        str(max(pointee.align if pointee else 1, exported.multiple_of)),
        str(exported.min_rank),
        str(-1 if param.ndim is None else param.ndim),
        str(len(dtypes)),
        "{" + ", ".join(f"{{{code}, {bits}, 1}}" for code, bits in dtypes) + "}",
        c_string(names),
        *_assumed(exported),
    )
    return f"    {{{', '.join(cells)}}},"


def _assumed(exported: Exported) -> tuple[str, str]:
    if exported.equal_to is not None:
        # The least of 64 bits has no literal of its own.
        least = exported.equal_to == -(2**63)
        return "Param::kValue", "INT64_MIN" if least else f"{exported.equal_to}"
    asked = exported.multiple_of > 1 and exported.param.type.pointee is None
    return "Param::kMultiple" if asked else "Param::kNothing", "0"


def _dtype_name(code: int, bits: int) -> str:
    return _DTYPE_NAMES[code] if code >= _DL_BOOL else f"{_DTYPE_NAMES[code]}{bits}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _kind(type_: CxxType) -> str:
    if type_.scalar == "bfloat16":
        return "Kind::kBfloat"
    if type_.text in _TENSOR_MAPS and type_.kind == "struct":
        return "Kind::kMap"
    return f"Kind::k{_KINDS[type_.kind]}"


def _sources(
    label: str, bound: BoundLaunch, numbers: Mapping[str, int], slots: Mapping[str, int]
) -> Iterable[str]:
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
        elif isinstance(source, Scratched):
            yield scratch_text(f"{label}_{position}", source, numbers)
            rows.append(f"    {{Source::kScratch, 0, &scratch_{label}_{position}}},")
        elif isinstance(source, Mapped):
            yield map_text(f"{label}_{position}", source, numbers)
            rows.append(f"    {{Source::kTensorMap, 0, &map_{label}_{position}}},")
        elif isinstance(source, BoundParam):
            rows.append(f"    {{Source::kBound, {slots[source.name]}, nullptr}},")
        else:
            rows.append(f"    {{Source::kArgument, {numbers[source]}, nullptr}},")
    if rows:
        yield f"constexpr Source sources_{label}[] = {{\n" + "\n".join(rows) + "\n};"


def reads_num_sms(read: expr.Name | expr.TensorField) -> bool:
    """Whether a read of an expression is that of the device's number of multiprocessors."""
    return isinstance(read, expr.Name) and read.name == "num_sms"


def reads_occupancy(read: expr.Name | expr.TensorField) -> bool:
    """Whether a read of an expression is that of how many blocks can be resident."""
    return isinstance(read, expr.Name) and read.name == "max_cooperative_blocks"


def _plan_row(label: str, bound: BoundLaunch, kernel: int, evaluate: str) -> str:
    trees = [f.tree for f in bound.figures.values() if isinstance(f, Formula)]
    trees += [source.formula.tree for source in bound.sources if isinstance(source, Computed)]
    reads = [read for tree in trees for read in expr.names(tree)]
    reads += [*attribute_reads(bound), *map_reads(bound), *scratch_reads(bound)]
    if bound.when is not None:
        reads += condition.reads(bound.when.tree)
    cells = (
        f"&kernels[{kernel}]",
        f"sources_{label}" if bound.sources else "nullptr",
        str(len(bound.sources)),
        str(sum(isinstance(source, Computed) for source in bound.sources)),
        _bool(bound.launch.grid is not None),
        _bool(bound.launch.block is not None),
        _bool(any(map(reads_num_sms, reads))),
        evaluate,
        str(bound.num_attributes),
    )
    return f"    {{{', '.join(cells)}}},"


def _evaluation(bound: BoundLaunch, numbers: Mapping[str, int]) -> str:
    # How many blocks can be resident depends on all else.
    grid_is_last = any(map(reads_occupancy, _grid_reads(bound)))
    first = ("block",) if grid_is_last else ("grid", "block")
    lines = [*_shape(bound, numbers, *first)]
    smem = bound.figures.get(_SMEM, 0)
    if smem != 0:
        lines.append(f"  if (own_smem) {_assignment(_SMEM, smem, numbers)}")
    lines += [f"  {line}" for line in attributes_text(bound, numbers)]
    if grid_is_last:
        lines += _shape(bound, numbers, "grid")
    computed = [source for source in bound.sources if isinstance(source, Computed)]
    for index, source in enumerate(computed):
        value = expression_text(source.formula.tree, numbers)
        kind, text = _kind(source.type), c_string(source.formula.text)
        lines.append(f"  e->Store({index}, {kind}, {source.size}, {text}, {value});")
    return "".join(f"{line}\n" for line in lines)


def _grid_reads(bound: BoundLaunch) -> Iterable[expr.Name | expr.TensorField]:
    for what, figure in bound.figures.items():
        if what.startswith("grid.") and isinstance(figure, Formula):
            yield from expr.names(figure.tree)


def _shape(bound: BoundLaunch, numbers: Mapping[str, int], *fields: str) -> Iterable[str]:
    for name in fields:
        figures = [x for x in bound.figures.items() if x[0].partition(".")[0] == name]
        if figures:
            lines = (f"    {_assignment(*figure, numbers)}" for figure in figures)
            yield from (f"  if (own_{name}) {{", *lines, "  }")


def _assignment(what: str, figure: int | Formula, numbers: Mapping[str, int]) -> str:
    name, _, axis = what.partition(".")
    target = f"e->{name}[{'xyz'.index(axis)}]" if axis else f"e->{name}"
    if isinstance(figure, int):
        return f"{target} = {figure}LL;"
    value = expression_text(figure.tree, numbers)
    return f"{target} = e->Done({c_string(figure.text)}, {value});"
