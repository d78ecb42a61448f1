/* The C ABI of a StitchCUDA program: what every program exports and every caller uses.
 *
 * A program is a shared library for one model, at one set of shapes or for ranges of sizes, which it reads
 * from the inputs' shapes (the manifest's "sizes"). The caller owns inputs and outputs, all
 * in the device's memory. What a forward pass changes (BatchNorm's running statistics) is an output too: its
 * old value comes in as an input of role "state", and both may be the same memory. Nothing is kept between
 * two runs but packed weights and scratch memory, so equal inputs give equal outputs.
 *
 * The manifest says which tensors these are, in order: see the README beside this folder.
 */
#ifndef STITCH_PROGRAM_H
#define STITCH_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STITCH_ABI_VERSION 1
#define STITCH_MAX_RANK 8
#define STITCH_EXPORT __attribute__((visibility("default")))

typedef enum StitchDtype {
  STITCH_F64,
  STITCH_F32,
  STITCH_F16,
  STITCH_BF16,
  STITCH_I64,
  STITCH_I32,
  STITCH_I8,
  STITCH_U8,
  STITCH_BOOL
} StitchDtype;

typedef struct StitchTensor {
  void* data;    /* on the device, aligned to its element at least */
  int32_t dtype; /* StitchDtype */
  int32_t rank;
  int64_t shape[STITCH_MAX_RANK];
  int64_t strides[STITCH_MAX_RANK]; /* in elements */
} StitchTensor;

typedef struct StitchProgram StitchProgram;

typedef enum StitchStatus {
  STITCH_OK = 0,
  STITCH_BAD_ARGUMENT = 1,  /* wrong count, dtype, shape, strides or a null pointer: nothing was run */
  STITCH_DEVICE_ERROR = 2,  /* CUDA or one of its libraries said no */
  STITCH_OUT_OF_MEMORY = 3, /* on the device or the host */
  STITCH_UNSUPPORTED = 4    /* this device can't run this program */
} StitchStatus;

/* Packs the weights; never sees inputs. `params` may be freed afterwards. */
STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out);
/* Enqueues one forward pass on `stream` (a cudaStream_t) and returns; `in` and `out` hold device memory. */
STITCH_EXPORT int stitch_run(StitchProgram*, const StitchTensor* in, int n_in, StitchTensor* out, int n_out,
                             void* stream);
STITCH_EXPORT void stitch_destroy(StitchProgram*);
STITCH_EXPORT const char* stitch_manifest(void); /* JSON */
/* Of the calling thread's last call that did not return STITCH_OK. */
STITCH_EXPORT const char* stitch_last_error(void);

/* Optional: one region alone, by its index in the manifest, on tensors in the region's own contract. Only for
 * checking: stitch_run never calls it. A shipped program has it all the same, because a Verifier checks
 * regions alone in the very library that was measured and is delivered. A manifest that names regions
 * promises it; a program without it has an empty list of regions. */
STITCH_EXPORT int stitch_run_region(StitchProgram*, int region, const StitchTensor* in, int n_in,
                                    StitchTensor* out, int n_out, void* stream);

/* Optional: one of the manifest's settings, for programs that are created from now on. Names and values that
 * the manifest does not have are STITCH_BAD_ARGUMENT; a value that this machine does not have (the library
 * proposes fewer algorithms) is refused by stitch_create. This is how a tuner tries values without a
 * compiler. */
STITCH_EXPORT int stitch_set(const char* name, int64_t value);
/* A program for ranges of sizes also takes "sizes.NAME": of stitch_run_region, whose tensors may not show
 * all. */

#ifdef __cplusplus
}
#endif

#endif
