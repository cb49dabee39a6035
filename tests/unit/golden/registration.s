    .section .rodata,"a",%progbits
.Ltext_0:
    .asciz "N1KIXadL_Z1kIfEvPT_EEE"
.Ltext_1:
    .asciz "_Z1kIfEvPT_"
.Ltext_2:
    .asciz "N1KIXadL_Z2inEEE"
.Ltext_3:
    .asciz "in"
.Ltext_4:
    .asciz "ns::limit"
.Ltext_5:
    .asciz "_ZN2ns5limitE"
    .section .nvFatBinSegment,"aw",%progbits
    .balign 8
.Lwrapper:
    .long 1180844977, 1
    .quad .Lcubin_kernels, 0
    .section .data.rel.ro,"aw"
    .balign 16
.Lkernels:
    .quad .Ltext_0, .Ltext_1
    .quad .Ltext_2, .Ltext_3
.Lvariables:
    .quad .Ltext_4, .Ltext_5
    .quad .Ltext_3, .Ltext_3
    .balign 16
    .globl tvmffi_cubin_mixed_table_t4g
    .hidden tvmffi_cubin_mixed_table_t4g
    .type tvmffi_cubin_mixed_table_t4g, %object
tvmffi_cubin_mixed_table_t4g:
    .quad .Lwrapper, .Lkernels, 2, .Lvariables, 2
    .section .note.GNU-stack,"",%progbits
