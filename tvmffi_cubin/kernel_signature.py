"""`KernelSignature`: a kernel of an image with names and types; choosing one by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .cubin import Kernel
from .cxx_type import CxxType, Param, parse_params
from .probe import squeeze

__all__ = ["KernelSignature", "check", "resolve_declared", "select", "signature_text", "suggestion"]


@dataclass(frozen=True)
class KernelSignature:
    """A kernel of an image, with what is known of its parameters.

    Attributes
    ----------
    symbol : str
        Its name in the image.
    name : str
        Its name without namespaces and template arguments.
    qualified : str
        With namespaces, without template arguments.
    display : str
        With both, such as ``"ns::fill<float, 4>"``.
    params : tuple of Param
        In order; empty where `problem` says why they are not known.
    names_known : bool
        Whether all parameters have the source's names; the others are ``arg0``, ``arg1``, ...
    line : int or None
        Where the source declares it, None where that is not known.
    kernel : Kernel
        The image's own account of it.
    problem : str
        Why the parameters are not known, and what to declare; empty where they are known.
    from_library : bool
        Whether it came with a device library: then it is exported only where it is named.
    """

    symbol: str
    name: str
    qualified: str
    display: str
    params: tuple[Param, ...]
    names_known: bool
    line: int | None
    kernel: Kernel
    problem: str = ""
    from_library: bool = False

    def require(self) -> KernelSignature:
        """Return itself where the parameters are known.

        Raises
        ------
        ValueError
            They are not; the message says which ``params=`` to declare.
        """
        if self.problem:
            raise ValueError(self.problem)
        return self


def suggestion(kernel: Kernel, params: Sequence[Param] = (), names: Sequence[str] = ()) -> str:
    """Return a ``params="..."`` that fits the image, from what is known of the parameters."""
    by_size = {1: "int8_t", 2: "int16_t", 4: "int", 8: "void*"}
    names = [*names, *(f"arg{index}" for index in range(len(names), len(kernel.params)))]
    parts = []
    for index, parameter in enumerate(kernel.params):
        if index < len(params):
            parts.append(f"{_declarable(params[index].type)} {params[index].name}")
        else:
            parts.append(f"{by_size.get(parameter.size, 'MyStruct')} {names[index]}")
    return f'params="{", ".join(parts)}"'


def _declarable(declared: CxxType) -> str:
    return "void*" if "(" in declared.text else declared.text


def check(params: tuple[Param, ...], kernel: Kernel, title: str) -> tuple[Param, ...]:
    """Check parameters against the image; return them with sizes that were open filled in.

    Raises
    ------
    ValueError
        The count or a size differs.
    """
    if len(params) != len(kernel.params):
        listed = ", ".join(f"{param.type.text} {param.name}" for param in params) or "none"
        sizes = ", ".join(str(parameter.size) for parameter in kernel.params) or "none"
        raise ValueError(
            f"{title}: the image has {len(kernel.params)} parameters (bytes: {sizes}), "
            f"but {len(params)} are declared ({listed})"
        )
    checked = []
    for param, parameter in zip(params, kernel.params, strict=True):
        if param.type.size is None:
            param = replace(param, type=replace(param.type, size=parameter.size))
        elif param.type.size != parameter.size:
            raise ValueError(
                f"{title}: parameter {parameter.ordinal} ({param.name!r}) is declared "
                f"{param.type.text!r}, which has {param.type.size} bytes, but the image's "
                f"has {parameter.size}"
            )
        checked.append(param)
    return tuple(checked)


def resolve_declared(params_text: str, kernel: Kernel) -> tuple[Param, ...]:
    """Parse declared parameters and check them against a kernel of an image.

    Raises
    ------
    ValueError
        The text cannot be parsed, or does not fit: the message names the kernel, the parameter,
        and both sizes.
    """
    return check(parse_params(params_text), kernel, f"kernel {kernel.name!r}")


def select(
    signatures: Iterable[KernelSignature],
    wanted: str,
    *,
    declared: tuple[Param, ...] | None = None,
    lowered_names: Mapping[str, str] | None = None,
    checked: bool = True,
) -> KernelSignature:
    """Return the kernel that a name stands for.

    Parameters
    ----------
    signatures : iterable of KernelSignature
        The kernels there are.
    wanted : str
        A symbol, a name expression, or a name, with or without namespaces and template arguments.
    declared : tuple of Param, optional
        Declared parameters: they choose between overloads, and replace what was found.
    lowered_names : mapping of str to str, optional
        The image's, from name expression to symbol.
    checked : bool
        Whether the declared parameters replace what was found, after a check against the image;
        else they only choose between overloads, and may have more at the end.

    Raises
    ------
    ValueError
        No kernel, or more than one, has that name; or its parameters are not known; or the
        declared ones do not fit the image.
    """
    signatures = list(signatures)
    found = _matches(signatures, wanted, lowered_names or {})
    if not found:
        raise ValueError(_no_match(signatures, wanted))
    if len(found) > 1 and declared is not None:
        found = [x for x in found if _same_types(x.params, declared, checked)] or found
    if len(found) > 1:
        listed = "".join(f"\n  {signature_text(x)}" for x in found)
        raise ValueError(
            f"kernel name {wanted!r} stands for {len(found)} kernels:{listed}\n"
            f"write the whole name, or the symbol, or declare the parameters of the one that is "
            f"meant, such as {suggestion(found[0].kernel, found[0].params)}"
        )
    if declared is None:
        return found[0].require()
    if not checked:
        return found[0]
    params = check(declared, found[0].kernel, f"kernel {found[0].display!r}")
    return replace(found[0], params=params, names_known=True, problem="")


def _matches(
    signatures: list[KernelSignature], wanted: str, lowered_names: Mapping[str, str]
) -> list[KernelSignature]:
    """Return the matches of the first way of naming that has any, the most exact way first."""
    name = squeeze(wanted).removeprefix("::")
    symbols = {symbol for key, symbol in lowered_names.items() if squeeze(key) == squeeze(wanted)}
    ways = (
        [x for x in signatures if x.symbol == wanted.strip()],
        [x for x in signatures if x.symbol in symbols],
        [x for x in signatures if squeeze(x.display) == name],
        [x for x in signatures if x.qualified == name],
        # `fill<float>` for `ns::fill<float>`, `fill` for either.
        [x for x in signatures if squeeze(x.display).endswith(f"::{name}")],
        [x for x in signatures if x.name == name or x.qualified.endswith(f"::{name}")],
    )
    return next((way for way in ways if way), [])


def signature_text(signature: KernelSignature) -> str:
    """Return a kernel as people tell it from others: name, parameters, symbol."""
    if signature.problem:
        return f"{signature.display} [{signature.symbol}]"
    params = ", ".join(f"{param.type.text} {param.name}" for param in signature.params)
    return f"{signature.display}({params}) [{signature.symbol}]"


def _no_match(signatures: list[KernelSignature], wanted: str) -> str:
    if not signatures:
        return (
            f"there is no kernel {wanted!r}: the image has no kernels (a template needs a name "
            "such as 'fill<float>', so that it is instantiated)"
        )
    import difflib

    names = sorted({signature.display for signature in signatures})
    candidates = {name: name for name in names}
    candidates |= {signature.name: signature.display for signature in signatures}
    close = difflib.get_close_matches(wanted, candidates, 1)
    hint = f"; did you mean {candidates[close[0]]!r}?" if close else ""
    return f"there is no kernel {wanted!r} in the image{hint}; it has: {', '.join(names)}"


def _same_types(params: tuple[Param, ...], declared: tuple[Param, ...], checked: bool) -> bool:
    declared = declared if checked else declared[: len(params)]
    return [_identity(x.type) for x in params] == [_identity(x.type) for x in declared]


def _identity(declared: CxxType) -> tuple[object, ...]:
    """Return what tells overloads apart, however a type is spelled (`long` or `int64_t`)."""
    pointee = declared.pointee
    if pointee is None:
        text = declared.text if declared.kind == "struct" else ""
        return (declared.kind, text, declared.scalar, declared.size if not text else None)
    const = pointee.text.startswith("const ")
    return (const, pointee.dtypes or pointee.text.removeprefix("const "), pointee.align)
