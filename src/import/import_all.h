// Many tasks at once: a few exporters, each working through what is left.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/import.h"

namespace stitch {

struct ImportOutcome {
  fs::path task, out;
  std::optional<Error> error;
  TaskFacts facts;
  size_t aten_nodes = 0, nodes = 0;
  double seconds = 0;
};

// Called from the workers, one at a time.
using OnImported = std::function<void(const ImportOutcome&)>;

// Every .py file below `folder`, in natural order (2 before 10); no private or test files.
Result<std::vector<fs::path>> find_tasks(const fs::path& folder);

// Outcomes in the order of the requests. Only a Python that can't be started is an error of the whole.
Result<std::vector<ImportOutcome>> import_all(const std::vector<ImportRequest>& requests, int jobs,
                                              const std::string& python, const OnImported& on_imported = {});

}  // namespace stitch
