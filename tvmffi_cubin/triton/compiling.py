"""`compile` and `from_compiled`: from a Triton function, or a compiled kernel, to a `Launch`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .facts import Facts, read_facts
from .made_launch import made_launch
from .wanted import Options

if TYPE_CHECKING:
    from ..launch import Launch

__all__ = ["compile", "from_compiled"]


def compile(  # noqa: A001 - as Triton's own is called
    fn: Any,
    signature: Any = (),
    *,
    constexprs: Mapping[str, Any] | None = None,
    grid: Any = None,
    arch: str | None = None,
    config: Any = None,
    num_warps: int | None = None,
    num_stages: int | None = None,
    num_ctas: int | None = None,
    options: Mapping[str, Any] | None = None,
    padding: Mapping[str, str] | None = None,
    round_f32_to_tf32: Iterable[str] = (),
) -> Launch:
    """Compile a Triton function for one specialisation, without a GPU and without launching.

    The function that is exported takes the Triton function's own arguments by name, in order;
    constexprs are gone. What Triton relied on is checked at each call: arguments that are multiples
    of 16, those that are 1 or None. One that breaks it is a ValueError, or leaves the call to the
    next instance of a `tvmffi_cubin.Dispatch`.

    Parameters
    ----------
    fn : triton.JITFunction
        What ``@triton.jit`` made, maybe autotuned or with heuristics.
    signature : mapping, str or sequence, optional
        The arguments that are no constexprs. By name or in order, each as a type with hints as
        Triton's ahead-of-time tool writes them (``"*fp32:16"``: its address is a multiple of 16;
        ``"i32:16"``, ``"i32:1"``, ``"tensordesc<fp16[64,64]>"``), or as an example, which is
        specialised as Triton would at a launch: a tensor on any device (``"meta"`` will do), a
        number, None, a ``TensorDescriptor``, a tuple. A str is a list of types, separated by
        commas, in which constexprs may have their values.
    constexprs : mapping of str to object, optional
        The values of constexprs that have no default, and of other arguments that are to be fixed.
    grid : int, str, a sequence of up to three, or a function, optional
        Number of programs in x, y, z, as in Triton: expressions (see `tvmffi_cubin.expr`) over the
        function's arguments and constexprs, or a function such as
        ``lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)``, which is called once, now, with
        symbols. Without it callers give it: ``mod.k[grid](...)``.
    arch : str, optional
        As in `tvmffi_cubin.load_inline`, but one. Triton compiles for the ``a`` variant wherever
        there is one.
    config : triton.Config, optional
        Which configuration of an autotuned function.
    num_warps, num_stages, num_ctas : int, optional
        Triton's options of these names.
    options : mapping of str to object, optional
        Further options: ``maxnreg``, ``launch_pdl``, ``launch_cooperative_grid``, ...
    padding : mapping of str to str, optional
        Of tensor descriptors: ``"zero"`` (the default) or ``"nan"``.
    round_f32_to_tf32 : sequence of str, optional
        Tensor descriptors of fp32 that are read as tf32.

    Returns
    -------
    Launch
        With its image; for ``functions={"k": launch}`` or a `tvmffi_cubin.Dispatch`.

    Raises
    ------
    CompileError
        Triton does not compile it; the message has Triton's own text.
    ToolchainError
        Triton is missing or too old, or there is no GPU and no `arch`.
    TypeError, ValueError
        An argument is wrong; the message names it and the remedy.
    """
    from .installed import installed
    from .run_compiler import parse_options, run_compiler
    from .target import gpu_target
    from .unwrapped import unwrap
    from .wanted import specialise

    triton = installed()
    unwrapped = unwrap(fn, config)
    target = gpu_target(triton, arch)
    backend = triton.compiler.make_backend(target)
    fixed = _merged("constexprs", unwrapped.constexprs, constexprs)
    own = {"num_warps": num_warps, "num_stages": num_stages, "num_ctas": num_ctas}
    own = {name: value for name, value in own.items() if value is not None}
    settings = _merged("options", unwrapped.options, _merged("options", options, own))
    for name in unwrapped.computed:
        is_argument = name in unwrapped.fn.arg_names
        if name not in (fixed if is_argument else settings):
            where = "constexprs" if is_argument else "options"
            raise TypeError(
                f"{unwrapped.fn.__name__}: {name!r} is computed by a heuristic at each launch of "
                f'Triton\'s; give its value, as in {where}={{"{name}": ...}}'
            )
    wanted = specialise(triton, unwrapped.fn, backend, signature, fixed)
    parsed = parse_options(triton, unwrapped.fn, backend, settings)
    kernel = run_compiler(triton, unwrapped.fn, wanted, target, parsed)
    facts = read_facts(kernel, fixed=wanted.fixed, descriptors=wanted.descriptors)
    return made_launch(_with_descriptors(facts, padding, round_f32_to_tf32), grid)


def from_compiled(
    kernel: Any,
    *,
    grid: Any = None,
    padding: Mapping[str, str] | None = None,
    round_f32_to_tf32: Iterable[str] = (),
) -> Launch:
    """Take a kernel that Triton has compiled, such as ``fn[grid](...)`` returns.

    Parameters
    ----------
    kernel : triton.compiler.CompiledKernel
        What ``fn[grid](...)``, ``fn.warmup(...)`` or ``triton.compile(...)`` returned.
    grid, padding, round_f32_to_tf32
        As in `compile`.

    Returns
    -------
    Launch
        As `compile`.

    Raises
    ------
    TypeError, ValueError, ToolchainError
        It is no such kernel, or one of a Triton that is too old; or as in `compile`.
    """
    facts = read_facts(kernel)
    return made_launch(_with_descriptors(facts, padding, round_f32_to_tf32), grid)


def _mapping(what: str, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping | None):
        raise TypeError(f"{what} maps names to values, got {type(value).__name__} {value!r}")
    return value or {}


def _merged(
    what: str, one: Mapping[str, Any] | None, other: Mapping[str, Any] | None
) -> dict[str, Any]:
    one, other = _mapping(what, one), _mapping(what, other)
    for name, value in other.items():
        if name in one and one[name] != value:
            raise TypeError(f"{what}: {name!r} is given twice, as {one[name]!r} and {value!r}")
    return {**one, **other}


def _with_descriptors(
    facts: Facts, padding: Mapping[str, str] | None, rounded: Iterable[str]
) -> Facts:
    padding = _mapping("padding", padding)
    if not isinstance(rounded, Iterable):
        raise TypeError(f"round_f32_to_tf32 is a sequence of names, got {type(rounded).__name__}")
    rounded = (rounded,) if isinstance(rounded, str) else tuple(rounded)
    known = {x.name: x for x in facts.arguments if x.type.startswith("tensordesc")}
    for what, names in (("padding", padding), ("round_f32_to_tf32", rounded)):
        for name in names:
            if name not in known:
                raise ValueError(
                    f"{facts.function}: {what} names {name!r}; its tensor descriptors are "
                    f"{', '.join(known) or 'none'}"
                )
    for name, word in padding.items():
        if word not in ("zero", "nan"):
            raise ValueError(f"padding[{name!r}] is 'zero' or 'nan', got {word!r}")
    for name in rounded:
        if not known[name].type.startswith("tensordesc<fp32["):
            raise ValueError(f"round_f32_to_tf32: {name!r} is {known[name].type}, wanted fp32")
    arguments = [
        replace(
            x,
            options=Options(
                padding.get(x.name, x.options.padding), x.options.tf32 or x.name in rounded
            ),
        )
        for x in facts.arguments
    ]
    return replace(facts, arguments=tuple(arguments))
