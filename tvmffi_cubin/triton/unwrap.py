"""The ``@triton.jit`` function inside of autotuners and heuristics."""

from __future__ import annotations

from typing import Any


def unwrap(fn: Any, config: Any) -> tuple[Any, dict[str, Any], list[str]]:
    """Return the function, the chosen configuration's settings, and what heuristics compute."""
    given, computed = fn, []
    while not (hasattr(fn, "arg_names") and hasattr(fn, "params")):
        if not hasattr(fn, "fn"):
            hint = ": decorate it with @triton.jit" if callable(given) else ""
            if type(given).__name__ == "InterpretedFunction":
                hint = (
                    ", which TRITON_INTERPRET=1 makes of it: unset that before the function is "
                    "defined"
                )
            raise TypeError(
                "tvmffi_cubin.triton: wanted a @triton.jit function, got "
                f"{type(given).__name__}{hint}"
            )
        if hasattr(fn, "configs"):
            config = config or _only(fn.configs)
        elif hasattr(fn, "values"):
            computed += fn.values
        fn = fn.fn
    if config is None:
        return fn, {}, computed
    if not hasattr(config, "all_kwargs"):
        raise TypeError(f"config is a triton.Config, got {type(config).__name__}")
    if getattr(config, "pre_hook", None) is not None:
        raise ValueError(
            "the configuration has a pre_hook, Python code that Triton runs before each launch, "
            "and a shared object has none: if the kernel does not depend on it (a hook that sets "
            "the block shape of descriptors is not needed), give a Config without it"
        )
    return fn, config.all_kwargs(), computed


def _only(configs: Any) -> Any:
    if len(configs) == 1:
        return configs[0]
    listed = "\n".join(f"  {index}: {config}" for index, config in enumerate(configs))
    raise ValueError(
        "the function is autotuned, which takes a GPU and launches: choose one of its "
        f"{len(configs)} configurations, as in config=fn.configs[0]; they are\n{listed}"
    )
