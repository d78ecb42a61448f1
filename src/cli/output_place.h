// Where a command's result goes: what may be overwritten, and what is said of files that were in the way.
#pragma once

#include "base/json.h"
#include "base/output_folder.h"
#include "cli/console.h"

namespace stitch {

inline Overwrite overwrite_if(bool force) { return force ? Overwrite::force : Overwrite::refuse; }

// The folder as the user wrote it, or the one beside it.
std::string place_of(const Published& published, const std::string& asked);
// Lines for people; nothing if all went where it should.
std::string said_of(const Published& published, const std::string& asked);
void add_place(Json& json, const char* key, const Published& published, const std::string& asked);

// "is a folder: …" for what exists but is no .py task.
Result<void> check_task_file(const std::string& path);

}  // namespace stitch
