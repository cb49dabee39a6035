"""The questions about images, kernels, launches, streams, pointers and forks."""

from __future__ import annotations

import ctypes
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conformance import Driver

C = ctypes
ONE = (1, 1, 1)
COOPERATIVE, CLUSTER, EVENT, CARVEOUT = 2, 4, 7, 14
MAX_DYNAMIC_SMEM = 8


def images_without_context(d: Driver) -> None:
    for file in ("sm_80.cubin", "sm_90.cubin", "sm_90a.cubin", "sm_100.cubin"):
        library = d.library(file)
        d.query(f"{file}: saxpy, no context", "cuLibraryGetKernel", C.c_void_p, library, b"saxpy")
        d.query(f"{file}: nope, no context", "cuLibraryGetKernel", C.c_void_p, library, b"nope")
    kernel = d.kernel(d.library(), "saxpy")
    d.query("function without context", "cuKernelGetFunction", C.c_void_p, kernel)
    d.ask("launch without context", d.launch(kernel, ONE, ONE, d.params(*[C.c_uint64()] * 4)))
    d.ask("limit set without context", d.lib.cuKernelSetAttribute(8, 60000, kernel, 0))


def images(d: Driver) -> None:
    context = d.handle("cuDevicePrimaryCtxRetain", 0)
    d.need("cuCtxPushCurrent_v2", context)
    for file in ("both.fatbin", "other.fatbin"):
        library = d.library(file)
        for name in (b"saxpy", b"nope"):
            question = f"{file}: {name.decode()}"
            d.query(question, "cuLibraryGetKernel", C.c_void_p, library, name)
        d.ask(f"{file}: unload", d.lib.cuLibraryUnload(library))
    text = b"hello world, this is no image at all"
    for label, data in (("empty", b""), ("text", text), ("zeros", bytes(64)),
                        ("ELF of the host", b"\x7fELF\2\1\1" + bytes(11) + b"\x3e")):  # fmt: skip
        result, library = d.load(data)
        d.ask(f"load of {label}", result)
        d.query(f"kernel of {label}", "cuLibraryGetKernel", C.c_void_p, library, b"saxpy")
    library = C.c_void_p()
    args = (C.byref(library), None, None, None, 0, None, None, 0)
    d.ask("load of null", d.lib.cuLibraryLoadData(*args))
    d.ask("unload of null", d.lib.cuLibraryUnload(None))


def attributes(d: Driver) -> None:
    library = d.library()
    for name in ("saxpy", "fixed", "paired"):
        kernel = d.kernel(library, name)
        # Registers are left out: they are the compiler's business.
        values = [d.attribute(kernel, number) for number in range(16) if number != 4]
        d.answers[f"attributes of {name}"] = str(values)
    d.query("kernel count", "cuLibraryGetKernelCount", C.c_uint, library)
    for name in ("saxpy", "fixed", "large", "nothing"):
        kernel = d.kernel(library, name)
        found: list[tuple[int, int]] = []
        offset, size = C.c_size_t(), C.c_size_t()
        info = d.lib.cuKernelGetParamInfo
        while info(kernel, C.c_size_t(len(found)), C.byref(offset), C.byref(size)) == 0:
            found.append((offset.value, size.value))
        d.answers[f"parameters of {name}"] = str(found)
    kernel = d.kernel(library, "fixed")
    for value in (232448, 232448 - 1023, -1, 232448 - 1024, 0, 10):
        result = d.lib.cuKernelSetAttribute(MAX_DYNAMIC_SMEM, value, kernel, 0)
        d.ask(f"limit {value}", result, d.attribute(kernel, MAX_DYNAMIC_SMEM))
    function = d.handle("cuKernelGetFunction", kernel)
    d.ask("the function's limit", d.lib.cuFuncSetAttribute(function, MAX_DYNAMIC_SMEM, 90000))
    d.answers["the kernel's limit then"] = str(d.attribute(kernel, MAX_DYNAMIC_SMEM))
    d.query("the function's then", "cuFuncGetAttribute", C.c_int, MAX_DYNAMIC_SMEM, function)
    d.ask("a fixed attribute set", d.lib.cuKernelSetAttribute(0, 10, kernel, 0))
    d.ask("attribute 99 set", d.lib.cuKernelSetAttribute(99, 10, kernel, 0))
    d.query("attribute 99 of a kernel", "cuKernelGetAttribute", C.c_int, 99, kernel, 0)
    d.query("an attribute on device 99", "cuKernelGetAttribute", C.c_int, 8, kernel, 99)
    d.ask("a limit on device 99", d.lib.cuKernelSetAttribute(MAX_DYNAMIC_SMEM, 10, kernel, 99))
    d.ask("carveout 200", d.lib.cuKernelSetAttribute(9, 200, kernel, 0))
    for threads, smem in ((32, 0), (1024, 0), (1024, 49152), (1024, 49153), (2048, 0), (0, 0)):
        plain = d.handle("cuKernelGetFunction", d.kernel(library, "plain"))
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        d.query(f"occupancy {threads} {smem}", name, C.c_int, plain, threads, C.c_size_t(smem))


def shapes(d: Driver) -> None:
    library, y = d.library(), d.memory()
    saxpy, ps = d.kernel(library, "saxpy"), d.params(C.c_float(1), y, y, C.c_int(3))
    for grid in ((0, 1, 1), (1, 1, 0), (2**31, 1, 1), (1, 65535, 1), (1, 65536, 1), (1, 1, 65536)):
        d.ask(f"grid {grid}", d.launch(saxpy, grid, ONE, ps))
    for block in ((0, 1, 1), (1024, 1, 1), (1025, 1, 1), (1, 1, 64), (1, 1, 65), (32, 32, 2)):
        d.ask(f"block {block}", d.launch(saxpy, ONE, block, ps))
    d.ask("no parameters", d.launch(saxpy, ONE, ONE, None))
    d.ask("no kernel", d.launch(None, ONE, ONE, ps))
    d.ask("no configuration", d.lib.cuLaunchKernelEx(None, saxpy, ps, None))
    fixed, plain = d.kernel(library, "fixed"), d.kernel(library, "plain")
    pair = (C.c_double * 2)()
    three, one = d.params(y, C.c_char(), pair), d.params(y)
    d.ask("launch bounds kept", d.launch(fixed, ONE, (128, 1, 1), three))
    d.ask("launch bounds exceeded", d.launch(fixed, ONE, (129, 1, 1), three))
    for smem in (49152 - 1024, 49152 - 1023):
        d.ask(f"1024 static, {smem} dynamic", d.launch(fixed, ONE, ONE, three, smem=smem))
    for smem in (49152, 49153):
        d.ask(f"{smem} dynamic", d.launch(plain, ONE, ONE, one, smem=smem))
    d.need("cuKernelSetAttribute", MAX_DYNAMIC_SMEM, 100000, plain, 0)
    for smem in (100000, 100001):
        d.ask(f"of 100000 allowed, {smem}", d.launch(plain, ONE, ONE, one, smem=smem))
    d.ask("the device stands after that", d.lib.cuCtxSynchronize())


def launch_attributes(d: Driver) -> None:
    library, one = d.library(), d.params(d.memory())
    plain, paired = d.kernel(library, "plain"), d.kernel(library, "paired")
    warp = (32, 1, 1)
    for grid in (3, 4):
        d.ask(f"fixed cluster, grid {grid}", d.launch(paired, (grid, 1, 1), warp, one))
    for size in (2, 4):
        asked = [(CLUSTER, (size, 1, 1))]
        result = d.launch(paired, (4, 1, 1), warp, one, attributes=asked)
        d.ask(f"fixed cluster, asked for {size}", result)
    for cluster in ((2, 1, 1), (3, 1, 1), (8, 1, 1), (16, 1, 1), (0, 1, 1), (2, 2, 1)):
        result = d.launch(plain, (16, 4, 1), warp, one, attributes=[(CLUSTER, cluster)])
        d.ask(f"cluster {cluster}", result)
    d.need("cuKernelSetAttribute", 14, 1, plain, 0)
    for size in (16, 32):
        asked = [(CLUSTER, (size, 1, 1))]
        d.ask(f"non-portable {size}", d.launch(plain, (32, 1, 1), warp, one, attributes=asked))
    for blocks in (1, 100000):
        cooperative = [(COOPERATIVE, (1,))]
        result = d.launch(plain, (blocks, 1, 1), (1024, 1, 1), one, attributes=cooperative)
        d.ask(f"cooperative, {blocks} blocks", result)
    for number, value in ((0, 1), (3, 1), (6, 1), (8, 99), (EVENT, 0), (13, 1), (CARVEOUT, 50),
                          (CARVEOUT, 500), (77, 1)):  # fmt: skip
        result = d.launch(plain, ONE, ONE, one, attributes=[(number, (value,))])
        d.ask(f"launch attribute {number} of {value}", result)
    twice = [(6, (1,)), (6, (1,))]
    d.ask("an attribute twice", d.launch(plain, ONE, ONE, one, attributes=twice))


def streams(d: Driver) -> None:
    kernel, one = d.kernel(d.library(), "plain"), d.params(d.memory())
    function = d.handle("cuKernelGetFunction", kernel)
    stream = d.handle("cuStreamCreate", 1)
    context = d.query("context of a stream", "cuStreamGetCtx", C.c_void_p, stream)
    for label, handle in (("made", stream.value), ("legacy", 1), ("per thread", 2)):
        d.ask(f"stream {label}", d.launch(kernel, ONE, ONE, one, stream=handle))
    other = d.handle("cuCtxCreate_v2", 0, 0)
    for label, launched in (("kernel", kernel), ("function", function)):
        result = d.launch(launched, ONE, ONE, one, stream=stream.value)
        d.ask(f"{label}, its stream, another context", result)
        d.ask(f"{label}, null stream, another context", d.launch(launched, ONE, ONE, one))
    d.ask("synchronize from another context", d.lib.cuStreamSynchronize(stream))
    d.need("cuCtxDestroy_v2", other)
    popped = d.handle("cuCtxPopCurrent_v2")
    d.answers["the context below"] = str(popped.value == context)
    for label, launched in (("kernel", kernel), ("function", function)):
        result = d.launch(launched, ONE, ONE, one, stream=stream.value)
        d.ask(f"{label}, its stream, no context", result)
        d.ask(f"{label}, null stream, no context", d.launch(launched, ONE, ONE, one))
    d.query("stream made without context", "cuStreamCreate", C.c_void_p, 0)
    d.need("cuCtxPushCurrent_v2", popped)
    capture(d, stream)


def capture(d: Driver, stream: C.c_void_p) -> None:
    capturing = (C.c_int, stream, "cuStreamIsCapturing")
    for when in ("before", "during"):
        status = capturing[0](-1)
        d.ask(f"capturing {when}", d.lib.cuStreamIsCapturing(stream, C.byref(status)), status.value)
        if when == "before":
            d.need("cuStreamBeginCapture_v2", stream, 1)
    fresh, one = d.library(), d.params(C.c_uint64(256))
    kernel = d.kernel(fresh, "plain")
    d.ask("limit set in a capture", d.lib.cuKernelSetAttribute(8, 60000, kernel, 0))
    result = d.launch(kernel, ONE, ONE, one, stream=stream.value)
    d.ask("first launch of an image in a capture", result)
    d.query("allocation in a capture", "cuMemAlloc_v2", C.c_uint64, C.c_size_t(64))
    d.ask("synchronize in a capture", d.lib.cuStreamSynchronize(stream))
    graph = C.c_void_p()
    d.ask("end of an invalidated capture", d.lib.cuStreamEndCapture(stream, C.byref(graph)))
    d.ask("destroy", d.lib.cuStreamDestroy_v2(stream))


def pointers(d: Driver) -> None:
    device, pinned, host = d.memory(1000), C.c_void_p(), C.create_string_buffer(64)
    d.need("cuMemHostAlloc", C.byref(pinned), C.c_size_t(64), 0)
    places = {"device": device.value, "inside": device.value + 10, "host": C.addressof(host),
              "null": 0, "pinned": pinned.value or 0}  # fmt: skip
    kinds = {2: C.c_uint, 8: C.c_bool, 9: C.c_int, 12: C.c_size_t, 13: C.c_bool}
    for place, address in places.items():
        for attribute, kind in kinds.items():
            if (place, attribute) == ("pinned", 12):
                continue  # the driver rounds the size of a pinned range up
            args = (attribute, C.c_uint64(address))
            d.query(f"{place}: pointer {attribute}", "cuPointerGetAttribute", kind, *args)
        memory_type, ordinal = C.c_uint(7), C.c_int(7)
        data = d.params(memory_type, ordinal)
        d.lib.cuPointerGetAttributes(2, (C.c_int * 2)(2, 9), data, C.c_uint64(address))
        d.answers[f"{place}: both at once"] = str((memory_type.value, ordinal.value))
    d.ask("free of host memory", d.lib.cuMemFree_v2(C.c_uint64(C.addressof(host))))
    d.ask("free of null", d.lib.cuMemFree_v2(C.c_uint64(0)))
    d.query("allocation of nothing", "cuMemAlloc_v2", C.c_uint64, C.c_size_t(0))


def tensor_maps(d: Driver) -> None:
    memory = d.memory().value
    block = (C.c_uint64 * 32)()
    place = C.c_void_p((C.addressof(block) + 63) & ~63)
    standard: dict[str, Any] = {"type": 7, "rank": 2, "address": memory, "dims": (128, 64)}
    standard.update(stride=512, box=(32, 16), steps=(1, 1), swizzle=0)
    changes: tuple[dict[str, Any], ...] = (
        {}, {"address": memory + 8}, {"address": memory + 16}, {"stride": 520}, {"box": (0, 1)},
        {"box": (256, 257)}, {"box": (3, 1)}, {"rank": 0}, {"rank": 6}, {"dims": (0, 1)},
        {"steps": (0, 1)}, {"steps": (1, 9)}, {"type": 99}, {"swizzle": 3, "box": (64, 1)},
        {"swizzle": 3, "box": (32, 1)}, {"stride": 16}, {"box": (256, 228)}, {"box": (256, 229)},
        {"box": (256, 256), "steps": (1, 2)},
    )  # fmt: skip
    for change in changes:
        a = {**standard, **change}
        dims, boxes, steps = (C.c_uint64 * 5), (C.c_uint * 5), (C.c_uint * 5)
        result = d.lib.cuTensorMapEncodeTiled(
            place, a["type"], a["rank"], C.c_void_p(a["address"]), dims(*a["dims"]),
            dims(a["stride"]), boxes(*a["box"]), steps(*a["steps"]), 0, a["swizzle"], 0, 0,
        )  # fmt: skip
        label = {k: v - memory if k == "address" else v for k, v in change.items()}
        d.ask(f"tensor map with {label}", result)


def forked(d: Driver) -> None:
    library = d.library()
    kernel, one = d.kernel(library, "plain"), d.params(d.memory())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        before = set(d.answers)
        d.ask("in a fork: cuInit", d.lib.cuInit(0))
        d.query("in a fork: device", "cuCtxGetDevice", C.c_int)
        d.ask("in a fork: version", d.lib.cuDriverGetVersion(C.byref(C.c_int())))
        d.query("in a fork: retain", "cuDevicePrimaryCtxRetain", C.c_void_p, 0)
        d.ask("in a fork: launch", d.launch(kernel, ONE, ONE, one))
        d.ask("in a fork: unload", d.lib.cuLibraryUnload(library))
        answers = {key: value for key, value in d.answers.items() if key not in before}
        os.write(writer, json.dumps(answers).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        d.answers.update(json.load(pipe))
    os.waitpid(child, 0)


SECTIONS = (
    images_without_context, images, attributes, shapes, launch_attributes, streams, pointers,
    tensor_maps, forked,
)  # fmt: skip
