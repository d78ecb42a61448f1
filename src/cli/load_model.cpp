#include "cli/load_model.h"

#include <optional>

#include "base/progress.h"

namespace stitch {

Result<std::shared_ptr<const Task>> load_model(const fs::path& path, const TaskOptions& options,
                                               Console& console) {
  std::error_code ec;
  // A graph is there at once.
  if (!Task::is_python(path) || !fs::exists(path, ec)) return open_task(path, options);
  Progress progress(console.err, console.err_terminal, console.json, "importing");
  return open_task(path, options, [&](std::string_view text) { progress.detail(text); });
}

}  // namespace stitch
