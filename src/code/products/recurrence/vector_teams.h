// How the threads of a block of kernels/matmul_vector.h divide rows of the wide matrix.
#pragma once

#include "gpu/gpu_spec.h"

namespace stitch::code {

// Teams per block: small enough that hardly a thread idles at the end of a sum of `depth`, as long as every
// multiprocessor has a block. `blocks`: with one team each.
int vector_teams(const GpuSpec& gpu, int64_t depth, int64_t bytes_an_element, int64_t blocks);

}  // namespace stitch::code
