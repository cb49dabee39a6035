#ifndef OPS_CONFIG_H_
#define OPS_CONFIG_H_

// Plain C++: any compiler takes it.
namespace ops {
constexpr int kBlock = 64;
inline int blocks_for(int n) { return (n + kBlock - 1) / kBlock; }
}  // namespace ops

#endif  // OPS_CONFIG_H_
