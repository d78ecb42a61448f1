// stitchcuda verify --all. The figures of many candidates for people: as tables, and as a page.
#pragma once

#include <string>

#include "base/json.h"
#include "base/terminal/terminal.h"
#include "cli/commands/judge/verify.h"
#include "verify/session.h"

namespace stitch {

Result<verifier::VerifyOptions> verify_options(const VerifyCommand& command);  // verify.cpp

std::string verify_all_text(const Json& summary, const Terminal& terminal);
std::string verify_all_page(const Json& summary);

}  // namespace stitch
