// Plan in, program out: code for each region from its technique, and the scaffold around them.
#pragma once

#include "plan/context.h"
#include "plan/plan.h"
#include "program/package.h"

namespace stitch::code {

// Sources and manifest of a checked plan; the caller adds task and constants.
Result<PackageContents> write_program(const plan::Context& context, const plan::Plan& plan);

// Changes the default values of the program's settings, by name: only one source changes.
void set_values(PackageContents& contents, const std::map<std::string, int64_t>& values);

}  // namespace stitch::code
