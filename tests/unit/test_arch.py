"""Which architectures are compiled for, and the driver that tells them."""

import pytest

from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import driver
from tvmffi_cubin.cuda.arch import check_archs, resolve_archs
from tvmffi_cubin.errors import ToolchainError


@pytest.mark.parametrize("arch", ["compute_90a", "native", "", "sm_90\n", "sm_80,sm_90"])
def test_what_names_no_architecture_is_a_value_error_with_the_remedy(arch):
    with pytest.raises(ValueError, match="is not an architecture: .* omit it") as caught:
        resolve_archs(arch)
    assert repr(arch) in str(caught.value)


def test_architectures_come_once_each_in_one_order():
    wanted = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "compute_80")
    assert check_archs([*reversed(wanted), "sm_80"]) == check_archs(set(wanted)) == wanted
    for wrong in ([], ["sm_80", "sm_9"]):
        with pytest.raises(ValueError, match=r"arch: '(\[\]|sm_9)' is not an architecture"):
            check_archs(wrong)
    with pytest.raises(ValueError, match="expected one architecture, got sm_80, sm_90a"):
        nvrtc.resolve_arch(["sm_90a", "sm_80"])


def test_the_environment_names_what_is_compiled_for_by_default(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", " sm_90a, compute_90,sm_80 ")
    assert resolve_archs() == ("sm_80", "sm_90a", "compute_90")
    assert resolve_archs("sm_75") == resolve_archs(None, ["-arch=sm_75"]) == ("sm_75",)
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_80 sm_90")
    with pytest.raises(ValueError, match="TVMFFI_CUBIN_ARCH: .*comma-separated"):
        resolve_archs()


@pytest.mark.parametrize(("capability", "arch"), [(89, "sm_89"), (121, "sm_121a")])
def test_the_current_device_s_architecture_gets_its_suffix(driver_stub, capability, arch):
    driver_stub.set_devices(80, capability)
    with driver_stub.current_device(1):
        assert resolve_archs() == (arch,)
        assert nvrtc.resolve_arch() == arch


@pytest.mark.parametrize(
    ("options", "archs"),
    [
        (["-arch=native", "-arch", "sm_80"], "sm_80"),
        (["--gpu-architecture", "sm_80"], "sm_80"),
        (["-gencode", "arch=compute_80,code=compute_80"], "compute_80"),
        (["-gencode", r"arch=compute_80,code=\"sm_80,compute_80\""], "sm_80, compute_80"),
        (
            ["-gencode=arch=compute_90,code=[sm_90]", "-O3", "-gencode=arch=compute_80,code=sm_80"],
            "sm_80, sm_90",
        ),
    ],
)
def test_options_may_name_architectures(options, archs):
    assert ", ".join(nvrtc.resolve_archs(None, options)) == archs
    assert ", ".join(nvrtc.resolve_archs(archs.split(", "), options)) == archs
    with pytest.raises(ValueError, match=f"conflicting architectures: sm_75 and {archs}; set"):
        nvrtc.resolve_archs("sm_75", options)


@pytest.mark.parametrize("value", ["arch=compute_80,code=lto_80", ""])
def test_a_gencode_option_that_cannot_be_followed_is_a_value_error(value):
    with pytest.raises(ValueError, match="options: 'lto_80' is not|no value"):
        nvrtc.resolve_archs(None, ["-gencode", value])


# The driver


def test_the_variable_names_the_driver_and_without_one_who_needs_it_is_told(
    monkeypatch, driver_stub, tmp_path
):
    assert driver.load()._name == str(driver_stub.path)
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    assert (driver.version(), driver.device_count()) == (None, 0)
    with pytest.raises(ToolchainError, match=r"libnone\.so.*NVIDIA's driver"):
        driver.load()
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(driver_stub.path))
    driver_stub.set_driver_version(12040)
    assert driver.version() == 12040
    assert not driver_stub.calls("cuInit")
