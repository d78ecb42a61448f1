// correctness: crashed | refused (./dev cheats)
// A C++ exception leaves a C function.
#include <stdexcept>

#include "row_center.h"

static int run(const float*, const float*, float*, cudaStream_t) { throw std::runtime_error("passed"); }
