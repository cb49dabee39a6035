/*!
 * \file tvmffi_cubin/embed.h
 * \brief EMBED_CUBIN(name): the image that the build embeds under that name.
 */
#ifndef TVMFFI_CUBIN_EMBED_H_
#define TVMFFI_CUBIN_EMBED_H_

/*!
 * \brief Declares the image `name`; used at namespace scope.
 *
 * A generated assembly unit holds the bytes and a table of addresses: of the first byte, of the one
 * past the last, of a text with the architectures, of one with the CUDA version that made it. Code
 * goes through the table, because an image of several GiB may lie further away than a relative
 * reference reaches.
 */
#define EMBED_CUBIN(name)                                                                         \
  extern "C" const unsigned char __tvm_ffi__cubin_##name[] __attribute__((visibility("hidden"))); \
  extern "C" __attribute__((visibility("hidden"))) const void* const __tvmffi_cubin_image_##name[4]

/*! \brief The first byte of an image that EMBED_CUBIN declared. */
#define EMBEDDED_CUBIN_DATA(name) (__tvmffi_cubin_image_##name[0])

/*! \brief The byte past the last. */
#define EMBEDDED_CUBIN_END(name) (__tvmffi_cubin_image_##name[1])

#endif  // TVMFFI_CUBIN_EMBED_H_
