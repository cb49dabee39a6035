/*!
 * \file image.c
 * \brief Reads an ELF image of CUDA's: its architecture, its kernels, what they take and use.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

enum {
  kMachineCuda = 190,
  kEntryPoint = 0x10,         /* in a symbol's st_other: a kernel, not a device function */
  kReservedSmemSince90 = 1024 /* of .nv.shared.NAME, and the system's, not the kernel's */
};

/* .nv.info records: u8 format, u8 attribute, u16 size (format 4) or value (the others). */
enum {
  kSizedFormat = 4,
  kMaxThreads = 0x05,
  kRequiredThreads = 0x10,
  kAcceleratorTarget = 0x09, /* of .nv.compat, another numbering */
  kParameterInfo = 0x17,
  kRegisterCount = 0x2f,
  kClusterDims = 0x3d,
  kParameterInfoV2 = 0x45
};

/* Of an image that a compiler has made: nothing of it is checked but what it says it is. */
typedef struct {
  const uint8_t* data;
  const Elf64_Ehdr* header;
  const Elf64_Shdr* sections;
  const char* section_names;
} Elf;

typedef void (*RecordFn)(StubImage* image, StubKernelInfo* kernel, int attribute,
                         const uint8_t* payload, int size);

static uint32_t Read32(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}

static bool ReadArch(const Elf64_Ehdr* header, StubImage* image) {
  // The fields moved when the OS ABI byte changed, with sm_100 in CUDA 12.
  if (header->e_ident[EI_OSABI] == 0x33) {
    image->arch = header->e_flags & 0xff;
    image->specific = (header->e_flags & 0x800) != 0;
  } else if (header->e_ident[EI_OSABI] == 0x41) {
    image->arch = (header->e_flags >> 8) & 0xff;
    image->specific = (header->e_flags & 0x8) != 0;
  } else {
    return false;
  }
  return image->arch > 0;
}

static const Elf64_Shdr* FindSection(const Elf* elf, const char* prefix, const char* name) {
  size_t size = strlen(prefix);
  for (int i = 0; i < elf->header->e_shnum; ++i) {
    const char* candidate = elf->section_names + elf->sections[i].sh_name;
    if (strncmp(candidate, prefix, size) == 0 && strcmp(candidate + size, name) == 0) {
      return &elf->sections[i];
    }
  }
  return NULL;
}

static void ForEachRecord(const Elf* elf, const Elf64_Shdr* section, StubImage* image,
                          StubKernelInfo* kernel, RecordFn visit) {
  if (section == NULL) return;
  const uint8_t* at = elf->data + section->sh_offset;
  const uint8_t* end = at + section->sh_size;
  while (at + 4 <= end) {
    bool sized = at[0] == kSizedFormat;
    int size = sized ? at[2] | at[3] << 8 : 0;
    visit(image, kernel, at[1], sized ? at + 4 : at + 2, sized ? size : 2);
    at += 4 + size;
  }
}

/* Of the image's own .nv.info: a symbol's index, then the value. */
static void VisitImageRecord(StubImage* image, StubKernelInfo* unused, int attribute,
                             const uint8_t* payload, int size) {
  (void)unused;
  if (size < 8) return;
  for (int i = 0; i < image->kernel_count; ++i) {
    if (image->kernels[i].symbol != Read32(payload)) continue;
    if (attribute == kRegisterCount) image->kernels[i].registers = (int)Read32(payload + 4);
  }
}

static void AddParameter(StubKernelInfo* kernel, const uint8_t* payload, bool second_version) {
  uint32_t packed = Read32(payload + 8);
  StubParameter made = {payload[4] | payload[5] << 8, payload[6] | payload[7] << 8,
                        (int)(second_version ? packed & 0xffff : packed >> 18)};
  StubAddParameter(kernel, made);
}

static void VisitKernelRecord(StubImage* unused, StubKernelInfo* kernel, int attribute,
                              const uint8_t* payload, int size) {
  (void)unused;
  if (size < 12) return;
  if (attribute == kParameterInfo) AddParameter(kernel, payload, false);
  if (attribute == kParameterInfoV2) AddParameter(kernel, payload, true);
  if (attribute == kMaxThreads || attribute == kRequiredThreads) {
    kernel->max_threads = (int)(Read32(payload) * Read32(payload + 4) * Read32(payload + 8));
  }
  for (int i = 0; i < 3 && attribute == kClusterDims; ++i) {
    kernel->cluster[i] = (int)Read32(payload + 4 * i);
  }
}

/* Of .nv.compat: from CUDA 13 on, the `a` of sm_90a stands here instead of in the flags. */
static void VisitCompatRecord(StubImage* image, StubKernelInfo* unused, int attribute,
                              const uint8_t* payload, int size) {
  (void)unused;
  if (attribute == kAcceleratorTarget && size == 2 && payload[0] == 1) image->specific = true;
}

static void AddKernel(const Elf* elf, StubImage* image, uint32_t symbol, const char* name) {
  StubKernelInfo* kernel = StubAddKernel(image, strdup(name));
  kernel->symbol = symbol;
  ForEachRecord(elf, FindSection(elf, ".nv.info.", name), image, kernel, VisitKernelRecord);
  const Elf64_Shdr* shared = FindSection(elf, ".nv.shared.", name);
  int reserved = image->arch >= 90 ? kReservedSmemSince90 : 0;
  if (shared != NULL && (int)shared->sh_size > reserved) {
    kernel->static_smem = (int)shared->sh_size - reserved;
  }
}

static void AddVariable(const Elf* elf, StubImage* image, const Elf64_Sym* symbol,
                        const char* name) {
  if (symbol->st_shndx == SHN_UNDEF) return;
  const Elf64_Shdr* section = &elf->sections[symbol->st_shndx];
  const uint8_t* bytes = elf->data + section->sh_offset + symbol->st_value;
  image->variables = StubGrown(image->variables, image->variable_count, sizeof(StubVariable));
  image->variables[image->variable_count++] =
      (StubVariable){strdup(name), symbol->st_size, section->sh_type == SHT_NOBITS ? NULL : bytes};
}

bool StubReadElf(const uint8_t* data, StubImage* image) {
  memset(image, 0, sizeof(*image));
  Elf elf = {.data = data, .header = (const Elf64_Ehdr*)data};
  if (elf.header->e_machine != kMachineCuda || !ReadArch(elf.header, image)) return false;
  elf.sections = (const Elf64_Shdr*)(data + elf.header->e_shoff);
  elf.section_names = (const char*)data + elf.sections[elf.header->e_shstrndx].sh_offset;
  const Elf64_Shdr* table = FindSection(&elf, ".symtab", "");
  const char* names = (const char*)data + elf.sections[table->sh_link].sh_offset;
  const Elf64_Sym* symbols = (const Elf64_Sym*)(data + table->sh_offset);
  for (uint32_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
    bool kernel = ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
                  (symbols[i].st_other & kEntryPoint) != 0 && symbols[i].st_shndx != SHN_UNDEF;
    if (kernel) AddKernel(&elf, image, i, names + symbols[i].st_name);
    if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT) {
      AddVariable(&elf, image, &symbols[i], names + symbols[i].st_name);
    }
  }
  ForEachRecord(&elf, FindSection(&elf, ".nv.info", ""), image, NULL, VisitImageRecord);
  ForEachRecord(&elf, FindSection(&elf, ".nv.compat", ""), image, NULL, VisitCompatRecord);
  return true;
}

void* StubGrown(void* items, int count, size_t size) {
  return realloc(items, (size_t)(count + 1) * size);
}

void StubAddParameter(StubKernelInfo* kernel, StubParameter parameter) {
  int at = kernel->param_count++;
  kernel->params = StubGrown(kernel->params, at, sizeof(parameter));
  for (; at > 0 && kernel->params[at - 1].ordinal > parameter.ordinal; --at) {
    kernel->params[at] = kernel->params[at - 1];
  }
  kernel->params[at] = parameter;
}

StubKernelInfo* StubAddKernel(StubImage* image, char* name) {
  image->kernels = StubGrown(image->kernels, image->kernel_count, sizeof(StubKernelInfo));
  StubKernelInfo* kernel = &image->kernels[image->kernel_count++];
  *kernel = (StubKernelInfo){.name = name, .max_threads = 1024};
  return kernel;
}

void StubFreeImage(StubImage* image) {
  for (int i = 0; i < image->kernel_count; ++i) {
    free(image->kernels[i].name);
    free(image->kernels[i].params);
  }
  for (int i = 0; i < image->variable_count; ++i) free(image->variables[i].name);
  free(image->kernels);
  free(image->variables);
}

bool StubImageFits(const StubImage* image, int device) {
  int capability = stub.devices[device].capability;
  if (image->specific) return image->arch == capability;
  bool same_major = image->arch / 10 == capability / 10;
  bool older = image->arch <= capability;
  // PTX is compiled for whatever is newer; not where it is a family's.
  return older && (same_major || (image->ptx_version > 0 && !image->family));
}

/* Cubins before PTX, then the newest, then the most specific. */
static int Rank(const StubImage* image) {
  int specific = image->specific ? 2 : image->family ? 1 : 0;
  return (image->ptx_version == 0 ? 100000 : 0) + 10 * image->arch + specific;
}

bool StubImageIsBetter(const StubImage* image, const StubImage* other) {
  return other == NULL || Rank(image) > Rank(other);
}

void StubImageName(const StubImage* image, char name[32]) {
  snprintf(name, 32, "%s_%d%s", image->ptx_version > 0 ? "compute" : "sm", image->arch,
           image->specific ? "a"
           : image->family ? "f"
                           : "");
}
