"""The tests of Triton's kernels again, with the oldest Triton that is taken."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Where `make test` puts it.
OLDEST = Path(sys.prefix) / "triton-3.6.0"
FILES = sorted(Path(__file__).parent.glob("test_triton_*.py"))


@pytest.mark.skipif(
    not OLDEST.is_dir(),
    reason=f"run: pip install --no-deps --target {OLDEST} triton==3.6.0",
)
def test_the_same_holds_with_the_oldest_triton(tmp_path):
    path = os.pathsep.join([str(OLDEST), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = (
        "import sys, pytest, triton\nprint(triton.__version__)\nsys.exit(pytest.main(sys.argv[1:]))"
    )
    files = [str(file) for file in FILES if file != Path(__file__)]
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", *files],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert done.stdout.startswith("3.6.0\n")
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
