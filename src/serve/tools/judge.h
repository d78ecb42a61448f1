// One program before the Verifier, by the arguments that verify and write_region share: model, numerics,
// device, timing, baselines, mode, model_class.
#pragma once

#include "serve/tools/workshop.h"
#include "verify/session.h"

namespace stitch::serve {

// Of everything but the program. They tell `call`, which outlives them.
Result<verifier::VerifyOptions> verify_options(const Json& arguments, bool quick, Call& call);
Result<verifier::Verdict> judge(const Workshop& workshop, const fs::path& program, const Json& arguments,
                                bool quick, Call& call);

}  // namespace stitch::serve
