// One program before the Verifier, by the arguments that verify and write_region share: task, numerics,
// device, timing, baselines, mode, model_class.
#pragma once

#include "serve/tools/workshop.h"

namespace stitch::serve {

Result<verifier::Verdict> judge(const Workshop& workshop, const fs::path& program, const Json& arguments,
                                bool quick, Call& call);

}  // namespace stitch::serve
