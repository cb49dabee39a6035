// malloc and free are NVRTC's own.
#undef RAND_MAX
#define RAND_MAX 2147483647
