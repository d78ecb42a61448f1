// Candidates of many authors for many tasks, as they lie on disk.
//   FOLDER/AUTHOR/TASK/SAMPLE.py, SAMPLE.cu or SAMPLE/ (a program folder); TASK may be several folders deep
//   FOLDER/AUTHOR/TASK.py, TASK.cu: the only sample
//   FOLDER/AUTHOR/level_1_problem_3_sample_0_kernel.py: as KernelBench writes them
// or a manifest, a .jsonl file of {"author", "task", "path", "sample"}, its paths relative to it.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace stitch::verifier {

struct ListedCandidate {
  std::string author, task, sample;
  fs::path path;       // a .py file, a .cu file or a program folder
  fs::path task_file;  // what it must compute
  std::string shown;   // the path as the list has it

  auto operator<=>(const ListedCandidate&) const = default;
};

// In order of task, author and sample. `tasks`: the folder that TASK is looked for in, by its path below it
// or the end of that; may be empty where a manifest names files. A task that isn't there is an Error that
// names it.
Result<std::vector<ListedCandidate>> find_candidates(const fs::path& folder_or_manifest,
                                                     const fs::path& tasks);

// Of what its verdict depends on: a file with the headers beside it, or every file of a folder but build/.
Result<std::string> hash_of_candidate(const fs::path& path);

}  // namespace stitch::verifier
