"""What is known of CUDA C++ types by name: size, alignment, DLPack dtypes."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Known", "lookup"]

Dtype = tuple[int, int]


# DLPack's type codes.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_FLOAT8_E4M3FN, _FLOAT8_E5M2, _FLOAT8_E8M0FNU = 10, 12, 14
_FLOAT6_E2M3FN, _FLOAT6_E3M2FN, _FLOAT4_E2M1FN = 15, 16, 17


class Known(NamedTuple):
    """What a type name stands for.

    Attributes
    ----------
    kind : str
        As in `tvmffi_cubin.cxx_type.CxxType`.
    size, align : int
        In bytes.
    dtypes : tuple of (int, int)
        The DLPack (code, bits) pairs that a pointer to the type accepts; empty: any.
    scalar : str or None
        The floating-point format, where the type is a floating scalar that can go by value.
    """

    kind: str
    size: int
    align: int
    dtypes: tuple[Dtype, ...] = ()
    scalar: str | None = None


def _integers() -> dict[str, Known]:
    sizes = {"signed char": 1, "short": 2, "int": 4, "long": 8, "long long": 8, "wchar_t": 4}
    signed = {name: Known("int", n, n, ((_INT, 8 * n),)) for name, n in sizes.items()}
    for bits in (8, 16, 32, 64):
        known = Known("int", bits // 8, bits // 8, ((_INT, bits),))
        for name in (f"int{bits}_t", f"int_least{bits}_t", f"__int{bits}_t"):
            signed[name] = known
    for name in ("ptrdiff_t", "ssize_t", "intptr_t", "intmax_t", "int_fast32_t", "int_fast64_t"):
        signed[name] = signed["long"]
    sizes = {"char": 1, "short": 2, "int": 4, "long": 8, "long long": 8}
    sizes = {f"unsigned {name}": n for name, n in sizes.items()}
    sizes |= {f"uint{bits}_t": bits // 8 for bits in (8, 16, 32, 64)}
    sizes |= {"size_t": 8, "uintptr_t": 8, "uintmax_t": 8, "uchar": 1, "ushort": 2, "uint": 4}
    sizes |= {"char8_t": 1, "char16_t": 2, "char32_t": 4, "ulong": 8, "byte": 1}
    # CUDA's own handles for textures and surfaces are 64-bit integers.
    sizes |= {"cudaTextureObject_t": 8, "cudaSurfaceObject_t": 8}
    unsigned = {name: Known("uint", n, n, ((_UINT, 8 * n),)) for name, n in sizes.items()}
    # Plain char is bytes: numpy and torch have both spellings and users mean neither sign.
    char = {"char": Known("int", 1, 1, ((_INT, 8), (_UINT, 8)))}
    # A bool tensor alone is accepted for bool*: any other byte than 0 and 1 is undefined behaviour.
    boolean = {"bool": Known("bool", 1, 1, ((_BOOL, 8),))}
    return {**signed, **unsigned, **char, **boolean}


def _floats() -> dict[str, Known]:
    half = Known("float", 2, 2, ((_FLOAT, 16),), "float16")
    bfloat = Known("float", 2, 2, ((_BFLOAT, 16),), "bfloat16")
    return {
        "float": Known("float", 4, 4, ((_FLOAT, 32),), "float32"),
        "double": Known("float", 8, 8, ((_FLOAT, 64),), "float64"),
        **dict.fromkeys(("__half", "half", "_Float16", "cutlass::half_t"), half),
        **dict.fromkeys(("__nv_bfloat16", "nv_bfloat16", "__bf16", "cutlass::bfloat16_t"), bfloat),
        "cutlass::tfloat32_t": Known("struct", 4, 4, ((_FLOAT, 32),)),
    }


def _narrow_floats() -> dict[str, Known]:
    # Few frameworks have 6- and 4-bit dtypes, so their users keep such data in uint8 tensors.
    raw = (_UINT, 8)
    formats: dict[str, tuple[Dtype, ...]] = {
        "fp8{}_e4m3": ((_FLOAT8_E4M3FN, 8),),
        "fp8{}_e5m2": ((_FLOAT8_E5M2, 8),),
        "fp8{}_e8m0": ((_FLOAT8_E8M0FNU, 8),),
        "fp6{}_e2m3": ((_FLOAT6_E2M3FN, 6), raw),
        "fp6{}_e3m2": ((_FLOAT6_E3M2FN, 6), raw),
        "fp4{}_e2m1": ((_FLOAT4_E2M1FN, 4), raw),
    }
    table = {}
    for pattern, dtypes in formats.items():
        for lanes in (1, 2, 4):
            name = "__nv_" + pattern.format("" if lanes == 1 else f"x{lanes}")
            size = max(1, lanes // 2) if pattern.startswith("fp4") else lanes
            table[name] = Known("struct", size, size, dtypes)
    table["cutlass::float_e4m3_t"] = table["__nv_fp8_e4m3"]
    table["cutlass::float_e5m2_t"] = table["__nv_fp8_e5m2"]
    return table


def _vectors(scalars: dict[str, Known]) -> dict[str, Known]:
    spelling = {"longlong": "long long"}
    table = {}
    for short in ("char", "short", "int", "long", "longlong"):
        signed = "signed char" if short == "char" else spelling.get(short, short)
        table[short] = scalars[signed]
        table["u" + short] = scalars["unsigned " + spelling.get(short, short)]
    table |= {"float": scalars["float"], "double": scalars["double"]}
    vectors = {}
    for short, scalar in table.items():
        for lanes in (1, 2, 3, 4):
            size = scalar.size * lanes
            align = scalar.size if lanes == 3 else min(size, 16)
            vectors[f"{short}{lanes}"] = Known("struct", size, align, scalar.dtypes)
        if scalar.size == 8:
            for align in (16, 32):
                vectors[f"{short}4_{align}a"] = Known("struct", 32, align, scalar.dtypes)
    for names, scalar in (
        (("__half2", "half2"), scalars["__half"]),
        (("__nv_bfloat162", "nv_bfloat162"), scalars["__nv_bfloat16"]),
    ):
        vectors |= dict.fromkeys(names, Known("struct", 4, 4, scalar.dtypes))
    return vectors


def _complex(vectors: dict[str, Known]) -> dict[str, Known]:
    table: dict[str, Known] = {}
    for scalar, vector, aliases in (
        ("float", "float2", ("cuComplex", "cuFloatComplex")),
        ("double", "double2", ("cuDoubleComplex",)),
    ):
        size = vectors[vector].size
        own = (_COMPLEX, 8 * size)
        both = Known("struct", size, size, (*vectors[vector].dtypes, own))
        table |= dict.fromkeys((vector, *aliases), both)
        table[f"complex<{scalar}>"] = Known("struct", size, size, (own,))
        table[f"thrust::complex<{scalar}>"] = table[f"complex<{scalar}>"]
    return table


def _build() -> dict[str, Known]:
    scalars = {**_integers(), **_floats()}
    vectors = _vectors(scalars)
    others = {
        "__int128": Known("struct", 16, 16),
        "unsigned __int128": Known("struct", 16, 16),
        "dim3": Known("struct", 12, 4),
        **dict.fromkeys(("CUtensorMap", "CUtensorMap_st"), Known("struct", 128, 64)),
    }
    return {**scalars, **_narrow_floats(), **vectors, **_complex(vectors), **others}


_STD = re.compile(r"^(?:::)?(?:cuda::std::|std::)(?:__\w+::)?")
_table: dict[str, Known] = {}


def lookup(name: str) -> Known | None:
    """Return what is known of a type name (without qualifiers), None where nothing is.

    ``std::``, ``cuda::std::`` and their inline namespaces are looked through.
    """
    if not _table:
        _table.update(_build())
    return _table.get(_STD.sub("", name).removeprefix("::"))
