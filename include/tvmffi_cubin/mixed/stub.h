/*!
 * \file tvmffi_cubin/mixed/stub.h
 * \brief Stubs of kernels, shadows of device variables, and their registration by the runtime.
 */
#ifndef TVMFFI_CUBIN_MIXED_STUB_H_
#define TVMFFI_CUBIN_MIXED_STUB_H_

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <typeinfo>

#include "../core/namespace.h"
#include "layout.h"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int thread_limit, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int is_extern,
                       size_t size, int is_constant, int is_global);
}

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a kernel or variable of the host text is called, and its symbol in the image. */
struct MixedRow {
  const char* name;  // of the type that has its node
  const char* symbol;
};

/*! \brief The image of one unit; written by the build as an assembly unit. */
struct MixedTable {
  void* image;  // as __cudaRegisterFatBinary takes it; null where there is none
  const MixedRow* kernels;
  uint64_t num_kernels;
  const MixedRow* variables;
  uint64_t num_variables;
};

/*! \brief The unit's own table: defined by TVMFFI_CUBIN_MIXED_UNIT, once the unit has a name. */
static const MixedTable* UnitTable();

struct MixedNode;
inline MixedNode* mixed_nodes = nullptr;

/*! \brief A kernel or a variable of the host text, entered before the user's own initialisers. */
struct MixedNode {
  MixedNode(const volatile void* at, const char* type, size_t bytes, int count, const MixedTable* of)
      : address(const_cast<const void*>(at)), name(type), size(bytes), num_params(count), table(of),
        next(mixed_nodes) {
    mixed_nodes = this;
  }
  const void* address;
  const char* name;
  size_t size;     // of a variable
  int num_params;  // of a kernel
  const MixedTable* table;
  MixedNode* next;
};

/*!
 * \brief One kernel. The build finds in the object's symbols which there are, and their layout.
 * What defines the nodes, in qualifiers.h, is never precompiled: gcc loses its priority there.
 */
template <auto kSelf, tvmffi_cubin_layout::Word... kParams>
struct KernelStub {
  static MixedNode node;
};

/*! \brief The same of a device variable. */
template <auto kSelf, tvmffi_cubin_layout::Word kLayout>
struct DeviceVariable {
  static MixedNode node;
};

template <typename Function>
struct StubOf;
template <typename... Params>
struct StubOf<void (*)(Params...)> {
  template <auto kSelf>
  using Type = KernelStub<kSelf, tvmffi_cubin_layout::kOf<Params>...>;
};

/*! \brief Launches a kernel as the thread's pending `<<<...>>>` says; see runtime.h. */
inline void LaunchConfigured(const void* kernel, void** args);

/*! \brief The body of a stub: launches as the `<<<...>>>` before it says. */
template <auto kSelf, typename... Args>
inline __attribute__((always_inline)) void RunStub(Args&... args) {
  using Stub = typename StubOf<decltype(kSelf)>::template Type<kSelf>;
  static_cast<void>(&Stub::node);  // which enters it
  void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(std::addressof(args)))...,
                      nullptr};
  LaunchConfigured(reinterpret_cast<const void*>(kSelf), pointers);
}

inline const char* FindSymbol(const MixedRow* rows, uint64_t count, const char* name) {
  for (uint64_t i = 0; i < count; ++i) {
    if (strcmp(rows[i].name, name) == 0) return rows[i].symbol;
  }
  return nullptr;
}

/*! \brief Registers what a unit's image has, until the process ends. */
class Registration {
 public:
  explicit Registration(const MixedTable* table) {
    if (table->image == nullptr) return;
    handle_ = __cudaRegisterFatBinary(table->image);
    for (const MixedNode* node = mixed_nodes; node != nullptr; node = node->next) {
      if (node->table == table) Register(*table, *node);
    }
    __cudaRegisterFatBinaryEnd(handle_);
  }
  ~Registration() {
    if (handle_ != nullptr) __cudaUnregisterFatBinary(handle_);
  }

 private:
  void Register(const MixedTable& table, const MixedNode& node) {
    if (node.size == 0) {
      const char* symbol = FindSymbol(table.kernels, table.num_kernels, node.name);
      if (symbol == nullptr) return;
      __cudaRegisterFunction(handle_, static_cast<const char*>(node.address),
                             const_cast<char*>(symbol), symbol, -1, nullptr, nullptr, nullptr,
                             nullptr, nullptr);
    } else if (const char* symbol = FindSymbol(table.variables, table.num_variables, node.name)) {
      __cudaRegisterVar(handle_, static_cast<char*>(const_cast<void*>(node.address)),
                        const_cast<char*>(symbol), symbol, 0, node.size, 0, 0);
    }
  }

  void** handle_ = nullptr;
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

/*! \brief Stands for a kernel's body: its own address in parentheses, then its parameters. */
#define TVMFFI_CUBIN_STUB(self, ...)            \
  {                                             \
    ::tvmffi_cubin::RunStub<self>(__VA_ARGS__); \
  }

#define TVMFFI_CUBIN_JOINED(a, b) a##b
#define TVMFFI_CUBIN_JOIN(a, b) TVMFFI_CUBIN_JOINED(a, b)

/*! \brief Enters a device variable of the unit. */
#define TVMFFI_CUBIN_DEVICE_VARIABLE(name)                                            \
  __attribute__((used)) static const void* const TVMFFI_CUBIN_JOIN(                   \
      tvmffi_cubin_variable_, __COUNTER__) =                                          \
      &::tvmffi_cubin::DeviceVariable<&name, tvmffi_cubin_layout::kOf<decltype(name)>>::node;

/*! \brief Begins the text of a unit; no other in the library has its tag. */
#define TVMFFI_CUBIN_MIXED_UNIT(tag)                                                       \
  extern "C" __attribute__((visibility("hidden")))                                         \
  const ::tvmffi_cubin::MixedTable tvmffi_cubin_mixed_table_##tag;                         \
  namespace tvmffi_cubin {                                                                 \
  TVMFFI_CUBIN_BEGIN_NAMESPACE                                                             \
  static const MixedTable* UnitTable() { return &tvmffi_cubin_mixed_table_##tag; }         \
  TVMFFI_CUBIN_END_NAMESPACE                                                               \
  }                                                                                        \
  __attribute__((init_priority(102))) static ::tvmffi_cubin::Registration                  \
      tvmffi_cubin_registration(&tvmffi_cubin_mixed_table_##tag);

#endif  // TVMFFI_CUBIN_MIXED_STUB_H_
