// Driver functions that a wrapper calls by name, looked up on the first call.
//
// A generated unit lists them: `__asm__("tvmffi_cubin_forward cuMemAlloc_v2\n")`. Each becomes a
// hidden function that jumps to the driver's, so arguments of any kind pass through. Functions are
// looked up by exact name, as linking against libcuda would: cuGetProcAddress selects by CUDA
// version instead, and for some names (cuCtxCreate) a form with different parameters.
#pragma once

#include "core/driver.h"

/// Returns the function to jump to; caches it in `slot` if it is the driver's own.
extern "C" __attribute__((visibility("hidden"), used)) void* tvmffi_cubin_find_forwarded(
    const char* name, void** slot) {
  using namespace tvmffi_cubin;  // NOLINT
  void* const found = OpenDriver() ? dlsym(driver_state.shared_object, name) : nullptr;
  if (found != nullptr) {
    __atomic_store_n(slot, found, __ATOMIC_RELEASE);
    return found;
  }
  const auto missing = [] { return IsDriverOpen() ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE; };
  // Callers print an error's name and text unconditionally, so both work without a driver.
  const auto tell = [](CUresult, const char** text) {
    *text = driver_state.problem;
    return CUDA_SUCCESS;
  };
  const bool is_text = !IsDriverOpen() && strncmp(name, "cuGetError", 10) == 0;
  return is_text ? reinterpret_cast<void*>(+tell) : reinterpret_cast<void*>(+missing);
}

// clang-format off

// The code below must preserve the function's arguments, in six or eight registers: only functions
// for texture references take floating-point numbers. The addresses of the slot and the name travel
// in registers that no argument uses.
#if defined(__x86_64__)

__asm__(R"(
.macro tvmffi_cubin_jump name
  endbr64
  movq .Lslot_\name(%rip), %r11
  testq %r11, %r11
  je 1f
  jmp *%r11
1: leaq .Lname_\name(%rip), %r10
  leaq .Lslot_\name(%rip), %r11
  jmp tvmffi_cubin_forward_first
.endm
.pushsection .text.tvmffi_cubin_forward_first,"ax",%progbits
tvmffi_cubin_forward_first:
  .irp r, rdi, rsi, rdx, rcx, r8, r9
    pushq %\r
  .endr
  subq $8, %rsp
  movq %r10, %rdi
  movq %r11, %rsi
  call tvmffi_cubin_find_forwarded
  addq $8, %rsp
  .irp r, r9, r8, rcx, rdx, rsi, rdi
    popq %\r
  .endr
  jmp *%rax
.popsection
)");

#elif defined(__aarch64__)

__asm__(R"(
.macro tvmffi_cubin_jump name
  hint #34  // bti c
  adrp x17, .Lslot_\name
  add x17, x17, :lo12:.Lslot_\name
  ldr x16, [x17]
  cbz x16, 1f
  br x16
1: adrp x16, .Lname_\name
  add x16, x16, :lo12:.Lname_\name
  b tvmffi_cubin_forward_first
.endm
.pushsection .text.tvmffi_cubin_forward_first,"ax",%progbits
tvmffi_cubin_forward_first:
  stp x29, x30, [sp, #-80]!
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  mov x0, x16
  mov x1, x17
  bl tvmffi_cubin_find_forwarded
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x29, x30, [sp], #80
  br x16
.popsection
)");

#else
#error "tvmffi_cubin forwards driver calls on x86_64 and aarch64 only"
#endif

// One section per function, so that the linker drops those that nothing calls.
__asm__(R"(
.macro tvmffi_cubin_forward name
.pushsection .bss.tvmffi_cubin_slot_\name,"aw",%nobits
.balign 8
.Lslot_\name: .skip 8
.popsection
.pushsection .rodata.tvmffi_cubin_name_\name,"a",%progbits
.Lname_\name: .asciz "\name"
.popsection
.pushsection .text.\name,"ax",%progbits
.balign 16
.globl \name
.hidden \name
.type \name,%function
\name:
  tvmffi_cubin_jump \name
.size \name, . - \name
.popsection
.endm
)");
// clang-format on
