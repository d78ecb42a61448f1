// stitchcuda verify --all. The figures of many candidates for people.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal/terminal.h"
#include "cli/commands/judge/verify.h"
#include "verify/session.h"

namespace stitch {

Result<verifier::VerifyOptions> verify_options(const VerifyCommand& command);  // verify.cpp

std::string verify_all_text(const Json& summary, const Terminal& terminal);
// What a reader needs to know of the figures, a sentence each: "notes" of summary.json.
std::vector<std::string> notes_on_judged(const Json& summary);

}  // namespace stitch
