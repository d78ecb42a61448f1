// A program of several files as one text: the form in which models read it and answer, in rows and to the
// reward service. Each file stands behind a line with its path:
//   // file: regions/conv.cu
// A text that doesn't begin with such a line is a program in a single source.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch {

using SourceFiles = std::map<std::string, std::string>;  // texts by paths in the program's folder

bool is_several_files(std::string_view text);
std::string program_text(const SourceFiles& files);
// An Error names the path that no program has: sources and headers lie in the folder or in regions/.
Result<SourceFiles> files_of_text(std::string_view text);

// The files of `program` with those of `changes` in their places; one without a text is taken away.
SourceFiles with_changes(SourceFiles program, const SourceFiles& changes);
// What turns `before` into `after`.
SourceFiles changes_between(const SourceFiles& before, const SourceFiles& after);

}  // namespace stitch
