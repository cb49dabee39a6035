"""The two texts of mixed sources, as they were agreed to."""

from __future__ import annotations

import golden_file
import pytest
from mixed_kit import SOURCES, pretended_cuda

from tvmffi_cubin.mixed_program import MixedSource, Program
from tvmffi_cubin.split import split

NAMES = sorted(path.stem for path in SOURCES.glob("*.cu"))


@pytest.mark.parametrize("name", NAMES)
def test_a_mixed_source_gives_the_two_texts_that_were_agreed_to(name, tmp_path):
    text = (SOURCES / f"{name}.cu").read_text(encoding="utf-8")
    source = MixedSource(f"{name}.cu", text)
    done = split(Program((source,), device_dirs=(str(pretended_cuda(tmp_path)),)))
    for side, texts in (("device", done.device), ("host", done.host)):
        (made,) = texts.sources
        assert made.edited.text.count("\n") == text.count("\n")
        golden_file.check(f"mixed_{name}.{side}.cu", trimmed(made.edited.text))
    facts = [f"kernel {k.name} at {k.line}{' template' * k.is_template}" for k in done.kernels]
    facts += [f"variable {name}" for name in done.variables]
    facts += [f"launches {len(done.launches)}", *(f"left out {path}" for path in done.left_out)]
    golden_file.check(f"mixed_{name}.txt", "\n".join(facts) + "\n")


def trimmed(text: str) -> str:
    """Return a text without blanks at the ends of its lines, as editors would leave it."""
    return "\n".join(line.rstrip() for line in text.split("\n"))
