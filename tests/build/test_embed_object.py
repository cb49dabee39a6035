"""`tvmffi-cubin embed --input-obj`: images in object files, linked and launched."""

from __future__ import annotations

import ctypes
import os
import random
import stat
import subprocess
from pathlib import Path

import pytest
import tvm_ffi
import wrapper_sources
from file_kit import linked
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from wrapper_workshop import include_flags

import tvmffi_cubin as tc
from tvmffi_cubin import embed_object
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.device.image import given_image
from tvmffi_cubin.embed_object import embed, machine_number
from tvmffi_cubin.kernels.cubin import Cubin

SOURCE = 'extern "C" __global__ void add_one(float* x, float* y, long n) {{ y[0] = x[0] + {}; }}\n'
# What the macros declare; both the table and the bytes themselves are read.
USER = """
#define EMBED(name) \\
  extern const char __tvm_ffi__cubin_##name[] __attribute__((visibility("hidden"))); \\
  extern const char __tvm_ffi__cubin_##name##_end[] __attribute__((visibility("hidden"))); \\
  extern const void* const __tvmffi_cubin_image_##name[4] \\
      __attribute__((visibility("hidden"), weak)); \\
  const void* prefix##_table_##name(int i) { return __tvmffi_cubin_image_##name[i]; } \\
  const void* prefix##_first_##name(void) { return __tvm_ffi__cubin_##name; } \\
  unsigned long prefix##_size_##name(void) { \\
    return __tvm_ffi__cubin_##name##_end - __tvm_ffi__cubin_##name; }
static int unused(int x) { return x; }
int (*volatile local)(int) = unused;
"""


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("cubins")
    paths = []
    for number in range(2):
        paths.append(folder / f"k{number}.cubin")
        # They differ in length, too.
        source = SOURCE.format(number + 1) + "__device__ int table[9];\n" * number
        image = tc.nvrtc.compile(source, arch="sm_90").image
        paths[-1].write_bytes(image)
    return paths


def compiled(*names: str, flags: tuple[str, ...] = (), file: str = "a.c", prefix: str = "a") -> str:
    text = USER.replace("prefix##", f"{prefix}##") + "".join(f"EMBED({name})\n" for name in names)
    Path(file).write_text(text)
    made = file.replace(".c", ".o")
    subprocess.run(["gcc", "-fPIC", "-O1", "-c", file, "-o", made, *flags], check=True)
    return made


def run_embed(cubin: Path, name: str, *, source: str = "a.o", output: str = "b.o") -> None:
    arguments = ["--input-obj", source, "--output-obj", output, "--cubin", str(cubin), "-v"]
    assert main(["embed", *arguments, "--name", name]) == 0


def image_of(library: Path, name: str, prefix: str = "a") -> bytes:
    """Read an image back by way of the code that declares it, and check its table."""
    loaded = ctypes.CDLL(str(library))
    first, size = loaded[f"{prefix}_first_{name}"], loaded[f"{prefix}_size_{name}"]
    table = loaded[f"{prefix}_table_{name}"]
    first.restype = table.restype = ctypes.c_void_p
    size.restype = ctypes.c_ulong
    assert table(0) == first()
    assert table(1) - table(0) == size()
    assert ctypes.string_at(table(2)) == b"sm_90"
    assert first() % 64 == 0
    return ctypes.string_at(first(), size())


def shared(*objects: str, name: str = "linked.so") -> Path:
    made = Path(name).absolute()
    subprocess.run(["g++", "-shared", "-o", made, *objects, "-Wl,-z,defs"], check=True)
    return made


@pytest.mark.parametrize("flags", [(), ("-g", "-ffunction-sections", "-fdata-sections")])
def test_an_image_is_read_back_by_the_code_that_declares_it(here, cubins, flags):
    compiled("k", flags=flags)
    run_embed(cubins[0], "k")
    assert image_of(shared("b.o"), "k") == cubins[0].read_bytes()
    (image,) = tc.inspect("b.o").images
    assert (image.name, image.arch) == ("k", "sm_90")


def test_embedding_again_replaces_to_the_last_byte(here, cubins):
    compiled("k")
    old, new = (path.read_bytes() for path in cubins)
    run_embed(cubins[0], "k")
    for turn, (source, cubin) in enumerate([("b.o", 1), ("c.o", 0), ("c.o", 1)]):
        run_embed(cubins[cubin], "k", source=source, output="c.o")
        wanted = cubins[cubin].read_bytes()
        assert image_of(shared("c.o", name=f"{turn}.so"), "k") == wanted
    assert len(new) != len(old)
    assert old not in Path("c.o").read_bytes()
    assert Path("c.o").read_bytes().count(b"\x7fELF") == 2
    assert len(tc.inspect("c.o").images) == 1


def test_different_names_accumulate_and_each_is_replaced_alone(here, cubins):
    compiled("one", "two")
    run_embed(cubins[0], "one")
    run_embed(cubins[0], "two", source="b.o")
    run_embed(cubins[1], "two", source="b.o")
    library = shared("b.o")
    assert image_of(library, "one") == cubins[0].read_bytes()
    assert image_of(library, "two") == cubins[1].read_bytes()
    assert {image.name for image in tc.inspect("b.o").images} == {"one", "two"}


def test_input_and_output_may_be_one_file(here, cubins):
    compiled("k")
    run_embed(cubins[0], "k", output="a.o")
    run_embed(cubins[1], "k", output="a.o")
    assert image_of(shared("a.o"), "k") == cubins[1].read_bytes()
    assert sorted(os.listdir()) == ["a.c", "a.o", "linked.so"]


def test_objects_of_one_library_may_each_have_their_own_of_a_name(here, cubins):
    for prefix, cubin in zip("ab", cubins, strict=True):
        source = compiled("k", file=f"{prefix}.c", prefix=prefix, flags=(f"-Dlocal=l_{prefix}",))
        run_embed(cubin, "k", source=source, output=source)
    library = shared("a.o", "b.o")
    assert image_of(library, "k", "a") == cubins[0].read_bytes()
    assert image_of(library, "k", "b") == cubins[1].read_bytes()


def test_an_image_that_an_object_does_not_use_is_there_for_the_others(here, cubins):
    compiled("k")
    compiled(file="empty.c")
    run_embed(cubins[0], "k", source="empty.o", output="image.o")
    run_embed(cubins[1], "k", source="image.o", output="image.o")
    library = shared("a.o", "image.o", "-Wl,-z,muldefs")
    assert image_of(library, "k") == cubins[1].read_bytes()
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    assert "cubin" not in symbols.stdout


def test_an_object_can_be_made_of_an_image_alone(here, cubins):
    compiled("k")
    arguments = ["--output-obj", "made/image.o", "--cubin", str(cubins[0]), "--name", "k"]
    assert main(["embed", *arguments]) == 0
    assert image_of(shared("a.o", "made/image.o"), "k") == cubins[0].read_bytes()
    assert main(["embed", *arguments, "--machine", "aarch64"]) == 0
    assert Path("made/image.o").read_bytes()[18:20] == (183).to_bytes(2, "little")


def test_objects_that_ld_merged_are_embedded_into_and_replaced(here, cubins):
    compiled("k")
    Path("more.c").write_text("int more(void) { return 1; }\n")
    subprocess.run(["gcc", "-fPIC", "-c", "more.c"], check=True)
    run_embed(cubins[0], "k")
    subprocess.run(["ld", "-r", "-o", "merged.o", "more.o", "b.o"], check=True)
    run_embed(cubins[1], "k", source="merged.o", output="merged.o")
    assert image_of(shared("merged.o"), "k") == cubins[1].read_bytes()
    assert cubins[0].read_bytes() not in Path("merged.o").read_bytes()


def test_inline_functions_and_groups_survive(here, cubins):
    Path("a.cc").write_text(
        "#include <string>\n#include <vector>\n#include <stdexcept>\n"
        "template <class T> inline std::vector<T> Twice(T x) { return {x, x}; }\n"
        'extern "C" int a_sum(int x) { int s = 0; for (int v : Twice(x)) s += v;\n'
        '  try { if (x < 0) throw std::runtime_error(std::string("x")); }\n'
        "  catch (const std::exception&) { return -1; } return s; }\n"
        'extern "C" {\n' + USER.replace("prefix##", "a##") + "EMBED(k)\n}\n"
    )
    subprocess.run(["g++", "-fPIC", "-O1", "-g", "-c", "a.cc"], check=True)
    run_embed(cubins[0], "k")
    library = shared("b.o")
    assert image_of(library, "k") == cubins[0].read_bytes()
    loaded = ctypes.CDLL(str(library))
    assert (loaded.a_sum(2), loaded.a_sum(-2)) == (4, -1)


@pytest.mark.parametrize("macro", ["guide", "own"])
def test_the_macros_code_launches_what_was_embedded(
    macro: str, here, cubins, driver_stub: DriverStub
):
    text = wrapper_sources.DRIVER
    if macro == "own":
        text = (
            "#include <tvm/ffi/container/tensor.h>\n#include <tvm/ffi/function.h>\n"
            "#include <tvmffi_cubin/tvmffi_cubin.h>\nEMBED_CUBIN(kernels);\n"
            "void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {\n"
            '  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");\n'
            "  void *in = x.data_ptr(), *out = y.data_ptr(); int64_t n = x.size(0);\n"
            "  void* args[] = {&in, &out, &n};\n"
            "  using tvmffi_cubin::LaunchConfig;\n"
            "  tvmffi_cubin::CheckDriver(kernel.Launch(args, LaunchConfig(1, 128)));\n"
            "}\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);\n"
        )
    Path("w.cc").write_text(text)
    command = ["g++", "-std=c++17", "-O0", "-fPIC", "-c", "w.cc", *include_flags()]
    subprocess.run(command, check=True)
    for cubin in cubins:
        run_embed(cubin, "kernels", source="w.o", output="w.o")
    mod = tvm_ffi.load_module(linked("w.o"))
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    (launch,) = driver_stub.launches()
    assert launch.kernel == "add_one"
    (load,) = driver_stub.calls("cuLibraryLoadData")[-1:]
    wanted = cubins[1].read_bytes()
    assert ctypes.string_at(load.args["code"], len(wanted)) == wanted


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86_64 alone has large sections")
def test_an_image_becomes_one_of_the_largest_kind_and_back(here, cubins, monkeypatch):
    compiled("k")
    run_embed(cubins[0], "k")
    monkeypatch.setattr(embed_object, "_LARGE", 100)
    run_embed(cubins[1], "k", source="b.o", output="c.o")
    assert b".lrodata.tvmffi_cubin.k\0" in Path("c.o").read_bytes()
    assert image_of(shared("c.o"), "k") == cubins[1].read_bytes()
    monkeypatch.setattr(embed_object, "_LARGE", 1 << 30)
    run_embed(cubins[0], "k", source="c.o", output="d.o")
    assert image_of(shared("d.o", name="d.so"), "k") == cubins[0].read_bytes()
    assert cubins[1].read_bytes() not in Path("d.o").read_bytes()


def test_ptx_and_fatbins_are_images_too(here):
    compiled("k")
    fatbin = tc.nvrtc.compile(SOURCE.format(1), arch=["sm_80", "sm_90"]).image
    ptx = tc.nvrtc.compile(SOURCE.format(1), arch="compute_90").image
    for image in (fatbin, ptx):
        Path("k.image").write_bytes(image)
        run_embed(Path("k.image"), "k")
        assert image in Path("b.o").read_bytes()
        assert tc.inspect("b.o").images[0].size == len(image)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("empty", "it is no ELF object or shared object"),
        ("archive", "it is a static library: take out the object"),
        ("shared", "it is linked already"),
        ("cubin", "it is for the machine 190, not x86_64 or aarch64"),
        ("lto", "it was compiled with -flto"),
        ("machine", "it is for the machine 8, not x86_64 or aarch64"),
        ("foreign", "it defines __tvm_ffi__cubin_k already"),
        ("truncated", "corrupt ELF file"),
    ],
)
def test_what_is_no_object_is_refused_by_its_name(what, text, here, cubins, capsys):
    compiled("k")
    data = Path("a.o").read_bytes()
    if what == "archive":
        subprocess.run(["ar", "rc", "x.o", "a.o"], check=True)
    elif what == "shared":
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", "x.o", "-xc", "/dev/null"], check=True)
    elif what == "lto":
        subprocess.run(["gcc", "-flto", "-c", "a.c", "-o", "x.o"], check=True)
    elif what == "foreign":
        Path("x.s").write_text(".globl __tvm_ffi__cubin_k\n__tvm_ffi__cubin_k: .long 1\n")
        subprocess.run(["as", "x.s", "-o", "x.o"], check=True)
    else:
        broken = {
            "empty": b"",
            "cubin": cubins[0].read_bytes(),
            "machine": data[:18] + b"\x08\0" + data[20:],
            "truncated": data[: len(data) // 2],
        }
        Path("x.o").write_bytes(broken[what])
    arguments = ["--input-obj", "x.o", "--output-obj", "b.o", "--cubin", str(cubins[0])]
    assert main(["embed", *arguments, "--name", "k"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tvmffi-cubin: error: x.o: {text}")
    assert not Path("b.o").exists()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "--cubin (x.cubin): it is empty"),
        (b"hello", "--cubin (x.cubin): it is no image: it begins with"),
        (b"!<arch>\n", "--cubin (x.cubin): it is a static library"),
    ],
)
def test_what_is_no_image_is_refused_by_its_name(content, text, here, capsys):
    compiled("k")
    Path("x.cubin").write_bytes(content)
    arguments = ["--input-obj", "a.o", "--output-obj", "b.o", "--cubin", "x.cubin", "--name", "k"]
    assert main(["embed", *arguments]) == 1
    assert f"tvmffi-cubin: error: {text}" in capsys.readouterr().err
    assert not Path("b.o").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--input-obj none.o --name k", "none.o: No such file"),
        ("--input-obj a.o --name 2k", "name: '2k' is not a name that C can have"),
        ("--input-obj a.o --name k --output-obj folder", "folder: is a folder"),
        ("--input-obj folder --name k", "folder: Is a directory"),
    ],
)
def test_arguments_that_cannot_be_are_one_line(arguments, text, here, cubins, capsys):
    compiled("k")
    Path("folder").mkdir()
    words = arguments.split()
    output = [] if "--output-obj" in words else ["--output-obj", "b.o"]
    assert main(["embed", "--cubin", str(cubins[0]), *output, *words]) == 1
    assert f"tvmffi-cubin: error: {text}" in capsys.readouterr().err.splitlines()[0]


def test_the_image_itself_is_not_overwritten(here, cubins, capsys):
    Path("k.cubin").write_bytes(cubins[0].read_bytes())
    arguments = ["--output-obj", "k.cubin", "--cubin", "k.cubin", "--name", "k"]
    assert main(["embed", *arguments]) == 1
    assert "k.cubin is the image itself" in capsys.readouterr().err


def test_an_object_is_written_into_a_pipe_that_stays_one(here, cubins):
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    arguments = ["--output-obj", "pipe", "--cubin", str(cubins[0]), "--name", "k"]
    try:
        assert main(["embed", *arguments]) == 0
        assert os.read(reader, 4) == b"\x7fELF"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize("arguments", ["k.cubin -o k.so", "--input-obj a.o --output-obj b.o"])
def test_a_machine_that_would_be_ignored_is_refused(arguments: str, here, cubins, capsys):
    compiled("k")
    words = [*arguments.split(), "--machine", "aarch64", "--name", "k"]
    given = ["--cubin", str(cubins[0])] if "--input-obj" in words else []
    with pytest.raises(SystemExit) as caught:
        main(["embed", *given, *words])
    assert caught.value.code == 2
    assert "--machine is for an object without --input-obj" in capsys.readouterr().err


def test_damaged_objects_are_value_errors(here, cubins):
    data = Path(compiled("k")).read_bytes()
    image = given_image("k", Cubin(cubins[0].read_bytes(), "", name="k"))
    chance = random.Random(5)
    sections = int.from_bytes(data[40:48], "little")
    for _ in range(2000):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 2, 8))):
            areas = ((0, 64), (sections, len(data) - 8), (0, len(data) - 8))
            at = chance.randrange(*chance.choice(areas))
            word = chance.choice((0, 1, 2**31, 2**63, 2**64 - 1, chance.randrange(2**64)))
            mutant[at : at + 8] = word.to_bytes(8, "little")
        try:
            made = embed(bytes(mutant), image, machine=machine_number())
        except ValueError:
            continue
        assert image.data in made
