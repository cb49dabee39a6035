"""A stand-in for nvcc that any machine has: it compiles host code alone, with the host compiler."""

import os
import subprocess
from pathlib import Path

from tvmffi_cubin.cuda.libraries import find_cuda

_SCRIPT = """#!/bin/sh
top={folder}
case "$1" in
--version) echo "Cuda compilation tools, release 13.1, V13.1.1"; echo "Build {build}"; exit ;;
--dryrun) echo "#$ _HERE_=$top/bin"; echo "#$ TOP=$top/bin/.."
  echo "#$ INCLUDES=\\"-I$top/include\\""; echo "#$ LIBRARIES= \\"-L$top/lib\\""; exit ;;
esac
echo "$*" >> "$top/commands"
case "$*" in
*-dlink*) : > "$top/empty.cc"; exec c++ -c -o device_link.o "$top/empty.cc" ;;
esac
words=
while [ $# -gt 0 ]; do
  case "$1" in
  -ccbin) shift ;;
  -gencode=* | -rdc=*) ;;
  -Xcompiler=*) words="$words ${{1#-Xcompiler=}}" ;;
  cu) words="$words c++ -include cuda_runtime.h" ;;
  *) words="$words $1" ;;
  esac
  shift
done
exec c++ -D__NVCC__ -I"$top/include" $words
"""


class FakeNvcc:
    """A toolkit in a folder."""

    def __init__(self, folder: Path, *, build: str = "1") -> None:
        self.folder = folder
        self.path = folder / "bin" / "nvcc"
        for name in ("bin", "include", "lib"):
            (folder / name).mkdir(parents=True)
        self.path.write_text(_SCRIPT.format(folder=folder, build=build))
        self.path.chmod(0o755)
        text = '#define OF_THE_FAKE\nextern "C" int cudaOfTheFake();\n'
        (folder / "include" / "cuda_runtime.h").write_text(text)
        os.symlink(find_cuda().require("runtime") / "cuda.h", folder / "include" / "cuda.h")
        source = folder / "runtime.cc"
        source.write_text('extern "C" int cudaOfTheFake() { return 7; }\n')
        made = ["c++", "-fPIC", "-c", "-o", str(folder / "runtime.o"), str(source)]
        subprocess.run(made, check=True)
        archive = folder / "lib" / "libcudart_static.a"
        subprocess.run(["ar", "rcs", str(archive), str(folder / "runtime.o")], check=True)

    def commands(self) -> list[str]:
        """Return what it was asked to compile since the last question."""
        log = self.folder / "commands"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines
