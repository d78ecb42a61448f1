#include "cli/load_model.h"

#include <optional>

#include "base/terminal/progress.h"

namespace stitch {

Result<std::shared_ptr<const Task>> load_model(const fs::path& path, const TaskOptions& options,
                                               Console& console) {
  std::error_code ec;
  if (!Task::is_python(path) || !fs::exists(path, ec)) {
    // There at once, with weights that are only mapped: whether they fit is worth knowing.
    TaskOptions whole = options;
    whole.weights = true;
    return open_task(path, whole);
  }
  Progress progress(console.err, console.err_terminal, console.json, "importing");
  return open_task(path, options, [&](std::string_view text) { progress.detail(text); });
}

}  // namespace stitch
