"""Every file of the package either shapes generated text, and is in the key, or is known not to."""

from __future__ import annotations

from pathlib import Path

import tvmffi_cubin
from tvmffi_cubin import generators

PACKAGE = Path(tvmffi_cubin.__file__).parent

# What a build does with these is in the key by itself, or changes nothing of what it makes. A new
# module belongs here or into `generators.GENERATORS`: there, if generated text depends on it, how
# it is compiled and linked, or which files are found to have been read.
ARGUMENTS = "arguments dispatch embedding export figures files given_image inline"
ARGUMENTS += " launch_meta options over pch request source"
ARGUMENTS += " source_files request_contents request_flags request_reads nvcc_request"
TOOLS = "arch config cuda_wheels driver environment errors generators host_tools identity"
TOOLS += " library_build nvcc nvcc_archs parsers toolchain toolset without_tools generator_files"
TOOLS += " command_words tool_process tvm_ffi_version"
COMPILERS = "builder computed cuda_library later nvjitlink nvjitlink_library"
COMPILERS += " nvrtc_archs nvrtc_library nvrtc_pch nvrtc_pch_store nvrtc_prefix parallel"
COMPILERS += " pch_shelf package_headers package_folder unit_hints"
COMPILERS += " compile_log host_log host_messages host_hints"
COMPILERS += " link_child link_faults link_process link_run made_here fork_guard"
COMPILERS += " kept_signals"
COMPILERS += " header_hints nvcc_hints"
READERS = "cubin elf_file zstd"
READERS += " image_fit image_kind lz4"
CACHE = "atomic bundle cache cache_clear dependency_set entry envelope fallback field_key"
CACHE += " claim fields_record folder key lock lookups module_key observer private_folder workplace"
CACHE += " disk_size idle limit memo_folder process_folder"
CACHE += " damage finding level miss places product publishing removal sealed shelf"
CACHE += " stamp uses verification device_record part_files"
CACHE += " age_text archive capacity cache_stats cache_verify eviction inventory layer_export"
CACHE += " listing tally tidying trim"
CACHE += " breaker daemon_threads deadline remote remote_files remote_store sharing uploads"
LOADED = "__init__ __main__ configured module module_function obtain occupancy ordinal"
LOADED += " bound_values kernel_text callers_grid destination stream"
LOADED += " delivery executable generate_call generated generation image_file image_maker lazy_key"
LOADED += " lazy_module once build_module built_elsewhere cache_figures cudart"
LOADED += " failed_load"
ARTIFACTS = (
    "artifact embed_file embed_module embed_object host_elf inspect_file inspection kernel_table"
)
ARTIFACTS += (
    " nvcc_code compile_files launch_reader object_file schema describe_module described_images"
)
ARTIFACTS += " description description_fields description_reader document from_description"
ALL = f"{ARGUMENTS} {TOOLS} {COMPILERS} {READERS} {CACHE} {LOADED} {ARTIFACTS}"
OTHERS = {f"{name}.py" for name in ALL.split()}


def test_a_new_module_is_put_among_the_generators_or_the_others():
    found = {path.name for path in PACKAGE.glob("*.py")}
    shaping = {name for name in generators.GENERATORS if "/" not in name}
    assert found - shaping - OTHERS == set()
    assert shaping - found == set()
    assert OTHERS - found == set()
    assert shaping & OTHERS == set()


def test_what_compiles_links_and_finds_headers_counts_as_a_generator():
    deciding = ("nvrtc_unit", "device_link", "host_build", "include_scan", "flag_files", "incbin")
    assert {f"{name}.py" for name in deciding} <= set(generators.GENERATORS)


def test_every_template_is_a_generator():
    templates = {f"templates/{path.name}" for path in PACKAGE.glob("templates/*.in")}
    assert {name for name in generators.GENERATORS if "/" in name} == templates


def test_what_uses_a_template_or_writes_c_is_a_generator():
    signs = ('/ "templates" /', "from .c_text import")
    texts = {path.name: path.read_text() for path in PACKAGE.glob("*.py")}
    writers = {name for name, text in texts.items() if any(sign in text for sign in signs)}
    assert "codegen.py" in writers
    assert writers <= set(generators.GENERATORS)
