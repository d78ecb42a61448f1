// What of a model depends on training: dropouts that drop, batch norms that use the batch's statistics.
#pragma once

#include "base/json.h"
#include "import/aten_program.h"

namespace stitch {

// {"dropouts": 3, "batch_norms": 20}. A norm without running statistics does the same in either mode.
Json count_active(const AtenProgram& program);

}  // namespace stitch
