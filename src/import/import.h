// A task becomes a graph folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/output_folder.h"
#include "graph/graph.h"
#include "import/exporter.h"

namespace stitch {

struct ImportRequest {
  fs::path task;
  fs::path out;
  std::string class_name;
  Mode mode = Mode::as_written;
  int64_t seed = 42;
  bool weights = true;
  Overwrite overwrite = Overwrite::refuse;
};

struct Imported {
  Graph graph;
  TaskFacts task;
  size_t aten_nodes = 0;
  double seconds = 0;
  Published published;
};

using OnProgress = std::function<void(std::string_view)>;

// Writes request.out whole or not at all.
Result<Imported> import_task(Exporter& exporter, const ImportRequest& request,
                             const OnProgress& on_progress = {});
// The same without leaving a folder behind.
Result<Imported> import_graph(Exporter& exporter, ImportRequest request, const OnProgress& on_progress = {});

}  // namespace stitch
