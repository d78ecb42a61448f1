// Whether a judged program did the work itself: the rubric's label, for the documents of verify and optimize.
#pragma once

#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "rubric/evidence.h"
#include "verify/verdict.h"

namespace stitch {

// {"honesty": "clean", "honesty_why": "…"}; empty where it is neither passed nor a hack, or can't be read. Of
// a cheat that its source shows and no gate named, also the kind and label of a hack.
Json honesty_of(const fs::path& program, const verifier::Verdict& verdict,
                std::vector<rubric::Operator> operators);

}  // namespace stitch
