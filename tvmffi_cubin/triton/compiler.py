"""`compile` and `from_compiled`: from a Triton function, or a compiled kernel, to a `Launch`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..cuda import arch as archs
from ..errors import CompileError, ToolchainError
from .launch import make_launch, supported_version

if TYPE_CHECKING:
    from ..launches.launch import Launch


def compile(  # noqa: A001 - Triton's own name
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
) -> Launch:
    """Compile a Triton function for one specialization, without a GPU.

    The exported function takes the Triton function's arguments in order, without the constexprs.
    Each call checks what Triton specialized on (multiples of 16, arguments that are 1 or None): an
    argument that does not fit raises ValueError, or falls through to the next instance of a
    `tvmffi_cubin.Dispatch`.

    Parameters
    ----------
    fn : triton.JITFunction
        A ``@triton.jit`` function, with or without ``@triton.autotune`` and ``@triton.heuristics``.
    signature : mapping, str or sequence, optional
        The arguments that are not constexprs, by name or in order. Each is a type with an optional
        hint, in the syntax of Triton's ahead-of-time compiler (``"*fp32:16"``, an address that is a
        multiple of 16; ``"i32:1"``; ``"tensordesc<fp16[64,64]>"``), or an example, specialized as
        at a launch: a tensor on any device, including ``"meta"``, a number, None, a
        ``TensorDescriptor``, or a tuple. A str is a comma-separated list of types, and of values
        for constexprs.
    constexprs : mapping of str to object, optional
        Values for constexprs without a default, and for other arguments to fix.
    grid : int, str, or a sequence of up to three, optional
        Number of programs in x, y, z, as in Triton: expressions over arguments and constexprs,
        ``"cdiv(n, BLOCK)"``. Without it, callers pass numbers or a function: ``mod.k[grid](...)``.
    arch : str, optional
        As in `tvmffi_cubin.load_inline`. Triton compiles for the ``a`` variant if there is one.
    config : triton.Config, optional
        The configuration to use for an autotuned function.
    num_warps, num_stages, num_ctas, options : optional
        Triton's options of these names, and a mapping for others: ``maxnreg``, ``launch_pdl``, ...

    Returns
    -------
    Launch
        The launch with its image, for ``functions={"k": launch}`` or a `tvmffi_cubin.Dispatch`.

    Raises
    ------
    CompileError
        Triton cannot compile it; the message includes Triton's error.
    ToolchainError
        Triton is missing or too old, or there is no GPU and no `arch`.
    """
    try:
        triton: Any = importlib.import_module("triton")
    except ModuleNotFoundError as error:
        message = f"Triton is not installed ({error}); run: pip install triton"
        raise ToolchainError(message) from None
    supported_version(triton.__version__)
    from .specialise import specialise

    fn, configured, computed = _unwrapped(fn, config)
    number = archs.number_of(archs.resolve_arch(arch))
    target = triton.backends.compiler.GPUTarget("cuda", number, 32)
    own = {"num_warps": num_warps, "num_stages": num_stages, "num_ctas": num_ctas}
    given = {name: x for name, x in {**own, **(options or {})}.items() if x is not None}
    settings = {**configured, **given}
    fixed = {name: settings.pop(name) for name in configured if name in fn.arg_names}
    fixed |= constexprs or {}
    if missing := computed - fixed.keys() - settings.keys():
        raise TypeError(
            f"{fn.__name__}: {min(missing)!r} is computed by a heuristic at each launch; pass its "
            "value in constexprs or options"
        )
    settings["debug"] = bool(settings.get("debug", fn.debug) or triton.knobs.runtime.debug)
    backend = triton.compiler.make_backend(target)
    # Triton itself ignores unknown options.
    if unknown := settings.keys() - vars(backend.parse_options({})):
        raise TypeError(f"options: Triton {triton.__version__} has no option {min(unknown)!r}")
    source, constants, descriptors = specialise(triton, fn, backend, signature, fixed)
    try:
        made = triton.compiler.compile(source, target=target, options=settings)
    except Exception as error:
        log = f"{type(error).__name__}: {error}"
        message = f"Triton {triton.__version__} does not compile {fn.__name__} for sm_{number}:"
        raise CompileError(f"{message}\n{log}", log=log, source=fn.src) from error
    return make_launch(made, grid, constants, descriptors)


def from_compiled(kernel: Any, *, grid: Any = None) -> Launch:
    """Return the launch of a kernel that Triton has compiled.

    Parameters
    ----------
    kernel : triton.compiler.CompiledKernel
        The result of ``fn[grid](...)``, ``fn.warmup(...)`` or ``triton.compile(...)``. Its tensor
        descriptors are padded with zeros.
    grid
        As in `compile`, including the result and the errors.
    """
    return make_launch(kernel, grid, frozenset(), {})


def _unwrapped(fn: Any, config: Any) -> tuple[Any, dict[str, Any], set[str]]:
    """Return the function inside decorators, its configuration, and the names heuristics set."""
    given, computed = fn, set[str]()
    while not (hasattr(fn, "arg_names") and hasattr(fn, "params")):
        if not hasattr(fn, "fn"):
            raise TypeError(f"expected a @triton.jit function, got {type(given).__name__}")
        configs = getattr(fn, "configs", ())
        if config is None and len(configs) > 1:
            raise ValueError(
                f"{len(configs)} configurations require autotuning on a GPU: choose one, "
                "as in config=fn.configs[0]"
            )
        config = config or next(iter(configs), None)
        computed |= getattr(fn, "values", {}).keys()
        fn = fn.fn
    if config and config.pre_hook:
        raise ValueError("a launch cannot run pre_hook, as it is Python: pass a Config without it")
    return fn, config.all_kwargs() if config else {}, computed
