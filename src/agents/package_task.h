// What a program's folder needs of its task to stand alone.
#pragma once

#include "import/task.h"
#include "program/package.h"

namespace stitch::agents {

// The model's text with what it imports, for model_new.py, and the constants that no constructor makes.
Result<void> add_task(PackageContents& contents, const Task& task);

}  // namespace stitch::agents
