/*!
 * \file tvmffi_cubin/forwarder.h
 * \brief Driver functions that a wrapper calls by their names, found at their first call.
 *
 * A generated unit says which: `TVMFFI_CUBIN_FORWARD("tvmffi_cubin_forward cuMemAlloc_v2\n")`. Each
 * becomes a hidden function that jumps to the driver's, so arguments of any kind pass through.
 * Functions are found by exact name, as linking libcuda would: cuGetProcAddress picks by CUDA
 * version instead, and for some names (cuCtxCreate) a form with other parameters.
 */
#ifndef TVMFFI_CUBIN_FORWARDER_H_
#define TVMFFI_CUBIN_FORWARDER_H_

#include "core/driver.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

inline CUresult AnswerNoDriver() { return CUDA_ERROR_NO_DEVICE; }
inline CUresult AnswerNotFound() { return CUDA_ERROR_NOT_FOUND; }

// Callers print these texts whatever comes back, so there is one without a driver, too.
inline CUresult NameWithoutDriver(CUresult error, const char** name) {
  *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_NO_DEVICE";
  return CUDA_SUCCESS;
}
inline CUresult TextWithoutDriver(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : DriverProblem();
  return CUDA_SUCCESS;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

/*! \brief The function to jump to; kept in `slot` where it is the driver's own. */
extern "C" __attribute__((visibility("hidden"), used)) void* tvmffi_cubin_find_forwarded(
    const char* name, void** slot) {
  using namespace tvmffi_cubin;  // NOLINT
  if (OpenDriver() == nullptr) {
    if (strcmp(name, "cuGetErrorName") == 0) return reinterpret_cast<void*>(&NameWithoutDriver);
    if (strcmp(name, "cuGetErrorString") == 0) return reinterpret_cast<void*>(&TextWithoutDriver);
    return reinterpret_cast<void*>(&AnswerNoDriver);
  }
  void* found = dlsym(driver_state.shared_object, name);
  if (found == nullptr) return reinterpret_cast<void*>(&AnswerNotFound);
  __atomic_store_n(slot, found, __ATOMIC_RELEASE);
  return found;
}

// A section each, so that the linker drops those that nothing calls. The slot's address and the
// name's travel in registers that no argument uses.
#define TVMFFI_CUBIN_FORWARDER_DATA         \
  ".pushsection .bss.tvmffi_cubin_slot_\\name,\"aw\",%nobits\n" \
  ".balign 8\n"                             \
  ".Lslot_\\name: .skip 8\n"                \
  ".popsection\n"                           \
  ".pushsection .rodata.tvmffi_cubin_name_\\name,\"a\",%progbits\n" \
  ".Lname_\\name: .asciz \"\\name\"\n"      \
  ".popsection\n"                           \
  ".pushsection .text.\\name,\"ax\",%progbits\n" \
  ".balign 16\n"                            \
  ".globl \\name\n"                         \
  ".hidden \\name\n"                        \
  ".type \\name,%function\n"                \
  "\\name:\n"

#if defined(__x86_64__)

#define TVMFFI_CUBIN_FORWARDER_MACRO                                              \
  ".macro tvmffi_cubin_forward name\n" TVMFFI_CUBIN_FORWARDER_DATA                \
  "  .cfi_startproc\n"                                                            \
  "  endbr64\n"                                                                   \
  "  movq .Lslot_\\name(%rip), %r11\n"                                            \
  "  testq %r11, %r11\n"                                                          \
  "  je 1f\n"                                                                     \
  "  jmp *%r11\n"                                                                 \
  "1: leaq .Lname_\\name(%rip), %r10\n"                                           \
  "  leaq .Lslot_\\name(%rip), %r11\n"                                            \
  "  jmp tvmffi_cubin_forward_first\n"                                            \
  "  .cfi_endproc\n"                                                              \
  "  .size \\name, . - \\name\n"                                                  \
  ".popsection\n"                                                                 \
  ".endm\n"                                                                       \
  ".pushsection .text.tvmffi_cubin_forward_first,\"ax\",%progbits\n"              \
  ".type tvmffi_cubin_forward_first,%function\n"                                  \
  "tvmffi_cubin_forward_first:\n"                                                 \
  "  .cfi_startproc\n"                                                            \
  "  subq $184, %rsp\n"                                                           \
  "  .cfi_adjust_cfa_offset 184\n"                                                \
  "  movq %rdi, 128(%rsp)\n"                                                      \
  "  movq %rsi, 136(%rsp)\n"                                                      \
  "  movq %rdx, 144(%rsp)\n"                                                      \
  "  movq %rcx, 152(%rsp)\n"                                                      \
  "  movq %r8, 160(%rsp)\n"                                                       \
  "  movq %r9, 168(%rsp)\n"                                                       \
  "  movq %rax, 176(%rsp)\n"                                                      \
  "  .irp n, 0, 1, 2, 3, 4, 5, 6, 7\n"                                            \
  "    movups %xmm\\n, 16*\\n(%rsp)\n"                                            \
  "  .endr\n"                                                                     \
  "  movq %r10, %rdi\n"                                                           \
  "  movq %r11, %rsi\n"                                                           \
  "  call tvmffi_cubin_find_forwarded\n"                                          \
  "  movq %rax, %r11\n"                                                           \
  "  .irp n, 0, 1, 2, 3, 4, 5, 6, 7\n"                                            \
  "    movups 16*\\n(%rsp), %xmm\\n\n"                                            \
  "  .endr\n"                                                                     \
  "  movq 128(%rsp), %rdi\n"                                                      \
  "  movq 136(%rsp), %rsi\n"                                                      \
  "  movq 144(%rsp), %rdx\n"                                                      \
  "  movq 152(%rsp), %rcx\n"                                                      \
  "  movq 160(%rsp), %r8\n"                                                       \
  "  movq 168(%rsp), %r9\n"                                                       \
  "  movq 176(%rsp), %rax\n"                                                      \
  "  addq $184, %rsp\n"                                                           \
  "  .cfi_adjust_cfa_offset -184\n"                                               \
  "  jmp *%r11\n"                                                                 \
  "  .cfi_endproc\n"                                                              \
  "  .size tvmffi_cubin_forward_first, . - tvmffi_cubin_forward_first\n"          \
  ".popsection\n"

#elif defined(__aarch64__)

#define TVMFFI_CUBIN_FORWARDER_MACRO                                              \
  ".macro tvmffi_cubin_forward name\n" TVMFFI_CUBIN_FORWARDER_DATA                \
  "  .cfi_startproc\n"                                                            \
  "  hint #34\n" /* bti c */                                                      \
  "  adrp x17, .Lslot_\\name\n"                                                   \
  "  add x17, x17, :lo12:.Lslot_\\name\n"                                         \
  "  ldr x16, [x17]\n"                                                            \
  "  cbz x16, 1f\n"                                                               \
  "  br x16\n"                                                                    \
  "1: adrp x16, .Lname_\\name\n"                                                  \
  "  add x16, x16, :lo12:.Lname_\\name\n"                                         \
  "  b tvmffi_cubin_forward_first\n"                                              \
  "  .cfi_endproc\n"                                                              \
  "  .size \\name, . - \\name\n"                                                  \
  ".popsection\n"                                                                 \
  ".endm\n"                                                                       \
  ".pushsection .text.tvmffi_cubin_forward_first,\"ax\",%progbits\n"              \
  ".type tvmffi_cubin_forward_first,%function\n"                                  \
  "tvmffi_cubin_forward_first:\n"                                                 \
  "  .cfi_startproc\n"                                                            \
  "  stp x29, x30, [sp, #-224]!\n"                                                \
  "  .cfi_def_cfa_offset 224\n"                                                   \
  "  .cfi_offset 29, -224\n"                                                      \
  "  .cfi_offset 30, -216\n"                                                      \
  "  stp x0, x1, [sp, #16]\n"                                                     \
  "  stp x2, x3, [sp, #32]\n"                                                     \
  "  stp x4, x5, [sp, #48]\n"                                                     \
  "  stp x6, x7, [sp, #64]\n"                                                     \
  "  str x8, [sp, #80]\n"                                                         \
  "  stp q0, q1, [sp, #96]\n"                                                     \
  "  stp q2, q3, [sp, #128]\n"                                                    \
  "  stp q4, q5, [sp, #160]\n"                                                    \
  "  stp q6, q7, [sp, #192]\n"                                                    \
  "  mov x0, x16\n"                                                               \
  "  mov x1, x17\n"                                                               \
  "  bl tvmffi_cubin_find_forwarded\n"                                            \
  "  mov x16, x0\n"                                                               \
  "  ldp x0, x1, [sp, #16]\n"                                                     \
  "  ldp x2, x3, [sp, #32]\n"                                                     \
  "  ldp x4, x5, [sp, #48]\n"                                                     \
  "  ldp x6, x7, [sp, #64]\n"                                                     \
  "  ldr x8, [sp, #80]\n"                                                         \
  "  ldp q0, q1, [sp, #96]\n"                                                     \
  "  ldp q2, q3, [sp, #128]\n"                                                    \
  "  ldp q4, q5, [sp, #160]\n"                                                    \
  "  ldp q6, q7, [sp, #192]\n"                                                    \
  "  ldp x29, x30, [sp], #224\n"                                                  \
  "  br x16\n"                                                                    \
  "  .cfi_endproc\n"                                                              \
  "  .size tvmffi_cubin_forward_first, . - tvmffi_cubin_forward_first\n"          \
  ".popsection\n"

#else
#error "tvmffi_cubin forwards driver calls on x86_64 and aarch64 only"
#endif

/*! \brief Used once in a unit, with a line `tvmffi_cubin_forward <name>` for each function. */
#define TVMFFI_CUBIN_FORWARD(lines) __asm__(TVMFFI_CUBIN_FORWARDER_MACRO lines)

#endif  // TVMFFI_CUBIN_FORWARDER_H_
