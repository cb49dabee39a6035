"""A function of a loaded module: `Function`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tvm_ffi

from ..errors import bare

if TYPE_CHECKING:
    import inspect

    from typing_extensions import Self

    from ..kernels.cubin import Cubin
    from .module import Module
    from .occupancy import Occupancy

Options = Mapping[Any, Any]
"""Options that a caller sets, by name; for attributes, the bytes of the value, by number."""


class Function(tvm_ffi.Function):
    """An exported function.

    A call with positional arguments runs no Python code of this package. For functions that launch
    kernels, ``k[grid, block](...)`` and ``k[grid, block, dynamic_smem_bytes](...)`` set the shape,
    ``k.on(stream)(...)`` the stream, and ``k.configure(cluster=2)(...)`` these and any other launch
    attribute; ``k.call(x=..., n=...)`` takes keyword arguments. They combine, as in
    ``k[grid, block].on(stream).call(x=x)``; keep the result to call it again. A grid function comes
    last: ``k.on(stream)[lambda meta: ...](x, n)``.
    """

    __slots__ = ("_kept",)

    name: str
    _module: Module
    _options: Options
    # Variants of this function, by shape or options.
    _kept: dict[Any, Function]

    @classmethod
    def _wrap(cls, raw: Any, module: Module, name: str, options: Options) -> Self:
        function = cls.__new__(cls)
        function.__move_handle_from__(raw)
        function._module, function.name, function._options = module, name, options
        function._kept = {}
        return function

    def __getitem__(self, shape: Any) -> Callable[..., Any]:
        """Set the grid, the block and, optionally, the dynamic shared memory in bytes.

        A launch with a block but no grid takes only the grid: one to three numbers, or a function
        of a mapping of the arguments by name and the launch's `meta`.
        """
        try:
            # Fast path, since calls go through here: 2.0 finds the entry for 2, which is as good.
            return self._kept[shape]
        except (KeyError, TypeError):  # new, or unhashable (a list)
            pass
        from .configured import shaped

        return shaped(self, shape)

    def on(self, stream: Any) -> Function:
        """Set the stream: an int, a torch or CuPy stream, or an object with ``__cuda_stream__``."""
        from .configured import with_options
        from .stream import stream_handle

        return with_options(self, {**self._options, "stream": stream_handle(stream)})

    def configure(self, **options: Any) -> Function:
        """Set launch options by name; None keeps the previous setting.

        `stream`, `grid` (in blocks), `block`, `dynamic_smem_bytes`, and the attributes of a
        `Launch` (``cluster``, ``programmatic_dependent_launch``, ``priority``, ...), as values.
        """
        from .configured import configured

        return configured(self, {x: y for x, y in options.items() if y is not None})

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Call with positional or keyword arguments."""
        self(*self._ordered(args, kwargs))

    def occupancy(self, device: Any = None) -> Occupancy:
        """Return the occupancy of the one kernel on a device, by default the current one.

        If the launch computes the block, shared memory or cluster, set it as for a call:
        ``k[1, 256].configure(cluster=2).occupancy()``.
        """
        from .occupancy import occupancy

        return occupancy(self, device)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """Names and C++ types of the parameters; ``" | "`` joins those of several instances."""
        return tuple(map(tuple, self._facts["params"]))

    @property
    def signature(self) -> str:
        """The C++ declaration of the function, one line per instance."""
        return str(self._facts["signature"])

    @property
    def sass(self) -> str:
        """The SASS of the embedded kernels, from nvdisasm of a toolkit or of NVIDIA's wheel."""
        from ..artifacts.inspection import sass

        found = {name: sass(cubin) for name, cubin in self._cubins.items()}
        return "\n\n".join(found[name][x] for name, x in self._kernels if name in found)

    @property
    def ptx(self) -> str:
        """The PTX of the embedded images; raises AttributeError if they have none."""
        images = [x for cubin in self._cubins.values() for x in (*cubin.members, cubin)]
        texts = [x.image.decode() for x in images if x.kind == "ptx"]
        if not texts:
            remedy = 'build it from source with arch=["sm_90a", "compute_90"]'
            raise AttributeError(f"{self.name}: its embedded images have no PTX; {remedy}")
        return "\n\n".join(texts)

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect

        is_known = self.name in self._module.functions
        if not is_known or len(self._common_names) < len(self.params):
            raise AttributeError("__signature__")
        kind = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(x, kind, annotation=type_) for x, type_ in self.params]
        return inspect.Signature(parameters, return_annotation=None)

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._options:
            return self._module.get_function, (self.name,)
        from .configured import with_options

        return with_options, (self._module.get_function(self.name), self._options)

    def __repr__(self) -> str:
        known = self.signature if self.name in self._module.functions else self.name
        return f"<tvmffi_cubin.Function {known}{f' with {self._options}' if self._options else ''}>"

    def _repr_html_(self) -> str | None:
        from .occupancy import table

        return table([self]) if self.name in self._module.functions else None

    @cached_property
    def _facts(self) -> dict[str, Any]:
        known = self._module.manifest.get("functions", {})
        if self.name not in known:
            raise TypeError(f"{self.name} is a C++ function, which configures its own launches")
        return dict(known[self.name])

    @property
    def _instances(self) -> list[Mapping[str, Any]]:
        """The facts about each instance, or about the function itself if it has none."""
        return list(self._facts.get("instances", [self._facts]))

    @property
    def _launches(self) -> list[Mapping[str, Any]]:
        return [launch for instance in self._instances for launch in instance["launches"]]

    @property
    def _kernels(self) -> list[tuple[str, str]]:
        """Image and symbol of each kernel that it launches."""
        return list(dict.fromkeys((x["image"], x["kernel"]) for x in self._launches))

    @property
    def _cubins(self) -> dict[str, Cubin]:
        """The embedded images that contain its kernels."""
        cubins = self._module.cubins
        return {image: cubins[image] for image, _ in self._kernels if image in cubins}

    @cached_property
    def _common_names(self) -> list[str]:
        """The parameters' names; empty if instances differ in them."""
        known = [[name for name, _ in x["params"]] for x in self._instances]
        return known[0] if all(names == known[0] for names in known) else []

    @cached_property
    def _takes_grid(self) -> bool:
        """Whether callers set only the grid."""
        return all("grid" not in x and "block" in x for x in self._launches)

    @bare
    def _ordered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in positional order."""
        if not kwargs:
            return args
        rest = self._common_names[len(args) :]
        if kwargs.keys() != {*rest}:
            wanted, got = ", ".join(rest) or "none", ", ".join(kwargs)
            raise TypeError(f"{self.name}: expected {wanted} by name, got {got}\n{self.signature}")
        return *args, *(kwargs[name] for name in rest)
