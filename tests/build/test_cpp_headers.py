"""The C++ headers: each compiles alone, is short, and keeps its promises."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from wrapper_workshop import (
    CPP,
    DRIVER_DIALECT,
    INCLUDE,
    RUNTIME_DIALECT,
    WARNINGS,
    include_flags,
    run,
)

import tvmffi_cubin.module  # noqa: F401 - registers LaunchError

HEADERS = sorted(
    str(path.relative_to(INCLUDE))
    for path in [
        *INCLUDE.glob("tvmffi_cubin/*.h"),
        *INCLUDE.glob("tvmffi_cubin/core/*.h"),
        *INCLUDE.glob("tvmffi_cubin/mixed/*.h"),
        *INCLUDE.glob("tvmffi_cubin/compat/**/*.h"),
    ]
)
# A unit of mixed sources has a name.
NAMED = "#ifdef TVMFFI_CUBIN_MIXED_UNIT\nTVMFFI_CUBIN_MIXED_UNIT(alone)\n#endif\n"
# With CUB g++ 12 needs a flag, which the build gives it; the others are NVRTC's, and host.h's.
PARTS = ("mixed/cub.h", "mixed/device.h")
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]


class TestHeaders:
    @pytest.mark.parametrize("compiler", COMPILERS)
    @pytest.mark.parametrize("header", [x for x in HEADERS if not x.endswith(PARTS)])
    def test_compiles_alone_and_twice(self, header: str, compiler: str, tmp_path: Path) -> None:
        name = header.removeprefix("tvmffi_cubin/compat/")
        unit = tmp_path / "alone.cc"
        unit.write_text(f"#include <{name}>\n#include <{name}>\n{NAMED}")
        run(compiler, "-fsyntax-only", "-std=c++17", *WARNINGS, *include_flags(), unit)

    @pytest.mark.parametrize("compiler", COMPILERS)
    def test_host_code_may_name_cooperative_groups(self, compiler: str, tmp_path: Path) -> None:
        unit = tmp_path / "named.cc"
        unit.write_text("#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n")
        run(compiler, "-fsyntax-only", "-std=c++17", *WARNINGS, *include_flags(), unit)

    @pytest.mark.parametrize("compiler", COMPILERS)
    @pytest.mark.parametrize("dialect", ["-UNONE", DRIVER_DIALECT, RUNTIME_DIALECT])
    def test_public_types_keep_their_promises(self, dialect: str, compiler: str) -> None:
        unit = CPP / "static_asserts.cc"
        run(compiler, "-fsyntax-only", "-std=c++17", *WARNINGS, dialect, *include_flags(), unit)
