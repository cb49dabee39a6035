"""The tests of Triton's kernels again, with the oldest Triton that is taken."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Where `make test` puts it.
OLDEST = Path(sys.prefix) / "triton-3.6.0"
NAMES = ("test_triton_launches.py", "test_triton_arguments.py")
FILES = [Path(__file__).with_name(name) for name in NAMES]


@pytest.mark.skipif(
    not OLDEST.is_dir(),
    reason=f"run: pip install --no-deps --target {OLDEST} triton==3.6.0",
)
def test_the_same_holds_with_the_oldest_triton(tmp_path):
    path = os.pathsep.join([str(OLDEST), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = (
        "import sys, pytest, triton\nprint(triton.__version__)\nsys.exit(pytest.main(sys.argv[1:]))"
    )
    files = map(str, FILES)
    # In the usual place pytest would take from other users what tests beside this one let them see.
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"]
    # It is no worker of the run that this is one of.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", code, *options, *files],
        env={**kept, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert done.stdout.startswith("3.6.0\n")
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
