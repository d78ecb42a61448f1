// The Python process that runs torch.export, spoken to in JSON lines. One process serves many
// tasks, each in a forked child of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/machine/process.h"
#include "graph/mode.h"
#include "graph/sizes.h"

namespace stitch {

// The task at other sizes: aten.json alone, in a folder that is there.
struct ExportAt {
  Sizes sizes;
  fs::path out;
};

struct ExportRequest {
  fs::path task;
  fs::path out;            // an existing folder: gets aten.json and weights.safetensors
  std::string class_name;  // empty: Model
  Mode mode = Mode::as_written;
  int64_t seed = 42;
  bool weights = true;
  std::vector<ExportAt> at = {};  // instead of the task's own
  Dimensions dimensions = {};
};

class Exporter {
 public:
  static Result<Exporter> start(const std::string& python = {});
  // A process that answers other requests too, and has answered none of them yet.
  static Exporter over(Child child, fs::path python) { return {std::move(child), std::move(python)}; }
  Child into_process() && { return std::move(child_); }
  Result<void> run(const ExportRequest& request,
                   const std::function<void(std::string_view)>& on_progress = {});

 private:
  Exporter(Child child, fs::path python) : child_(std::move(child)), python_(std::move(python)) {}
  Error gone();
  Child child_;
  fs::path python_;
};

}  // namespace stitch
