"""`all_kernels`: what is exported where nobody says what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .arguments import identifier
from .export import Export
from .image import Image
from .kernel_signature import KernelSignature, signature_text
from .launch import Launch
from .source import DEVICE_IMAGE

__all__ = ["all_kernels"]

_MOST_LISTED = 20


def all_kernels(images: Sequence[Image], *, from_sources: bool) -> tuple[Export, ...]:
    """Return every kernel of the device sources or, where there are none, of all images.

    Raises
    ------
    ValueError
        There is none, or several have one name, or one has none that C can have.
    """
    if from_sources:
        own = [image for image in images if image.name == DEVICE_IMAGE]
        return _of_sources([s for image in own for s in image.signatures if not s.from_library])
    found = [(image.name, signature) for image in images for signature in image.signatures]
    if not found:
        problems = "; ".join(f"image {i.name!r}: {i.problem}" for i in images if i.problem)
        raise ValueError(problems or f"no kernel is in {', '.join(repr(i.name) for i in images)}")
    _refuse_shared(
        [(s.name, f"{signature_text(s)} in {image!r}") for image, s in found],
        'functions={"one": Launch(kernel="...", image="..."), ...}',
    )
    nameless = [signature for _, signature in found if not _is_name(signature.name)]
    if nameless:
        raise ValueError(
            "kernels have names that C cannot have:"
            + _listed(s.display for s in nameless)
            + '\nname what is to be exported: functions={"k": Launch(kernel="...")}'
        )
    return tuple(
        Export(s.name, launches=(Launch(kernel=s.symbol, image=image),)) for image, s in found
    )


def _of_sources(signatures: list[KernelSignature]) -> tuple[Export, ...]:
    if not signatures:
        raise ValueError(
            "the device sources define no kernel that is in the image: templates are instantiated "
            'by functions={"name": Launch(kernel="fill<float>", ...)}'
        )
    # The image has them in an order of its own; those of headers and macros come last.
    signatures.sort(key=lambda signature: (signature.line is None, signature.line or 0))
    _refuse_shared(
        [(signature.name, signature_text(signature)) for signature in signatures],
        'functions={"one": Launch(kernel="...", params="..."), ...}',
    )
    return tuple(Export(signature.name) for signature in signatures)


def _refuse_shared(kernels: Sequence[tuple[str, str]], remedy: str) -> None:
    """Refuse kernels that share a name; each comes with how it is shown."""
    names = [name for name, _ in kernels]
    for name in dict.fromkeys(names):
        several = [shown for other, shown in kernels if other == name]
        if len(several) > 1:
            raise ValueError(
                f"{len(several)} kernels are called {name!r}:{_listed(several)}\n"
                f"name each: {remedy}"
            )


def _listed(lines: Iterable[str]) -> str:
    every = [*lines]
    rest = [f"... and {len(every) - _MOST_LISTED} more"] if len(every) > _MOST_LISTED else []
    return "".join(f"\n  {line}" for line in (*every[:_MOST_LISTED], *rest))


def _is_name(name: str) -> bool:
    try:
        identifier("", name)
    except ValueError:
        return False
    return True
