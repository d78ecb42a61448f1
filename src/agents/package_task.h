// The parts of a task that a standalone program folder needs.
#pragma once

#include "import/task.h"
#include "program/package.h"

namespace stitch::agents {

// Adds the model's source with its imports, for model_new.py, and constants that no constructor creates.
Result<void> add_task(PackageContents& contents, const Task& task);

}  // namespace stitch::agents
