// One output of one trial, judged by the session's class.
#pragma once

#include "verify/session.h"

namespace stitch::verifier {

Comparison judge_output(const Session& session, const Trial& trial, size_t output, const TensorBytes& values);
// Would these values have passed for the output?
bool passes(const Session& session, const Trial& trial, size_t output, const TensorBytes& values);

}  // namespace stitch::verifier
