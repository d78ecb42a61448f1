// One candidate's line in results.jsonl.
#pragma once

#include "base/json.h"
#include "verify/many/candidates.h"
#include "verify/verdict.h"

namespace stitch::verifier {

// author, task, sample, path, key, sha256: what a record begins with.
Json record_for(const ListedCandidate& candidate, const std::string& key, const std::string& hash);
void add_verdict(Json& record, const Verdict& verdict);
void add_not_judged(Json& record, const Error& error);

}  // namespace stitch::verifier
