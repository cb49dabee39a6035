// printf is NVRTC's own; there are no files in device code.
typedef struct _IO_FILE FILE;
