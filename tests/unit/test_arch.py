"""Which architectures are compiled for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda import arch as arch_module
from tvmffi_cubin.cuda.arch import check_arch, check_archs, resolve_archs
from tvmffi_cubin.errors import ToolchainError

NAMES = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100f", "sm_121a", "compute_90", "compute_100"]


@pytest.mark.parametrize("arch", NAMES)
def test_a_named_architecture_is_taken_as_it_is(arch):
    assert nvrtc.resolve_arch(arch) == arch
    assert resolve_archs(arch) == resolve_archs([arch]) == (arch,)


@pytest.mark.parametrize(
    ("arch", "remedy"),
    [
        ("compute_90a", 'pass "compute_90" for PTX, "sm_90a" for a cubin'),
        ("compute_100f", 'pass "compute_100" for PTX, "sm_100f" for a cubin'),
        ("sm_80a", 'arch="sm_80"'),
        ("compute_80a", 'from sm_90 on; pass arch="compute_80"'),
        ("compute_90f", 'from sm_100 on; pass arch="compute_90"'),
        ("sm_90f", 'arch="sm_90"'),
        ("native", 'such as "sm_80"'),
        ("90", 'such as "sm_80"'),
        ("sm_9", 'such as "sm_80"'),
        ("sm_90A", 'such as "sm_80"'),
        ("", 'such as "sm_80"'),
        ("sm_90\n", 'such as "sm_80"'),
        ("sm_80,sm_90", 'a list, such as arch=["sm_80", "sm_90a"]'),
        ("sm_80 sm_90", 'a list, such as arch=["sm_80", "sm_90a"]'),
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


@pytest.mark.parametrize("several", ["sm_80 sm_90", "sm_80;sm_90", "sm_75, sm_80 sm_90"])
def test_architectures_in_the_variable_are_separated_by_commas(monkeypatch, several):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", several)
    with pytest.raises(ValueError, match="by commas, as in TVMFFI_CUBIN_ARCH=sm_80,sm_90a"):
        resolve_archs()


@given(st.text(max_size=12))
def test_any_text_is_either_taken_unchanged_or_a_value_error(text):
    try:
        taken = check_arch(text)
    except ValueError:
        return
    assert taken == text
    assert text.startswith(("sm_", "compute_"))


# Several


def test_architectures_come_once_each_in_one_order():
    wanted = (
        "sm_80",
        "sm_90",
        "sm_90a",
        "sm_100",
        "sm_100f",
        "sm_100a",
        "compute_80",
        "compute_90",
    )
    assert check_archs([*reversed(wanted), "sm_80"]) == wanted
    assert check_archs(set(wanted)) == wanted


@given(st.lists(st.sampled_from(NAMES), min_size=1), st.randoms())
def test_their_order_and_repetitions_do_not_matter(archs, random):
    shuffled = [*archs, *archs[:1]]
    random.shuffle(shuffled)
    assert check_archs(shuffled) == check_archs(archs)
    assert set(check_archs(archs)) == set(archs)


def test_none_at_all_is_a_value_error():
    with pytest.raises(ValueError, match="arch is empty; name at least one"):
        check_archs([])


def test_a_wrong_one_among_several_is_named_with_its_place():
    with pytest.raises(ValueError, match=r"arch\[1\]='sm_9': wanted is"):
        check_archs(["sm_80", "sm_9"])
    with pytest.raises(TypeError, match=r'arch\[1\] must be a string, got int 90.*arch="sm_90"'):
        check_archs(["sm_80", 90])


def test_one_is_asked_for_and_there_are_several():
    with pytest.raises(ValueError, match="several architectures, sm_80, sm_90a: use resolve_archs"):
        nvrtc.resolve_arch(["sm_90a", "sm_80"])


# The environment


def test_the_environment_names_what_is_compiled_for_by_default(monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", " sm_90a, compute_90,sm_80 ")
    assert resolve_archs() == nvrtc.resolve_archs() == ("sm_80", "sm_90a", "compute_90")
    assert resolve_archs("sm_75") == ("sm_75",)
    assert nvrtc.resolve_archs(None, ["-arch=sm_75"]) == ("sm_75",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sm_80,native", r"TVMFFI_CUBIN_ARCH\[1\]='native': wanted is"),
        ("compute_90a", r"TVMFFI_CUBIN_ARCH\[0\]='compute_90a': PTX of"),
        (",", "TVMFFI_CUBIN_ARCH is empty"),
    ],
)
def test_what_the_environment_names_wrongly_is_said(text, message, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", text)
    with pytest.raises(ValueError, match=message):
        resolve_archs()


# The current device


@pytest.mark.parametrize(
    ("capability", "arch"),
    [(75, "sm_75"), (89, "sm_89"), (90, "sm_90a"), (100, "sm_100a"), (121, "sm_121a")],
)
def test_the_devices_architecture_gets_its_suffix(driver_stub, capability, arch):
    driver_stub.set_devices(capability)
    assert resolve_archs() == (arch,)
    assert nvrtc.resolve_arch() == arch


def test_the_current_contexts_device_decides(driver_stub):
    driver_stub.set_devices(90, 80)
    with driver_stub.current_device(1):
        assert resolve_archs() == ("sm_80",)


def test_without_a_device_the_error_says_to_name_one(monkeypatch, tmp_path):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(tmp_path / "libnone.so"))
    with pytest.raises(ToolchainError, match='arch="sm_90a"'):
        resolve_archs()


def test_a_driver_without_devices_is_the_same_error(driver_stub):
    driver_stub.set_devices()
    with pytest.raises(ToolchainError, match='arch="sm_90a"'):
        resolve_archs()


@pytest.mark.parametrize(
    ("capability", "known", "chosen"),
    [
        (100, (90, 100), "sm_100a"),
        (103, (90, 100, 101, 120), "sm_101"),
        (89, (50, 60, 70), "sm_89"),
        (100, (80, 90), "compute_90"),
        (137, (90, 100, 103, 120, 121), "compute_121"),
        (100, (120,), "sm_100a"),
    ],
)
def test_a_device_that_the_compiler_does_not_know_gets_what_it_can_run(
    driver_stub, capability, known, chosen, caplog
):
    arch_module._warn.cache_clear()
    driver_stub.set_devices(capability)
    assert resolve_archs(known=lambda: known) == (chosen,)
    warned = capability not in known and capability > 90 and min(known) < capability
    assert (f"does not know the current device's sm_{capability}" in caplog.text) == warned


# Options


@pytest.mark.parametrize(
    "options", [["-arch=sm_80"], ["--gpu-architecture=sm_80"], ["-arch", "sm_80"]]
)
def test_options_may_name_the_architecture(options):
    assert nvrtc.resolve_arch(None, options) == "sm_80"
    assert nvrtc.resolve_arch("sm_80", options) == "sm_80"
    with pytest.raises(ValueError, match="given twice: sm_80 and sm_90"):
        nvrtc.resolve_arch("sm_90", options)


@pytest.mark.parametrize(
    ("options", "archs"),
    [
        (["-gencode=arch=compute_80,code=sm_80"], "sm_80"),
        (["-gencode", "arch=compute_80,code=compute_80"], "compute_80"),
        (["-gencode arch=compute_90a,code=sm_90a"], "sm_90a"),
        (["--generate-code=arch=compute_80"], "compute_80"),
        (["-gencode=arch=compute_80,code=[sm_80,compute_80]"], "sm_80, compute_80"),
        (["-gencode", 'arch=compute_80,code="sm_80,compute_80"'], "sm_80, compute_80"),
        (["-gencode", r"arch=compute_80,code=\"sm_80,compute_80\""], "sm_80, compute_80"),
        (
            ["-gencode=arch=compute_90,code=sm_90", "-O3", "-gencode=arch=compute_80,code=sm_80"],
            "sm_80, sm_90",
        ),
    ],
)
def test_nvccs_gencode_options_name_architectures(options, archs):
    assert ", ".join(nvrtc.resolve_archs(None, options)) == archs
    assert ", ".join(nvrtc.resolve_archs(archs.split(", "), options)) == archs
    with pytest.raises(ValueError, match=f"given twice: {archs} and sm_75"):
        nvrtc.resolve_archs("sm_75", options)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("arch=compute_80,code=sm_86", "NVRTC makes sm_86 of compute_86 alone"),
        ("arch=compute_80,code=lto_80", "holds sm_ and compute_ code, no lto_80"),
        ("arch=sm_80,code=sm_80", "wanted is arch=compute_80,code=sm_80"),
        ("arch=compute_80,code=", "wanted is arch=compute_80,code=sm_80"),
        ("", "wanted is arch=compute_80,code=sm_80"),
        ("arch=compute_90a,code=compute_90a", "PTX of an architecture with 'a'"),
    ],
)
def test_a_gencode_option_that_cannot_be_followed_says_what_can(value, message):
    with pytest.raises(ValueError, match=message):
        nvrtc.resolve_archs(None, ["-gencode", value])
