// stitchcuda verify: a program and a task in, a verdict with evidence out.
#pragma once

#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch::verifier {

// An Error is a mistake in the request or trouble of our own; whatever the candidate does is a verdict.
Result<Verdict> verify(const VerifyOptions& options);

}  // namespace stitch::verifier
