// The CUDA runtime on the emulated GPU: see ../README.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "stitch/decorations.h"
#include "stitch/vector_types.h"
//
#include "assert.h"
#include "stitch/atomics.h"
#include "stitch/barriers.h"
#include "stitch/bits.h"
#include "stitch/conversions.h"
#include "stitch/core.h"
#include "stitch/graph_api.h"
#include "stitch/host_api.h"
#include "stitch/launch.h"
#include "stitch/math.h"
#include "stitch/memory_access.h"
#include "stitch/warp.h"
