"""Launches from many threads: one load, no launch lost to an unload."""

import threading
from contextlib import ExitStack

from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = """
extern "C" __global__ void k(float* y, int n) { extern __shared__ float s[]; y[0] = s[n]; }
"""
FUNCTIONS = {
    "k": tc.Launch(grid=1, block=32, dynamic_smem_bytes=65536),
}


def together(count, work):
    """Run `work` in threads that start at once; raise the first error."""
    barrier, errors = threading.Barrier(count), []

    def run(index):
        barrier.wait()
        try:
            work(index)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_first_calls_of_many_threads_load_the_image_once(driver_stub):
    mod = tc.load_inline("threads", SOURCE, functions=FUNCTIONS, arch="sm_90")
    before = driver_stub.object_counts()
    together(16, lambda index: mod.k(cuda_array(driver_stub, 4, device=index % 2), index))
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1
    assert sorted(launch.values("Pi")[1] for launch in driver_stub.launches()) == list(range(16))
    assert [launch.device for launch in driver_stub.launches()].count(1) == 8
    after = driver_stub.object_counts()
    assert after.libraries == before.libraries + 1
    assert after.retained_contexts == before.retained_contexts + 2
    assert after.pushed_contexts == 0


def test_many_threads_over_all_devices_leave_nothing_behind(driver_stub):
    """Each launch arrives once, where it belongs, whoever unloads and preloads meanwhile."""
    threads, rounds, devices = 32, 80, 4
    mod = tc.load_inline("many", SOURCE, functions=FUNCTIONS, arch="sm_90")
    mod.unload()
    driver_stub.set_devices(*[90] * devices)
    arrays = [cuda_array(driver_stub, 4, device=device) for device in range(devices)]
    before = driver_stub.object_counts()
    expected = {}
    with ExitStack() as stack:
        streams = [
            [stack.enter_context(driver_stub.stream(device)) for device in range(devices)]
            for _ in range(threads)
        ]

        def work(index):
            for turn in range(rounds):
                device, number = (index + turn) % devices, index * rounds + turn
                if index < 2:
                    mod.unload()
                elif index < 4:
                    mod.preload(device)
                else:
                    stream = streams[index][device] if turn % 3 else 0
                    expected[number] = (device, stream)
                    mod.k.on(stream)(arrays[device], number)

        together(threads, work)
        launches = driver_stub.launches()
        launched = {x.values("Pi")[1]: (x.device, x.stream) for x in launches}
        assert launched == expected
        assert len(launches) == (threads - 4) * rounds
        mod.unload()
    assert driver_stub.object_counts() == before
