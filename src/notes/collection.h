// All notes that there are: those inside the program, and those of a user's folder.
#pragma once

#include <string_view>
#include <vector>

#include "base/file.h"
#include "notes/note.h"

namespace stitch::notes {

using Collection = std::vector<Note>;  // by name

// Those of notes/ in the repository.
const Collection& built_in();
// Those of every .md file of a folder, on top of `others`; those of the same name are replaced.
Result<Collection> with_folder(const fs::path& folder, Collection others = built_in());
// By its name, else by its title; the error names the nearest.
Result<Note> find(const Collection& all, std::string_view name);

}  // namespace stitch::notes
