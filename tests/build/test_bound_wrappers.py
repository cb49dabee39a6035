"""Bound parameters of a whole module: C++ functions launch as they did, and all is appended."""

import pytest
from bound_fixtures import bound_fixtures
from file_kit import compiled, write
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

KERNELS = """
extern "C" __global__ void axpy(float a, const float* x, float* y, int n,
                                unsigned long long* counters, unsigned limit, float scale) {}
extern "C" __global__ void nothing(unsigned long long* counters, unsigned limit, float scale) {}
"""
OTHERS = """
extern "C" __global__ void one(int n, unsigned long long* c, unsigned l, float s) {}
extern "C" __global__ void few(unsigned l, float s) {}
extern "C" __global__ void other(int n, unsigned long long* c, unsigned l, double s) {}
"""
WRAPPER = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

EMBED_CUBIN(kernels);
using tvmffi_cubin::CheckDriver;
using tvmffi_cubin::LaunchConfig;

// Ways to launch axpy(2, x, y, n): of our own names, typed ones, the guide's.
void Launch(int way, tvm::ffi::TensorView x, tvm::ffi::TensorView y, int n) {
  static auto own = EMBED_CUBIN_GET_KERNEL(kernels, "axpy");
  static tvm::ffi::CubinModule module(
      static_cast<const unsigned char*>(EMBEDDED_CUBIN_DATA(kernels)));
  static auto guide = module["axpy"];
  float a = 2;
  void *in = x.data_ptr(), *out = y.data_ptr();
  void* args[] = {&a, &in, &out, &n};
  int device = x.device().device_id;
  LaunchConfig config(1, 32);
  config.SetDevice(device);
  tvm::ffi::cuda_api::LaunchConfig theirs{};
  tvm::ffi::cuda_api::LaunchAttrType attribute{};
  tvm::ffi::cuda_api::ConstructLaunchConfig(guide.GetHandle(), nullptr, 0, tvm::ffi::dim3(1),
                                            tvm::ffi::dim3(32), 1, theirs, attribute);
  unsigned long long* mine = nullptr;
  unsigned other = 77;
  float third = 77;
  void* all[] = {&a, &in, &out, &n, &mine, &other, &third};
  switch (way) {
    case 0: CheckDriver(own.Launch(args, config)); break;
    case 3: CheckDriver(own.Launch(config, a, in, out, n)); break;
    case 5:
      TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(guide.LaunchEx(args, theirs));
      break;
    case 9: CheckDriver(own.Launch(all, config)); break;  // more than are asked for
  }
}

// A kernel of an image that arrives at run time, with one argument.
void LaunchBytes(tvm::ffi::Bytes image, tvm::ffi::String name, int n) {
  auto kernel = tvmffi_cubin::CubinModule(image)[name.c_str()];
  void* args[] = {&n};
  LaunchConfig config(1, 32);
  CheckDriver(kernel.Launch(args, config));
}
"""
NAMES = ["counters", "limit", "scale"]
FUNCTIONS = {
    "Launch": None,
    "LaunchBytes": None,
    "axpy": tc.Launch(grid=1, block=32),
    "own": tc.Launch(kernel="axpy", grid=1, block=32, args={"scale": 2.5}),
}
FORMATS = "fPPiPIf"


def build(kernels=KERNELS, *, bound_params=NAMES, functions=FUNCTIONS, **options):
    sources = [*([kernels] if kernels else []), WRAPPER]
    return tc.load_inline(
        "bound_wrapper", sources, functions=functions, bound_params=bound_params, arch="sm_90",
        **options,
    )  # fmt: skip


built, mod = bound_fixtures(build, NAMES)


@pytest.fixture
def arrays(driver_stub):
    return cuda_array(driver_stub, 4), cuda_array(driver_stub, 4)


def values(driver_stub):
    return [launch.values(FORMATS) for launch in driver_stub.launches()]


@pytest.mark.parametrize("way", [0, 3, 5, 9])
def test_a_launch_in_cpp_passes_what_is_bound_behind_its_own(mod, arrays, way, driver_stub):
    counters = cuda_array(driver_stub, 8, "uint64")
    mod.bind(counters=counters, limit=7, scale=0.5)
    for n in (3, 4):
        mod.Launch(way, *arrays, n)
    pointers = [array.data_ptr for array in arrays]
    bound = (counters.data_ptr, 7, 0.5)
    assert values(driver_stub) == [(2.0, *pointers, n, *bound) for n in (3, 4)]


class TestAGeneratedFunction:
    def test_keeps_what_its_launch_gives_itself(self, mod, arrays, driver_stub):
        mod.bind(scale=0.5, limit=4)
        mod.own(2.0, *arrays, 3)
        assert values(driver_stub)[0][4:] == (0, 4, 2.5)

    def test_may_declare_its_own_or_all(self, driver_stub, arrays):
        image = tc.nvrtc.compile(KERNELS, arch="sm_90")
        own = "float alpha, const float* in, float* out, int count"
        bound = ["unsigned long long* counters", "unsigned limit", "float scale"]
        for params in (own, ", ".join([own, *bound])):
            launch = tc.Launch(kernel="axpy", grid=1, block=32, params=params)
            options = {"functions": {"axpy": launch}, "bound_params": bound}
            mod = tc.load_inline("declared", embed_cubin={"given": image}, **options)
            mod.bind(limit=4, scale=0.5)
            assert [name for name, _ in mod.axpy.params] == ["alpha", "in", "out", "count"]
            mod.axpy(2.0, *arrays, 3)
            assert values(driver_stub)[-1][3:] == (3, 0, 4, 0.5)


def test_an_image_that_arrives_at_run_time_is_asked_for_its_parameters(mod, driver_stub):
    image = tc.nvrtc.compile(OTHERS, arch="sm_90").image
    mod.bind(limit=6)
    mod.LaunchBytes(image, "one", 5)
    assert driver_stub.launches()[0].values("iPIf") == (5, 0, 6, 0.0)
    for name in ("few", "other"):
        with pytest.raises(tc.LaunchError, match=f"{name}: its last parameters are not the"):
            mod.LaunchBytes(image, name, 5)
    assert len(driver_stub.launches()) == 1


class TestABuild:
    @pytest.mark.parametrize(
        ("kernels", "params", "message"),
        [
            (
                KERNELS + 'extern "C" __global__ void few(int n) {}',
                NAMES,
                r"few\(int n\) .* does not end with bound_params: counters, limit, scale",
            ),
            (
                KERNELS + 'extern "C" __global__ void wide(void* c, unsigned l, double s) {}',
                NAMES,
                "'scale' is 'float' here but 'double' before",
            ),
            (
                KERNELS,
                ["counters", "double limit", "scale"],
                "bound_params declares 'double limit', the kernel takes 'unsigned int'",
            ),
            (None, NAMES, "bound_params: no kernel gives the type of 'counters': declare"),
        ],
    )
    def test_of_kernels_that_do_not_go_with_it_is_refused(self, kernels, params, message):
        functions = ["Launch", "LaunchBytes"]
        with pytest.raises(ValueError, match=message):
            build(kernels, bound_params=params, functions=functions)

    def test_of_a_wrapper_that_launches_past_it_says_what_to_call(self):
        wrapper = """
        #include <cuda.h>
        #include <cuda_runtime.h>
        #include <tvm/ffi/function.h>
        int f() { return cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0); }
        int h() { return cudaGraphKernelNodeSetParams(nullptr, nullptr); }
        """
        options = {"functions": ["f", "h"], "bound_params": NAMES, "arch": "sm_90"}
        with pytest.raises(tc.BuildError) as error:
            tc.build_inline("raw", [KERNELS, wrapper], **options)
        for name in ("cuLaunchKernel", "cudaGraphKernelNodeSetParams"):
            told = f"{name} would pass kernels too few parameters, since the module has bound_"
            assert told in str(error.value)

    def test_beside_an_object_that_may_launch_without_them_is_refused(self, here):
        write("old.cc", 'const char* header = "tvmffi_cubin";')
        sources = [write("k.cu", KERNELS), write("w.cc", WRAPPER), compiled("c++", "old.cc")]
        with pytest.raises(ValueError, match=r"old.o was compiled .* without bound_params"):
            tc.load("old", sources=sources, bound_params=NAMES, arch="sm_90")
