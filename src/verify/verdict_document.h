// A verdict as it is written down and read back, whole: to_json(Verdict) is for people and scripts.
#pragma once

#include "verify/verdict.h"

namespace stitch::verifier {

Json to_document(const Verdict& verdict);
// An Error if it is no verdict, or one of another version.
Result<Verdict> read_verdict(const Json& document);

}  // namespace stitch::verifier
