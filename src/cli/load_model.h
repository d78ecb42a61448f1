// What users name: models, opened while the console says so; plan documents (--plan FILE).
#pragma once

#include <memory>
#include <string>

#include "cli/console.h"
#include "import/task.h"
#include "plan/document/document.h"

namespace stitch {

Result<std::shared_ptr<const Task>> load_model(const fs::path& path, const TaskOptions& options,
                                               Console& console);

// The document as it stands, not checked against a graph yet.
Result<Json> load_plan_file(const std::string& path);

// read_given_plan with errors that name the file.
Result<plan::GivenPlan> read_plan_file(const std::string& path, const Task& task, const GpuSpec& gpu,
                                       Numerics numerics);

}  // namespace stitch
