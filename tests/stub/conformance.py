"""Asks a driver library what it does at the edges and prints its answers as JSON.

``python -m stub.conformance LIBRARY IMAGES``, where IMAGES is what `images.write_images` fills. The
answers of driver 580 on an H200 are in h200.json; the stand-in must give the same ones, and
tests/gpu asks the driver at hand. Answers in assumed.json are what the stand-in gives to questions
that no device has been asked yet: the documentation's word, where there is one.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

C = ctypes
Dim3 = tuple[int, int, int]
ONE: Dim3 = (1, 1, 1)


class LaunchAttribute(C.Structure):
    _fields_ = (("id", C.c_int), ("pad", C.c_char * 4), ("value", C.c_uint * 16))


class LaunchConfig(C.Structure):
    _fields_ = (
        ("grid", C.c_uint * 3),
        ("block", C.c_uint * 3),
        ("smem", C.c_uint),
        ("stream", C.c_void_p),
        ("attributes", C.POINTER(LaunchAttribute)),
        ("count", C.c_uint),
    )


class Driver:
    """A driver library that notes down what it answers."""

    def __init__(self, library: str, images: Path) -> None:
        self.lib = C.CDLL(library)
        self.images = images
        self.answers: dict[str, str] = {}
        self._kept: list[Any] = []

    def name(self, result: int) -> str:
        text = C.c_char_p()
        self.lib.cuGetErrorName(result, C.byref(text))
        return (text.value or str(result).encode()).decode().removeprefix("CUDA_ERROR_")

    def ask(self, question: str, result: int, *values: object) -> int:
        assert question not in self.answers, question
        self.answers[question] = " ".join([self.name(result), *map(str, values)])
        return result

    def query(self, question: str, function: str, kind: Any, *args: Any) -> Any:
        """Ask a function whose first argument is where its value goes; returns the value."""
        value = kind()
        result = getattr(self.lib, function)(C.byref(value), *args)
        # Addresses differ from run to run; whether there is one does not.
        shown = bool(value.value) if kind in (C.c_void_p, C.c_uint64) else value.value
        self.ask(question, result, *([shown] if result == 0 else []))
        return value.value

    def need(self, function: str, *args: Any) -> None:
        result = getattr(self.lib, function)(*args)
        assert result == 0, f"{function}: {self.name(result)}"

    def handle(self, function: str, *args: Any) -> C.c_void_p:
        made = C.c_void_p()
        self.need(function, C.byref(made), *args)
        return made

    def load(self, data: bytes) -> tuple[int, C.c_void_p]:
        library, image = C.c_void_p(), C.create_string_buffer(data + bytes(4096))
        self._kept.append(image)
        load = self.lib.cuLibraryLoadData
        return load(C.byref(library), image, None, None, 0, None, None, 0), library

    def library(self, file: str = "sm_90.cubin") -> C.c_void_p:
        result, library = self.load((self.images / file).read_bytes())
        assert result == 0, self.name(result)
        return library

    def kernel(self, library: C.c_void_p, name: str) -> C.c_void_p:
        return self.handle("cuLibraryGetKernel", library, name.encode())

    def params(self, *values: Any) -> Any:
        self._kept.append(values)
        return (C.c_void_p * max(1, len(values)))(*[C.addressof(value) for value in values])

    def launch(
        self,
        kernel: C.c_void_p | None,
        grid: Dim3,
        block: Dim3,
        params: Any,
        *,
        smem: int = 0,
        stream: int | None = None,
        attributes: Iterable[tuple[int, tuple[int, ...]]] = (),
    ) -> int:
        config = self.config(grid, block, smem=smem, stream=stream, attributes=attributes)
        return int(self.lib.cuLaunchKernelEx(C.byref(config), kernel, params, None))

    def config(
        self,
        grid: Dim3,
        block: Dim3,
        *,
        smem: int = 0,
        stream: int | None = None,
        attributes: Iterable[tuple[int, tuple[int, ...]]] = (),
    ) -> LaunchConfig:
        rows = [LaunchAttribute(i, b"", (C.c_uint * 16)(*value)) for i, value in attributes]
        array = (LaunchAttribute * max(1, len(rows)))(*rows)
        shape = ((C.c_uint * 3)(*grid), (C.c_uint * 3)(*block))
        return LaunchConfig(*shape, smem, stream, array, len(rows))

    def attribute(self, kernel: C.c_void_p, attribute: int) -> int:
        value = C.c_int()
        self.need("cuKernelGetAttribute", C.byref(value), attribute, kernel, 0)
        return value.value

    def memory(self, size: int = 1 << 20) -> C.c_uint64:
        pointer = C.c_uint64()
        self.need("cuMemAlloc_v2", C.byref(pointer), C.c_size_t(size))
        return pointer


def expected_answers() -> dict[str, str]:
    """Return the answers on record, with those that are only assumed."""
    files = ("h200.json", "assumed.json")
    texts = [(Path(__file__).parent / file).read_text(encoding="utf-8") for file in files]
    recorded, assumed = map(json.loads, texts)
    return {**recorded, **assumed}


def before_init(d: Driver) -> None:
    d.query("count before cuInit", "cuDeviceGetCount", C.c_int)
    d.query("current context before cuInit", "cuCtxGetCurrent", C.c_void_p)
    d.ask("load before cuInit", d.load(b"")[0])
    d.ask("cuInit with flags", d.lib.cuInit(1))
    for error in (0, 1, 3, 100, 101, 200, 201, 209, 400, 500, 701, 709, 720, 900, 901, 912, 999):
        text = C.c_char_p()
        d.lib.cuGetErrorString(error, C.byref(text))
        d.answers[f"text of {error}"] = (text.value or b"").decode()
    unknown = C.c_char_p(b"unchanged")
    d.answers["name of 12345"] = str((d.lib.cuGetErrorName(12345, C.byref(unknown)), unknown.value))


def proc_address(d: Driver) -> None:
    for symbol, version in (
        *(("cuMemAlloc", 12000), ("cuMemAlloc_v2", 12000), ("cuNope", 12000)),
        *(("cuKernelGetName", 12000), ("cuKernelGetName", 12030), ("cuLibraryLoadData", 11080)),
        *(("cuGetProcAddress", 12000), ("cuLaunchKernelEx", 12000), ("cuInit", 99000)),
    ):
        found, status = C.c_void_p(), C.c_int(-1)
        args = (symbol.encode(), C.byref(found), version, C.c_uint64(0), C.byref(status))
        result = d.lib.cuGetProcAddress_v2(*args)
        d.ask(f"address of {symbol} at {version}", result, bool(found.value), status.value)
    found = C.c_void_p()
    for name in (b"cuNope", b"cuInit"):
        result = d.lib.cuGetProcAddress(name, C.byref(found), 12000, C.c_uint64(0))
        d.ask(f"address of {name.decode()} by 11.3's function", result, bool(found.value))


def devices(d: Driver) -> None:
    d.need("cuInit", 0)
    d.query("device -1", "cuDeviceGet", C.c_int, -1)
    d.query("device 99", "cuDeviceGet", C.c_int, 99)
    d.query("attribute of device 99", "cuDeviceGetAttribute", C.c_int, 75, 99)
    d.query("attribute 0", "cuDeviceGetAttribute", C.c_int, 0, 0)
    d.query("attribute 100000", "cuDeviceGetAttribute", C.c_int, 100000, 0)
    for number in (1, 2, 4, 5, 6, 7, 8, 10, 12, 16, 39, 75, 76, 81, 82, 95, 97, 106, 111, 120, 127):
        d.query(f"attribute {number}", "cuDeviceGetAttribute", C.c_int, number, 0)


def contexts(d: Driver) -> None:
    d.query("device of no context", "cuCtxGetDevice", C.c_int)
    d.query("no current context", "cuCtxGetCurrent", C.c_void_p)
    d.query("pop of an empty stack", "cuCtxPopCurrent_v2", C.c_void_p)
    d.ask("push of null", d.lib.cuCtxPushCurrent_v2(None))
    d.ask("synchronize without context", d.lib.cuCtxSynchronize())
    d.ask("release of what is not retained", d.lib.cuDevicePrimaryCtxRelease_v2(0))
    d.query("retain on device 99", "cuDevicePrimaryCtxRetain", C.c_void_p, 99)
    first = d.handle("cuDevicePrimaryCtxRetain", 0)
    second = d.handle("cuDevicePrimaryCtxRetain", 0)
    d.answers["retained twice, one context"] = str(first.value == second.value)
    d.ask("set", d.lib.cuCtxSetCurrent(first))
    d.ask("set null", d.lib.cuCtxSetCurrent(None))
    d.query("device after set null", "cuCtxGetDevice", C.c_int)
    d.need("cuCtxPushCurrent_v2", first)
    d.need("cuCtxSetCurrent", None)
    d.query("pop after set null", "cuCtxPopCurrent_v2", C.c_void_p)
    d.need("cuCtxPushCurrent_v2", first)
    for _ in range(2):
        d.need("cuDevicePrimaryCtxRelease_v2", 0)
    flags, active = C.c_uint(), C.c_int(1)
    result = d.lib.cuDevicePrimaryCtxGetState(0, C.byref(flags), C.byref(active))
    d.ask("state after the last release", result, active.value)
    d.query("device of a context that is gone", "cuCtxGetDevice", C.c_int)
    d.query("allocation there", "cuMemAlloc_v2", C.c_uint64, C.c_size_t(16))
    d.query("pop of it", "cuCtxPopCurrent_v2", C.c_void_p)


def main() -> None:
    from .conformance_captures import captures
    from .conformance_kernels import SECTIONS
    from .conformance_launch import SECTIONS as LAUNCH_SECTIONS

    driver = Driver(sys.argv[1], Path(sys.argv[2]))
    first = (before_init, proc_address, devices, contexts)
    for section in (*first, *SECTIONS, *LAUNCH_SECTIONS, captures):
        section(driver)
    print(json.dumps(driver.answers, indent=1))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
