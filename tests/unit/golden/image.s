    .section .rodata,"a",%progbits
.Lcuda_version_kernels:
    .asciz "12.9"
.Larches_kernels:
    .asciz "sm_80, sm_90a, compute_90"
    .balign 64
    .globl __tvm_ffi__cubin_kernels
    .hidden __tvm_ffi__cubin_kernels
    .type __tvm_ffi__cubin_kernels,%object
__tvm_ffi__cubin_kernels:
.Lcubin_kernels:
    .incbin "kernels.fatbin"
    .globl __tvm_ffi__cubin_kernels_end
    .hidden __tvm_ffi__cubin_kernels_end
__tvm_ffi__cubin_kernels_end:
.Lcubin_end_kernels:
    .byte 0
    .section .data.rel.ro,"aw"
    # As the ABI has it for arrays of 16 bytes and more: clang reads two addresses at once.
    .balign 16
    .globl __tvmffi_cubin_image_kernels
    .hidden __tvmffi_cubin_image_kernels
    .type __tvmffi_cubin_image_kernels,%object
__tvmffi_cubin_image_kernels:
.Limage_kernels:
    # Not by the names above: those may be another object's.
    .quad .Lcubin_kernels,.Lcubin_end_kernels,.Larches_kernels,.Lcuda_version_kernels
    # Where the image lies, for those who read the file: its distance from here, its size, its name.
    .section .note.tvmffi_cubin,"a",%note
    .balign 4
    .long 13,2f-1f,0x102
    .asciz "tvmffi_cubin"
    .balign 4
1:
    .quad .Lcubin_kernels-1b,.Lcubin_end_kernels-.Lcubin_kernels
    .asciz "kernels"
2:
    .balign 4
    .section .note.tvmffi_cubin,"a",%note
    .balign 4
    .long 13,2f-1f,0x101
    .asciz "tvmffi_cubin"
    .balign 4
1:
    .long 2745614147
.Lmanifest:
    .incbin "m.json"
.Lmanifest_end:
2:
    .balign 4
