/*!
 * \file stub.h
 * \brief The driver stand-in's own state: devices, contexts, images, streams, memory, the log.
 *
 * One mutex guards all of it: StubEnter takes it and StubLeave gives it back, so that what lies
 * between them in an entry point is one step to every other thread.
 */
#ifndef STUB_H_
#define STUB_H_

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Only what cuda.h declares, and STUB_EXPORT, leaves the library.
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#define STUB_EXPORT __attribute__((visibility("default")))

enum { kMaxDevices = 16, kMaxImages = 16, kMaxAttributes = 160, kMaxStack = 64 };

/* ---- Devices (device.c) ---- */

typedef struct {
  int capability; /* 90 for 9.0 */
  int attributes[kMaxAttributes];
} StubDevice;

bool StubDeviceExists(int device);
int StubAttribute(int device, CUdevice_attribute attribute);
void StubConfigureDevices(int count, const int* capabilities);

/* ---- Contexts (context.c) ---- */

typedef struct CUctx_st {
  int device, retained;
} StubContext;

StubContext* StubCurrentContext(void);
/*! \brief The context that work goes to now, or the driver's answer where there is none. */
CUresult StubActiveContext(StubContext** context);
void StubForgetStacks(void);

/* ---- Images (image.c, ptx.c, fatbin.c) ---- */

typedef struct {
  int ordinal, offset, size;
} StubParameter;

typedef struct {
  char* name;
  uint32_t symbol;
  StubParameter* params;
  int param_count;
  int registers, static_smem, max_threads;
  int cluster[3]; /* all 0 where the kernel fixes none */
} StubKernelInfo;

typedef struct {
  char* name;
  size_t size;
  const uint8_t* initial; /* in the image; null where it is zeroed */
} StubVariable;

typedef struct {
  int arch;        /* 90 for sm_90 */
  bool specific;   /* sm_90a: runs on 9.0 alone */
  bool family;     /* sm_100f: runs on 10.0 and 10.3 */
  int ptx_version; /* 88 for 8.8; 0 where it is a cubin */
  StubKernelInfo* kernels;
  int kernel_count;
  StubVariable* variables;
  int variable_count;
} StubImage;

/*! \brief Reads an ELF image; false where it is none of CUDA's. */
bool StubReadElf(const uint8_t* data, StubImage* image);
/*! \brief Reads PTX text; false where it is none. */
bool StubReadPtx(const char* text, StubImage* image);
/*! \brief Reads an ELF image, PTX, or each of them in a fatbin that is stored uncompressed. */
int StubReadImages(const void* code, StubImage images[kMaxImages]);
/*! \brief An array with room for one more, as long as the tests' images are small. */
void* StubGrown(void* items, int count, size_t size);
void StubAddParameter(StubKernelInfo* kernel, StubParameter parameter);
StubKernelInfo* StubAddKernel(StubImage* image, char* name);
void StubFreeImage(StubImage* image);
bool StubImageFits(const StubImage* image, int device);
/*! \brief Whether the driver takes an image rather than another one that fits, too. */
bool StubImageIsBetter(const StubImage* image, const StubImage* other);
/*! \brief Writes "sm_90a" or "compute_90". */
void StubImageName(const StubImage* image, char name[32]);
/*! \brief Whether the driver is new enough for an image's PTX, if it is any. */
bool StubDriverCompiles(const StubImage* image);

/* ---- Libraries and kernels (library.c) ---- */

typedef struct CUlib_st StubLibrary;
typedef struct StubGlobal StubGlobal;

/*! \brief What cuKernelSetAttribute sets. */
typedef struct {
  int max_dynamic_smem; /* -1 where it has not */
  bool non_portable_cluster;
} StubSettings;

typedef struct CUkern_st {
  StubLibrary* library;
  char* name;
  StubSettings settings[kMaxDevices];
  struct CUkern_st* next;
} StubKernel;

struct CUlib_st {
  StubImage images[kMaxImages];
  int image_count;
  StubKernel* kernels; /* those that were asked for, and all once enumerated */
  StubGlobal* globals; /* device variables that were asked for, on each device */
  StubLibrary* next;
};

/*! \brief A kernel as a device runs it. */
typedef struct {
  int device;
  const StubImage* image;
  const StubKernelInfo* info;
  const StubSettings* settings;
} StubTarget;

/*! \brief Finds what a kernel's handle is there, or the driver's answer where it is nothing. */
CUresult StubKernelOn(const void* kernel, int device, StubTarget* target);
/*! \brief The kernel's limit on dynamic shared memory. */
int StubDynamicLimit(const StubTarget* target);

/* ---- Occupancy (occupancy.c) ---- */

int StubOccupancy(const StubTarget* target, int threads, size_t dynamic_smem);
int StubActiveClusters(const StubTarget* target, const CUlaunchConfig* config, uint64_t cluster);
/*! \brief Blocks of the largest cluster that a device lets a kernel have; 1 without clusters. */
int StubLargestCluster(const StubTarget* target);
/*! \brief Blocks of a launch's cluster, 0 where it has none; an answer where no size allows it. */
CUresult StubClusterOf(const CUlaunchConfig* config, const StubKernelInfo* info, uint64_t* blocks);

/* ---- Streams and events (stream.c) ---- */

typedef struct CUstream_st {
  StubContext* context;
  bool capturing, invalidated;
  CUstreamCaptureMode mode;
  struct CUstream_st* next;
} StubStream;

typedef struct CUevent_st {
  bool timed;
  struct CUevent_st* next;
} StubEvent;

/*! \brief The context of a stream (the current one for a default stream), and the stream. */
CUresult StubStreamContext(CUstream handle, StubContext** context, StubStream** stream);
/*!
 * \brief Whether a capture forbids the calling thread what is unsafe in one, in the thread's own
 * capture mode. Such a call ends the captures that forbid it.
 */
bool StubCaptureForbids(void);

/* ---- What is refused of a launch (launch_check.c) ---- */

CUresult StubCheckLaunch(const CUlaunchConfig* config, const StubTarget* target);

/* ---- Memory (memory.c) ---- */

typedef struct StubRange {
  uintptr_t start;
  size_t size;
  int type;   /* CUmemorytype */
  bool owned; /* allocated here, so freed here */
  struct StubRange* next;
} StubRange;

/*! \brief Memory of a device, outside the mutex's own calls. */
void* StubAllocateMemory(size_t size);
CUresult StubFreeMemory(uintptr_t memory);

/* ---- The one state (state.c) ---- */

typedef struct StubFailure {
  char function[64];
  int countdown; /* 1: the next call; 0: every call */
  CUresult result;
  struct StubFailure* next;
} StubFailure;

typedef struct {
  pthread_mutex_t mutex;
  int initialized_by; /* the process that called cuInit, else 0 */
  int driver_version;
  int device_count;
  StubDevice devices[kMaxDevices];
  StubContext contexts[kMaxDevices]; /* the primary ones */
  int stacked;                       /* entries in all threads' context stacks */
  StubLibrary* libraries;
  StubStream* streams;
  StubRange* ranges;
  StubEvent* events;
  StubFailure* failures;
} StubState;

extern StubState stub;

typedef enum { STUB_ALWAYS, STUB_INITIALIZED } StubNeed;

/*!
 * \brief Begins a call: takes the mutex, opens its log record. Returns what the call must fail
 * with, if anything.
 */
CUresult StubEnter(const char* function, StubNeed need);
/*! \brief Ends a call: closes its record, gives the mutex back, hands the result through. */
CUresult StubLeave(CUresult result);

#define STUB_ENTER(need)                                    \
  do {                                                      \
    CUresult refusal = StubEnter(__func__, need);           \
    if (refusal != CUDA_SUCCESS) return StubLeave(refusal); \
  } while (0)
#define STUB_REQUIRE(condition, error)         \
  do {                                         \
    if (!(condition)) return StubLeave(error); \
  } while (0)
#define STUB_TRY(call)                                    \
  do {                                                    \
    CUresult answer = (call);                             \
    if (answer != CUDA_SUCCESS) return StubLeave(answer); \
  } while (0)

/* ---- The log (log.c) ---- */

void StubLogBegin(const char* function);
/*! \brief Adds to the open record's arguments; ' stands for ", and a comma ends each. */
void StubLog(const char* format, ...) __attribute__((format(printf, 1, 2)));
/*! \brief Adds bytes as a JSON string of hexadecimal digits. */
void StubLogHex(const void* bytes, size_t size);
void StubLogEnd(CUresult result);
void StubLogClear(void);

#endif  // STUB_H_
