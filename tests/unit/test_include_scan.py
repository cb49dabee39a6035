"""What a build reads: depfiles, and the scan of device code."""

import os

import pytest

from tvmffi_cubin.host import include_scan
from tvmffi_cubin.host.inputs import parse_depfile


def put(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def scan(sources, folders, directory=None, **more):
    return include_scan.scan([(x, directory) for x in sources], folders, **more)


def names(folder, paths):
    return {os.path.relpath(path, folder) for path in paths}


# Depfiles


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a.o: a.cc \\\n /usr/b.h \\\n  c.h\n", ["a.cc", "/usr/b.h", "c.h"]),
        (r"a.o: with\ space.h", ["with space.h"]),
        (r"a\ b.o: a.cc", ["a.cc"]),
        (r"a.o: doll$$ar.h hash\#.h", ["doll$ar.h", "hash#.h"]),
        ("a.o: a.cc b.h\n\nb.h:\n", ["a.cc", "b.h"]),
    ],
)
def test_a_depfile_is_unescaped_as_make_does(text, wanted):
    assert parse_depfile(text) == wanted


# Scan of device code


@pytest.mark.parametrize(
    "line",
    [
        '#include "x.h"',
        "#include <x.h>",
        '/* why */ #include /* here */ "x.h" // yes',
        '#inc\\\nlude "x.h"',
        '#if 0\n#include "x.h"\n#endif',
        'int a;\r\n#include "x.h"\r\n',
        '#define HEADER "x.h"\n#include HEADER',
        '#define HEADER "x.h" /* a comment\n of ** two lines **/\n#include HEADER',
        '#define INNER "x.h"\n#define OUTER INNER\n#include OUTER',
        '#include HEADER\n#define HEADER "x.h"',
        '#ifdef A\n#define H "y.h"\n#else\n#define H "x.h"\n#endif\n#include H',
        '/* start\n end */ #include "x.h"',
        '#if __has_include("x.h")',
        "#if defined(__has_include) && __has_include( /* here */ <x.h> )",
        '#define HEADER "x.h"\n#if __has_include(HEADER)',
        "#define IN(name) <name.h>\n#include IN(x)",
        "#define STR(x) #x\n  #  include /* why */ STR /* here */ (x.h)",
        "#define STR(x) STR2(x)\n#define STR2(x) # x\n#define HEADER STR( x.h )\n#include HEADER",
        "#define STR(x) STR2(x)\n#define STR2(x) #x\n#define NAME x.h\n#include STR(NAME)",
        '#define A(x) B\n#define B A(B)\n#include A(B)\n#include "x.h"',
        "#include IN(h)\n#define IN(kind) <NAME.kind>\n#define NAME PART\n#define PART x",
        "#ifdef A\n#define NAME y\n#else\n#define NAME x\n#endif\n#define H <NAME.h>\n#include H",
        '#define A(x) A(x/x)\n#include A(x)\n#include "x.h"',
    ],
)
def test_every_spelling_of_an_include_is_found(tmp_path, line):
    put(tmp_path, {"x.h": ""})
    assert names(tmp_path, scan([line], [str(tmp_path)]).read) == {"x.h"}


@pytest.mark.parametrize(
    "text",
    [
        "#define CAT(x, y) <x##y>\n#include CAT(x, .h)\n",
        "#define HEADER CAT(x, .h)\n#include HEADER\n",
        "#define STR(x) #x\n#include STR (CAT(x, .h))\n",
    ],
)
def test_that_only_the_preprocessor_knows_a_header_is_told(text, tmp_path):
    assert scan([text], [str(tmp_path)]).unknown in [("CAT",), ("STR",)]


def test_a_macro_of_one_file_names_a_header_in_another(tmp_path):
    put(tmp_path, {"a.h": "#include CONFIG\n", "b.h": '#define CONFIG "c.h"\n', "c.h": ""})
    found = scan(['#include "a.h"\n#include "b.h"\n'], [str(tmp_path)])
    assert names(tmp_path, found.read) == {"a.h", "b.h", "c.h"}


def test_folders_are_searched_in_order(tmp_path):
    put(tmp_path, {"one/x.h": "", "two/x.h": "", "here/x.h": "", "a/a.h": '#include "x.h"\n'})
    put(tmp_path, {"a/x.h": ""})
    dirs = [str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path)]
    assert names(tmp_path, scan(["#include <x.h>"], dirs).read) == {"one/x.h"}
    found = scan(['#include "x.h"'], dirs, directory=str(tmp_path / "here"))
    assert names(tmp_path, found.read) == {"here/x.h"}
    # A quoted one first beside its includer.
    assert names(tmp_path, scan(["#include <a/a.h>"], dirs).read) == {"a/a.h", "a/x.h"}


def test_a_header_that_would_come_first_is_watched_in_the_users_folders_only(tmp_path):
    put(tmp_path, {"user/other.h": "", "cuda/lib/x.h": "#include <y.h>\n", "late/y.h": ""})
    system = [str(tmp_path / "cuda"), str(tmp_path / "late")]
    text = '#include <lib/x.h>\n#include "gone.h"\n'
    found = scan([text], [str(tmp_path / "user")], system_dirs=system)
    assert names(tmp_path, found.absent) == {"user/lib", "user/y.h", "user/gone.h"}


def test_a_header_is_read_again_only_when_it_changed(tmp_path, monkeypatch):
    put(tmp_path, {"a.h": "#include <b.h>\n", "b.h": "", "c.h": ""})
    scan(["#include <a.h>"], [str(tmp_path)])
    reads = []
    parse = include_scan._parse
    monkeypatch.setattr(include_scan, "_parse", lambda text: reads.append(text) or parse(text))
    scan(["#include <a.h>"], [str(tmp_path)])
    assert reads == ["#include <a.h>"]
    put(tmp_path, {"a.h": "#include <c.h> // longer\n"})
    found = scan(["#include <a.h>"], [str(tmp_path)])
    assert names(tmp_path, found.read) == {"a.h", "c.h"}
