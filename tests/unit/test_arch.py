"""Which architecture is compiled for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin import nvrtc
from tvmffi_cubin.arch import check_arch, resolve_arch
from tvmffi_cubin.errors import ToolchainError


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100f", "sm_121a"])
def test_a_named_architecture_is_taken_as_it_is(arch):
    assert resolve_arch(arch) == arch


@pytest.mark.parametrize(
    ("arch", "remedy"),
    [
        ("compute_90", 'arch="sm_90"'),
        ("lto_90a", 'arch="sm_90a"'),
        ("sm_80a", 'arch="sm_80"'),
        ("sm_90f", 'arch="sm_90"'),
        ("native", 'such as "sm_80"'),
        ("90", 'such as "sm_80"'),
        ("sm_9", 'such as "sm_80"'),
        ("sm_90A", 'such as "sm_80"'),
        ("", 'such as "sm_80"'),
        ("sm_90\n", 'such as "sm_80"'),
    ],
)
def test_what_names_no_architecture_is_a_value_error_with_the_remedy(arch, remedy):
    with pytest.raises(ValueError) as caught:
        check_arch(arch)
    assert repr(arch) in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("arch", "remedy"), [(90, "sm_90"), (9.0, "sm_90a"), (b"sm_90", "sm_90a"), ((9, 0), "sm_90a")]
)
def test_what_is_no_string_is_a_type_error_with_the_remedy(arch, remedy):
    with pytest.raises(TypeError, match=f'arch="{remedy}"'):
        check_arch(arch)


@given(st.text(max_size=12))
def test_any_text_is_either_taken_unchanged_or_a_value_error(text):
    try:
        taken = check_arch(text)
    except ValueError:
        return
    assert taken == text
    assert text.startswith("sm_")


@pytest.mark.parametrize(
    ("capability", "arch"),
    [(75, "sm_75"), (89, "sm_89"), (90, "sm_90a"), (100, "sm_100a"), (121, "sm_121a")],
)
def test_the_devices_architecture_gets_its_suffix(driver_stub, capability, arch):
    driver_stub.set_devices(capability)
    assert resolve_arch() == arch


def test_the_current_contexts_device_decides(driver_stub):
    driver_stub.set_devices(90, 80)
    with driver_stub.current_device(1):
        assert resolve_arch() == "sm_80"


def test_without_a_device_the_error_says_to_name_one(monkeypatch, tmp_path):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    with pytest.raises(ToolchainError, match='arch="sm_90a"'):
        resolve_arch()


def test_a_driver_without_devices_is_the_same_error(driver_stub):
    driver_stub.set_devices()
    with pytest.raises(ToolchainError, match='arch="sm_90a"'):
        resolve_arch()


@pytest.mark.parametrize(
    "options", [["-arch=sm_80"], ["--gpu-architecture=sm_80"], ["-arch", "sm_80"]]
)
def test_options_may_name_the_architecture(options):
    assert nvrtc.resolve_arch(None, options) == "sm_80"
    assert nvrtc.resolve_arch("sm_80", options) == "sm_80"
    with pytest.raises(ValueError, match="given twice: sm_80 and sm_90"):
        nvrtc.resolve_arch("sm_90", options)
