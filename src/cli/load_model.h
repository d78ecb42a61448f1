// Opens whatever a user may call a model, and says on the console that it is at it.
#pragma once

#include <memory>

#include "cli/console.h"
#include "import/task.h"

namespace stitch {

Result<std::shared_ptr<const Task>> load_model(const fs::path& path, const TaskOptions& options,
                                               Console& console);

}  // namespace stitch
