"""Runs the command line of the installation that this file is in, whatever Python finds first.

``--paths`` prints, a line each, what a C++ target needs: our headers, tvm-ffi's, its library,
CUDA's runtime, and CUDA's header folders.
"""

import sys
from pathlib import Path


def _print_paths() -> None:
    from tvmffi_cubin.cuda import libraries
    from tvmffi_cubin.host import forwarders, tools

    paths = tools.tvm_ffi_paths()
    print(tools.include_dir())
    print(paths.include)
    print(paths.library)
    cuda = libraries.find_cuda()
    print(forwarders.runtime_to_link(Path(cuda.parts.get("cudart", "cudart"))))
    print(*cuda.include_dirs, sep="\n")


def _run() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tvmffi_cubin.__main__ import main

    if sys.argv[1:] != ["--paths"]:
        return main()
    from tvmffi_cubin.errors import CubinError

    try:
        _print_paths()
    except CubinError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_run())
