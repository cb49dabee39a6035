"""`Unwrapped`: the ``@triton.jit`` function inside of autotuners and heuristics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Unwrapped", "unwrap"]


@dataclass(frozen=True)
class Unwrapped:
    """A function, and what the chosen configuration gives.

    Attributes
    ----------
    fn : triton.JITFunction
        The function.
    constexprs : mapping of str to object
        Values of its arguments from the configuration.
    options : mapping of str to object
        Options from the configuration.
    computed : tuple of str
        Arguments and options that heuristics would compute at each launch.
    """

    fn: Any
    constexprs: Mapping[str, Any]
    options: Mapping[str, Any]
    computed: tuple[str, ...] = ()


def unwrap(fn: Any, config: Any = None) -> Unwrapped:
    """Unwrap a function.

    Parameters
    ----------
    fn : object
        What ``@triton.jit`` made, maybe wrapped by ``@triton.autotune`` and ``@triton.heuristics``.
    config : triton.Config, optional
        Which of the configurations is meant.

    Raises
    ------
    TypeError, ValueError
        It is no function of Triton's, or it is not clear which configuration is meant.
    """
    computed: list[str] = []
    given = fn
    while not hasattr(fn, "arg_names") or not hasattr(fn, "params"):
        if hasattr(fn, "configs"):
            config = _only(fn.configs) if config is None else config
        elif hasattr(fn, "values"):
            computed += fn.values
        if not hasattr(fn, "fn"):
            raise _no_function(given)
        fn = fn.fn
    if config is None:
        return Unwrapped(fn, {}, {}, tuple(computed))
    constexprs, options = _settings(fn, config)
    return Unwrapped(fn, constexprs, options, tuple(computed))


def _no_function(given: Any) -> TypeError:
    hint = ": decorate it with @triton.jit" if callable(given) else ""
    if type(given).__name__ == "InterpretedFunction":
        hint = ", which TRITON_INTERPRET=1 makes of it: unset that before the function is defined"
    return TypeError(
        f"tvmffi_cubin.triton: wanted a @triton.jit function, got {type(given).__name__}{hint}"
    )


def _only(configs: Any) -> Any:
    if len(configs) == 1:
        return configs[0]
    listed = "\n".join(f"  {index}: {config}" for index, config in enumerate(configs))
    raise ValueError(
        "the function is autotuned, which takes a GPU and launches: choose one of its "
        f"{len(configs)} configurations, as in config=fn.configs[0]; they are\n{listed}"
    )


def _settings(fn: Any, config: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if not hasattr(config, "all_kwargs"):
        raise TypeError(f"config is a triton.Config, got {type(config).__name__}")
    if getattr(config, "pre_hook", None) is not None:
        raise ValueError(
            "the configuration has a pre_hook, Python code that Triton runs before each launch, "
            "and a shared object has none: if the kernel does not depend on it (a hook that sets "
            "the block shape of descriptors is not needed), give a Config without it"
        )
    names = fn.arg_names
    settings = config.all_kwargs()
    constexprs = {name: value for name, value in settings.items() if name in names}
    return constexprs, {name: x for name, x in settings.items() if name not in names}
