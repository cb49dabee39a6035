"""What a build reads and no argument says is in the key, too: headers that hide others, libraries.

All are files of C, which compile in no time.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from file_kit import compiled, write

import tvmffi_cubin as tc

ANSWER = "#include <answer.h>\nint answer(void) { return ANSWER; }\n"


def built(**options) -> str:
    return tc.build("key", **{"sources": "answer.c"} | options)


def header(path: str, text: str = "#define ANSWER 2\n") -> Path:
    return write(path, text)


@pytest.fixture
def late(here) -> Path:
    """A folder with the header that a file beside it includes."""
    write("answer.c", ANSWER)
    (here / "early").mkdir()
    return header("late/answer.h", "#define ANSWER 1\n").parent.absolute()


@pytest.mark.parametrize("way", ["CPATH", "CXX", "-iquote"])
def test_a_header_that_would_come_before_the_one_that_was_read_builds_anew(way, late, monkeypatch):
    early = str(late.parent / "early")
    options = {"extra_include_paths": [late]}
    if way == "CXX":
        monkeypatch.setenv("CXX", f"c++ -I{early}")
    elif way.startswith("-"):
        write("answer.c", ANSWER.replace("<answer.h>", '"answer.h"'))
        options = {"extra_cflags": [way, early, f"-idirafter{late}"]}
    else:
        monkeypatch.setenv(way, f"{early}:{late}")
        options = {}
    first = built(**options)
    assert built(**options) == first
    header("early/answer.h")
    second = built(**options)
    assert second != first
    os.unlink("early/answer.h")
    assert built(**options) == first


def test_a_header_that_would_hide_one_of_the_system_s_builds_anew(here):
    write("answer.c", "#include <stdlib.h>\nint answer(void) { return EXIT_SUCCESS; }\n")
    include = header("include/own.h").parent
    first = built(extra_include_paths=[include])
    # stdlib.h includes this; the source does not.
    header("include/bits/types.h", "#include_next <bits/types.h>\n")
    assert built(extra_include_paths=[include]) != first


@pytest.mark.parametrize("way", ["LIBRARY_PATH", "flag"])
def test_a_library_counts_by_its_content_and_one_that_comes_before_it(way, here, monkeypatch):
    write("answer.c", "int part(void);\nint answer(void) { return part(); }\n")
    early, late = here / "early", here / "late"
    early.mkdir()

    def archive(folder: Path, number: int) -> None:
        made = compiled("cc", write(folder / "part.c", f"int part(void) {{ return {number}; }}\n"))
        subprocess.run(["ar", "rcD", folder / "libpart.a", made], check=True)

    archive(late, 1)
    options = {"extra_ldflags": ["-lpart"]}
    if way == "LIBRARY_PATH":
        monkeypatch.setenv("LIBRARY_PATH", f"{early}:{late}")
    else:
        options = {"extra_ldflags": [f"-L{early}", f"-L{late}", "-lpart"]}
    first = built(**options)
    archive(late, 2)
    second = built(**options)
    archive(early, 3)
    assert len({first, second, built(**options)}) == 3
    os.unlink(early / "libpart.a")
    assert built(**options) == second


def test_what_assembly_embeds_counts_by_its_content(here):
    data = write("data.bin", "one")
    write("answer.c", f'__asm__(".data\\n.incbin \\"{data.absolute()}\\"\\n.text");\n')
    first = built()
    write("data.bin", "two")
    assert built() != first
    write("data.bin", "one")
    assert built() == first
