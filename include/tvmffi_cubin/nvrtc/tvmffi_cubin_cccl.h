// Behind a header of CCCL's: what it declares, in std.
#pragma once
namespace cuda {
namespace std {}
}  // namespace cuda
namespace std {
using namespace ::cuda::std;
}  // namespace std
