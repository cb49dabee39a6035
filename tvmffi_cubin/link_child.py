"""The process in which nvJitLink links what was given; `link_process` runs this file by its path.

Nothing is imported that is not needed: no site packages, no more of this package than nvJitLink's
library, so that it starts in a few hundredths of a second whatever is installed.
"""

import os
import sys
import types


def main() -> None:
    """Read a `LinkRun` from standard input, write a `LinkOutcome` to standard output."""
    package = types.ModuleType("tvmffi_cubin")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    # In the place of the real one, which imports all that users need.
    sys.modules["tvmffi_cubin"] = package
    from tvmffi_cubin.link_process import serve

    serve(*sys.argv[1:])


if __name__ == "__main__":
    main()
