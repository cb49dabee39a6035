"""Builds the host text of a mixed source that is written by hand, as a build of one does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from wrapper_workshop import CPP, WARNINGS, Workshop

from tvmffi_cubin import host_instances, nvrtc
from tvmffi_cubin.functions.assembly import image_text
from tvmffi_cubin.mixed_table import mixed_table_unit


class MixedWorkshop(Workshop):
    """Builds host texts, each with an image of the kernels that it uses."""

    def build_mixed(self, host: str, device: str, variables: Sequence[str] = ()) -> Path:
        """Return the library of tests/cpp's files `host` and `device`, made once."""
        name = Path(host).stem
        library = self.folder / f"{name}.so"
        with self._alone(name):
            if not library.exists():
                made = self._compile(CPP / host, *WARNINGS, name=name)
                image = self._image(name, made, (CPP / device).read_text(), variables)
                self.link(name, [made], image=image)
        return library

    def _image(self, name: str, made: str, device: str, variables: Sequence[str]) -> str:
        instances = host_instances.find((self.folder / made).read_bytes())
        names = {instance.stub: instance.cast for instance in instances}
        wanted = [*names.values(), *(f"&{variable}" for variable in variables)]
        cubin = nvrtc.compile(
            device, arch="sm_90", name_expressions=wanted, options=["-DTVMFFI_CUBIN_HOST_INTEGERS"]
        )
        lowered = cubin.lowered_names
        (self.folder / f"{name}.cubin").write_bytes(cubin.image)
        machine = os.uname().machine
        table = mixed_table_unit(
            name,
            "kernels",
            {stub: lowered[cast] for stub, cast in names.items()},
            {variable: lowered[f"&{variable}"] for variable in variables},
        )
        image = image_text("kernels", f"{name}.cubin", len(cubin.image), machine)
        (self.folder / f"{name}_image.s").write_text(image + table)
        return self._compile(f"{name}_image.s")
