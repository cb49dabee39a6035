"""Which architectures' devices an image runs on."""

import pytest

from tvmffi_cubin import Cubin
from tvmffi_cubin.image import Image, check_fit


def image(arch: str) -> Image:
    return Image("k", Cubin(b"", arch, kind="fatbin" if "," in arch else "cubin"), ())


@pytest.mark.parametrize(
    ("own", "archs"),
    [
        ("sm_80", ["sm_80"]),
        ("sm_80", ["sm_86"]),
        ("sm_90", ["sm_90a"]),
        ("sm_90a", ["sm_90"]),
        ("sm_90a", ["sm_90a"]),
        ("sm_100f", ["sm_103a"]),
        ("compute_80", ["sm_90a"]),
        ("sm_80, sm_90a", ["sm_90"]),
        ("sm_80", ["sm_80", "sm_90a"]),
        ("sm_90", ["compute_80"]),
        ("compute_90", ["compute_80"]),
    ],
)
def test_an_image_fits_where_some_device_runs_it(own, archs):
    check_fit([image(own)], archs)


@pytest.mark.parametrize(
    ("own", "archs"),
    [
        ("sm_80", ["sm_90a"]),
        ("sm_86", ["sm_80"]),
        ("sm_90a", ["sm_100"]),
        ("sm_100a", ["sm_103a"]),
        ("sm_100f", ["sm_120"]),
        ("compute_90", ["sm_80"]),
        ("sm_80, compute_100", ["sm_90a"]),
        ("sm_75", ["sm_80", "sm_90"]),
        ("sm_75", ["compute_80"]),
    ],
)
def test_an_image_that_no_device_runs_is_refused_with_both(own, archs):
    with pytest.raises(ValueError) as error:
        check_fit([image(own)], archs)
    message = f"image 'k' is for {own}, and none of that runs on {', '.join(archs)}, which arch="
    assert message in str(error.value)


def test_every_image_has_to_fit():
    with pytest.raises(ValueError, match="is for sm_80, and"):
        check_fit([image("sm_90"), image("sm_80")], ["sm_90"])
