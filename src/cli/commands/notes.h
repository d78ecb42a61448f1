// stitchcuda notes: what is known about making kernels fast.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct NotesCommand {
  std::vector<std::string> question;
  std::string gpu;     // a GPU or an architecture; empty: notes for all
  std::string folder;  // of more notes
  std::string show;    // one note, by its name
  bool list = false;
  int most = 5;
};

Result<int> run_notes(const NotesCommand& command, Console& console);

}  // namespace stitch
