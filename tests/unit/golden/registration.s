    .section .rodata,"a",%progbits
.Ltext_0:
    .asciz "N1KIXadL_Z1kIfEvPT_EEE"
.Ltext_1:
    .asciz "ns::limit"
.Ltext_2:
    .asciz "in"
.Ltext_3:
    .asciz "_Z1kIfEvPT_"
.Ltext_4:
    .asciz "_ZN2ns5limitE"
    .section .nvFatBinSegment,"aw",%progbits
    .balign 8
.Lwrapper:
    .long 1180844977, 1
    .quad .Lcubin_kernels, 0
    .section .data.rel.ro,"aw"
    .balign 16
.Lrows:
    .quad .Ltext_0, .Ltext_3
    .quad .Ltext_1, .Ltext_4
    .quad .Ltext_2, .Ltext_2
    .balign 16
    .globl tvmffi_cubin_mixed_table_t4g
    .hidden tvmffi_cubin_mixed_table_t4g
    .type tvmffi_cubin_mixed_table_t4g, %object
tvmffi_cubin_mixed_table_t4g:
    .quad .Lwrapper, .Lrows, 3
    .section .note.GNU-stack,"",%progbits
