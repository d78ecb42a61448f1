#include "cli/load_model.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "code/catalogue.h"

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

Result<Json> load_plan_file(const std::string& path) {
  std::error_code ec;
  const auto bytes = fs::file_size(path, ec);
  if (!ec && bytes > plan::most_plan_bytes)
    return at(path, user_error("plan", format("file too large for a plan: {} (limit: {})",
                                              bytes_text(static_cast<double>(bytes)),
                                              bytes_text(static_cast<double>(plan::most_plan_bytes)))));
  STITCH_TRY(std::string text, read_file(path));
  auto document = parse_json(text);
  if (!document) return at(path, std::move(document).error());
  return document;
}

Result<plan::GivenPlan> read_plan_file(const std::string& path, const Task& task, const GpuSpec& gpu,
                                       Numerics numerics) {
  STITCH_TRY(Json document, load_plan_file(path));
  auto given =
      plan::read_given_plan(document, task.planned(), gpu, code::catalogue(), numerics, task.instances);
  if (!given) return within(path, std::move(given).error());
  return given;
}

}  // namespace stitch
