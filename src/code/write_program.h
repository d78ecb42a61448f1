// Plan in, program out: the regions by their families, and the scaffold that stitches them.
#pragma once

#include "plan/context.h"
#include "plan/plan.h"
#include "program/package.h"

namespace stitch::code {

// Sources and manifest; the caller adds task and constants. The plan was checked.
Result<PackageContents> write_program(const plan::Context& context, const plan::Plan& plan);

// The same program shipping with other values of its settings, by their names: one source changes.
void set_values(PackageContents& contents, const std::map<std::string, int64_t>& values);

}  // namespace stitch::code
