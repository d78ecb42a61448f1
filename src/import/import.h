// A task becomes a graph folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/output_folder.h"
#include "graph/graph.h"
#include "graph/rewrite_limits.h"
#include "import/exporter.h"

namespace stitch {

struct ImportRequest {
  fs::path task;
  fs::path out;
  std::string class_name;
  Mode mode = Mode::as_written;
  int64_t seed = 42;
  bool weights = true;
  bool algebra = true;
  RewriteLimits limits;
  Overwrite overwrite = Overwrite::refuse;
};

struct Imported {
  Graph graph;
  TaskFacts facts;  // what task.json says
  size_t aten_nodes = 0;
  double seconds = 0;
  Published published;
};

using OnProgress = std::function<void(std::string_view)>;

// Writes request.out whole or not at all.
Result<Imported> import_task(Exporter& exporter, const ImportRequest& request,
                             const OnProgress& on_progress = {});
// The graph of an export that is in request.out already.
Result<Imported> import_exported(const ImportRequest& request);
// The same where only the weights are wanted on disk: request.out is a folder that is there.
Result<Imported> import_into(Exporter& exporter, const ImportRequest& request,
                             const OnProgress& on_progress = {});

}  // namespace stitch
