// Limits of the integers of 64 bits, as the prelude has them. Included again where CCCL has defined
// its own: token by token the same, but where the types are the host compiler's.
#undef INT64_MIN
#undef INT64_MAX
#undef UINT64_MAX
#ifdef TVMFFI_CUBIN_HOST_INTEGERS
#define INT64_MIN (-INT64_MAX - 1)
#define INT64_MAX 0x7fffffffffffffffL
#define UINT64_MAX 0xffffffffffffffffUL
#else
#define INT64_MIN LLONG_MIN
#define INT64_MAX LLONG_MAX
#define UINT64_MAX ULLONG_MAX
#endif
