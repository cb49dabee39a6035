"""What decides what is generated and how it is compiled, linked and watched; and the digest of it.

The package's version may lag behind a change of these files.
"""

from __future__ import annotations

import os

from . import identity
from .key import Key, file_digest

__all__ = ["GENERATORS", "generator_identity"]

GENERATORS = (
    "assemble.py",
    "assumption_binding.py",
    "assumptions.py",
    "attribute_text.py",
    "bind.py",
    "bound.py",
    "bound_binding.py",
    "bound_params.py",
    "bound_text.py",
    "c_text.py",
    "carried.py",
    "codegen.py",
    "condition.py",
    "constant.py",
    "cxx_parser.py",
    "cxx_table.py",
    "cxx_type.py",
    "declared_kernel.py",
    "demangle.py",
    "dependencies.py",
    "device.py",
    "device_link.py",
    "device_symbols.py",
    "dispatch_text.py",
    "dispatched.py",
    "elf.py",
    "every_kernel.py",
    "exported.py",
    "exports.py",
    "expr.py",
    "expression_text.py",
    "fatbin.py",
    "file_units.py",
    "flag_files.py",
    "flag_paths.py",
    "forwarders.py",
    "function.py",
    "function_text.py",
    "host_build.py",
    "host_pch.py",
    "host_unit.py",
    "image.py",
    "image_file_text.py",
    "incbin.py",
    "include_scan.py",
    "job.py",
    "kernel_choice.py",
    "kernel_params.py",
    "kernel_signature.py",
    "launch.py",
    "launch_args.py",
    "launch_attributes.py",
    "launch_json.py",
    "launcher_object.py",
    "leading_includes.py",
    "link_input.py",
    "link_options.py",
    "linker.py",
    "linker_members.py",
    "manifest.py",
    "map_binding.py",
    "map_extents.py",
    "module_slots.py",
    "ninja.py",
    "nvfatbin.py",
    "nvrtc.py",
    "nvrtc_options.py",
    "nvrtc_unit.py",
    "opaque.py",
    "pch_maker.py",
    "plan.py",
    "preprocessor_flags.py",
    "probe.py",
    "ptx.py",
    "ptx_assembly.py",
    "scan.py",
    "scan_definitions.py",
    "scan_params.py",
    "scope.py",
    "scratch.py",
    "scratch_binding.py",
    "scratch_text.py",
    "signature.py",
    "source_facts.py",
    "source_text.py",
    "sources.py",
    "target_binding.py",
    "target_text.py",
    "tensor_map.py",
    "tensor_map_modes.py",
    "tensor_map_text.py",
    "trailing.py",
    "unit_compiler.py",
    "units.py",
    "templates/bound_export.cc.in",
    "templates/bound_table.cc.in",
    "templates/forwarders.cc.in",
    "templates/host.cc.in",
    "templates/image.s.in",
    "templates/image_file_export.cc.in",
    "templates/launcher.cc.in",
    "templates/launcher_dispatch.cc.in",
    "templates/launcher_export.cc.in",
    "templates/launcher_function.cc.in",
    "templates/manifest.s.in",
)
"""Files of this package, on whose content every key depends."""

# The code in memory is what generates, so the files are looked at once in a process.
_generator: dict[tuple[str, ...], str] = {}


def generator_identity(*, again: bool = False) -> str:
    """Return the digest of what generates text here; looks at its files once, or `again`."""
    if again or GENERATORS not in _generator:
        package = os.path.dirname(os.path.abspath(__file__))
        own = [f"{package}/{name}" for name in GENERATORS]

        def ask() -> str:
            return Key("generator").add("files", list(map(file_digest, own))).hexdigest()

        _generator[GENERATORS] = identity.remember(own, ask, what="generator")
    return _generator[GENERATORS]
